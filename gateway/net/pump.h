/*
 * pump - move bytes between two sockets, both ways, until both have ended.
 *
 * Own reads of a pooled buffer each, sent at once; a buffer is held only
 * while the other side does not take it, and as long as it waits nothing more
 * is read from its source, so a slow reader slows its writer.  The end of one
 * direction is carried to the other side as an end (shutdown), and the other
 * direction goes on.  A failure is never told as an end: both sides are reset.
 */
#ifndef GATEWAY_NET_PUMP_H
#define GATEWAY_NET_PUMP_H

#include "schema/attr.h"
#include "schema/cursor.h"

#include <stdint.h>

struct event_base;
struct pool;
struct pump;

enum pump_side {
	PUMP_INSIDE,
	PUMP_OUTSIDE,
	PUMP_SIDES
};

/*
 * How much may still pass.  left is asked before each read, spend told after
 * it; a side that has bytes when none are left ends the pump.
 */
struct pump_meter {
	uint64_t (*left)(enum pump_side from, void *arg);
	void (*spend)(enum pump_side from, size_t bytes, void *arg);
	void *arg;
};

struct pump_order {
	/* Connected sockets that do not block, with no event on them. */
	int fd[PUMP_SIDES];
	/*
	 * What was read from each side before, and goes to the other first:
	 * a hello, or what stood behind a 101.  Copied; at most
	 * LIMIT_RELAY_BYTES each.
	 */
	struct cursor first[PUMP_SIDES];
	/* Ends a pump without a byte for so long (and up to a quarter more). */
	unsigned idle_ms;
	struct pump_meter meter; /* without left nobody counts */
};

enum pump_end {
	PUMP_CLEAN, /* both sides said that they have no more */
	PUMP_RESET, /* side broke off */
	PUMP_FAILED, /* side cannot be read or written; error says why */
	PUMP_IDLE, /* nobody said anything */
	PUMP_SPENT, /* nothing more of side may pass */
	PUMP_END_COUNT
};

struct pump_result {
	enum pump_end end;
	enum pump_side side;
	int error; /* errno, or 0 */
};

/* Free the pump, here or later; no other call will come. */
typedef void pump_call(const struct pump_result *result, void *arg);

/*
 * Begins, and takes both sockets; on_end is never called before it has
 * returned.  pool has buffers of LIMIT_RELAY_BYTES and outlives the pump.
 * NULL: no memory, and the sockets stay the caller's.
 */
struct pump *pump_start(struct event_base *base, struct pool *pool,
    const struct pump_order *order, pump_call *on_end, void *arg) MUST_CHECK;

/*
 * Closes both sockets; resets them unless the pump ended clean.  Nobody is
 * called.
 */
void pump_free(struct pump *pump);

/* Bytes of one side that the other has taken, the first ones included. */
uint64_t pump_bytes(const struct pump *pump, enum pump_side from);

#endif
