/*
 * wish - what a program in the sandbox would like a person to be asked, as
 * the JSON document of POST /v1/ask:
 *
 *     {"url": "https://api.example.com/merge/1", "method": "POST",
 *      "upgrade": "websocket", "why": "the tests pass"}
 *
 * Only url must be there; method is GET without.  Read strictly: a member
 * twice, an unknown one, one of another type, or blanks and control bytes in
 * what has none, and it is no wish.  "why" may be any text; who shows it
 * makes it safe.
 *
 * Pure but for memory.
 */
#ifndef GATEWAY_PROTO_WISH_H
#define GATEWAY_PROTO_WISH_H

#include "schema/cursor.h"
#include "schema/limits.h"

struct wish {
	/* "METHOD URL [upgrade=TOKEN]", in which no word has a blank. */
	char request[LIMIT_WISH + 1];
	char why[LIMIT_ASK_WORDS + 1]; /* or empty */
};

/*
 * STATUS_MALFORMED when it is none, STATUS_TOO_LONG when a part is longer
 * than a person would read; *ret_fault says which and what instead, and is a
 * literal.  ret is written on success only.
 */
int wish_parse(struct cursor body, struct wish *ret, const char **ret_fault)
    MUST_CHECK;

#endif
