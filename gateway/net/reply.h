/*
 * reply - DNS questions written and their answers read, for ourselves.
 *
 * Asks a recursive nameserver for the addresses of one family (RFC 1035
 * section 4, RFC 3596).  Of an answer only addresses are read: the records of
 * the wanted type in the answer section, whatever chain of CNAMEs led there;
 * names in it are passed over and never expanded.
 *
 * Pure.
 */
#ifndef GATEWAY_NET_REPLY_H
#define GATEWAY_NET_REPLY_H

#include "schema/address.h"
#include "schema/attr.h"
#include "schema/cursor.h"
#include "schema/hostname.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A header, a name and its two lengths, type and class. */
#define REPLY_QUESTION_MAX (12 + LIMIT_HOST + 2 + 4)

/* Of one family; with the other as many, they make LIMIT_ADDRESSES. */
#define REPLY_ADDRESSES (LIMIT_ADDRESSES / 2)

enum reply_type {
	REPLY_V4 = 1, /* A */
	REPLY_V6 = 28 /* AAAA */
};

struct reply_question {
	struct hostname name;
	enum reply_type type;
	uint16_t id;
};

struct reply {
	/*
	 * STATUS_OK with addresses, STATUS_NOT_FOUND (no such name, or none of
	 * this family), or STATUS_SYSTEM: the nameserver could not tell.
	 */
	int status;
	bool truncated; /* the rest is to be had over TCP */
	uint32_t ttl; /* seconds, the least of all records */
	size_t count;
	struct address list[REPLY_ADDRESSES];
};

void reply_question_write(
    const struct reply_question *question, struct cursor_writer *out);

/* STATUS_MALFORMED when message is no answer to this question. */
int reply_read(struct cursor message, const struct reply_question *question,
    struct reply *ret) MUST_CHECK;

#endif
