/*
 * outbox - bytes that wait until a leg has room for them.
 *
 * At most LIMIT_OUTBOX; it takes no memory while it is empty.  One that is all
 * zeroes is empty.
 */
#ifndef GATEWAY_FLOW_OUTBOX_H
#define GATEWAY_FLOW_OUTBOX_H

#include "schema/cursor.h"

struct outbox {
	unsigned char *bytes;
	size_t begin, end, room;
};

/* False when it is full, or there is no memory; then it is as it was. */
bool outbox_put(struct outbox *box, struct cursor bytes) MUST_CHECK;

/* What waits, first come first; borrows until the next call. */
struct cursor outbox_bytes(const struct outbox *box);

/* The first length bytes have left. */
void outbox_eat(struct outbox *box, size_t length);

void outbox_done(struct outbox *box);

#endif
