/*
 * socks - what a SOCKS5 client says before its bytes (RFC 1928): which ways
 * to identify itself it knows, and where it wants to go.
 *
 * Names are taken as they are sent ("SOCKS5h"): nobody resolved them before.
 * Pure.
 */
#ifndef GATEWAY_PROTO_SOCKS_H
#define GATEWAY_PROTO_SOCKS_H

#include "gateway/proto/authority.h"
#include "schema/cursor.h"
#include "schema/status.h"

#define SOCKS_VERSION 5

enum socks_reply {
	SOCKS_SUCCEEDED = 0,
	SOCKS_FAILED = 1,
	SOCKS_NOT_ALLOWED = 2,
	SOCKS_NO_COMMAND = 7,
	SOCKS_NO_ADDRESS = 8
};

/* Takes the greeting; whether "no identification" is among what it offers. */
enum parse_result socks_greeting_take(struct cursor *bytes, bool *ret_anonymous)
    MUST_CHECK;

/*
 * Takes the request.  *ret_reply is SOCKS_SUCCEEDED and ret is filled in, or
 * it says why it is not taken; then ret is unset.  PARSE_BAD: it is none.
 */
enum parse_result socks_request_take(struct cursor *bytes,
    struct authority *ret, enum socks_reply *ret_reply) MUST_CHECK;

/* The answer to a greeting, and to a request. */
void socks_greeting_answer(bool anonymous, struct cursor_writer *out);
void socks_reply_write(enum socks_reply reply, struct cursor_writer *out);

#endif
