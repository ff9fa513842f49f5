/*
 * ship - an audit's rows, told to a fleet's PostgreSQL.
 *
 * A batch is read in one snapshot of the segment and added in one transaction
 * there, so the fleet has all of it or nothing.  Where to go on is asked of
 * the fleet; what it has already it leaves as it is, so a batch that is told
 * twice changes nothing.  The audit itself is the queue: it waits for a fleet
 * that is away, and nothing waits for the fleet.
 */
#ifndef GATEWAY_SHIP_SHIP_H
#define GATEWAY_SHIP_SHIP_H

#include "schema/problem.h"

#include <stdbool.h>
#include <stdint.h>

struct ship {
	const char *audit;
	const char *where; /* of libpq */
	int64_t from; /* rows from here on once more; 0: what is not there */
	/* Told after each batch; may be NULL. */
	void (*on_batch)(int64_t rows, int64_t last_seq, void *arg);
	void *arg;
};

/*
 * Sends what there is.  STATUS_CLOSED: the fleet went away meanwhile, which
 * can be tried again.
 */
int ship_once(const struct ship *ship, struct problem *reterr) MUST_CHECK;

/* The schema for an empty database, as SQL text; does it when run. */
const char *ship_schema(void);
int ship_create(const char *where, struct problem *reterr) MUST_CHECK;

#endif
