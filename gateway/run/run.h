/*
 * run - what the one run of this process owns.
 *
 * Its identity, its policy stack (replaced whole), its certificate authority
 * with the leaves made so far, what its limits have left, and what it has done
 * in numbers.  One process
 * serves one run, so nothing here is keyed by run and nothing is locked.
 */
#ifndef GATEWAY_RUN_RUN_H
#define GATEWAY_RUN_RUN_H

#include "schema/event.h"
#include "schema/order.h"

struct budget;
struct leaf_cache;
struct lures;
struct policy;
struct problem;
struct run_ca;
struct stack;

struct run {
	struct order_begin identity;
	struct stack *stack;
	struct run_ca *ca;
	struct leaf_cache *leaves;
	struct budget *budget;
	const struct lures *lures; /* borrowed; NULL: the sandbox has none */
	struct order_tally tally;
	int64_t next_flow;
	uint64_t next_request;
};

/*
 * Takes the reference to stack, also on failure; wall_us is the time.
 */
int run_init(struct run *ret, const struct order_begin *identity,
    struct stack *stack, int64_t wall_us, struct problem *reterr) MUST_CHECK;
void run_done(struct run *run);

/* Adds to the tally what a row counts for; see event_is_request(). */
void run_count(struct run *run, const struct event *event);

/* A number for a connection, unique in the run and never 0. */
int64_t run_flow_id(struct run *run);

/*
 * An id for a request, unique over all runs: the first half is the run's,
 * the second counts.
 */
void run_request_id(struct run *run, uint8_t ret[EVENT_REQ_ID]);

/* As people and refusals write it: 32 hexadecimal digits and a NUL. */
#define RUN_REQUEST_TEXT 33
void run_request_print(
    const uint8_t id[EVENT_REQ_ID], char out[RUN_REQUEST_TEXT]);

#endif
