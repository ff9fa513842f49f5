/*
 * backlog - bytes of one HTTP/2 stream that wait: for the other side to take
 * them, or for the peer's window.
 *
 * How many there may be is the caller's rule, within LIMIT_H2_HELD for all
 * that count together.  One that is empty holds no memory.
 */
#ifndef GATEWAY_FLOW_BACKLOG_H
#define GATEWAY_FLOW_BACKLOG_H

#include "schema/attr.h"
#include "schema/cursor.h"

struct backlog_piece;

/* All zeroes is an empty one. */
struct backlog {
	struct backlog_piece *first, *last;
	size_t length;
	size_t *held; /* bytes of memory that all hold; NULL: not counted */
};

/*
 * Copies bytes to the end.  STATUS_NO_MEMORY, and STATUS_FULL when all
 * together hold what they may, leave it as it was.
 */
int backlog_put(struct backlog *backlog, struct cursor bytes) MUST_CHECK;

/* What comes first, in one piece of memory; empty when nothing waits. */
struct cursor backlog_peek(const struct backlog *backlog);

/* Takes length bytes away, at most those of the last peek. */
void backlog_eat(struct backlog *backlog, size_t length);

void backlog_clear(struct backlog *backlog);

#endif
