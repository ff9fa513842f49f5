/*
 * engine - everything that serves one run, made in order and taken down in
 * reverse.
 *
 * engine_start() makes what needs no sandbox; engine_listen() takes over the
 * sockets that were born in one, and then flows begin.  While the audit takes
 * no rows nothing new is let through, and after LIMIT_AUDIT_GRACE_MS what is
 * under way is ended too.
 */
#ifndef GATEWAY_CONTROL_ENGINE_H
#define GATEWAY_CONTROL_ENGINE_H

#include "schema/handoff.h"
#include "schema/order.h"
#include "schema/reason.h"

struct consent;
struct detour_proxy;
struct engine;
struct loop;
struct lures;
struct problem;
struct sink;
struct stack;

/* Each layer of the stack is stamped with its digest. */
struct engine_order {
	struct order_begin identity;
	struct stack *stack; /* takes the reference, also on failure */
	struct lures *lures; /* borrowed, and outlives the engine; or NULL */
	const struct detour_proxy *house; /* the same */
	/* Their channels, taken the same way; -1: there is none. */
	int lookout, broker;
};

/* loop and sink are borrowed and outlive it.  NULL: *reterr tells why. */
struct engine *engine_start(struct loop *loop, struct sink *sink,
    const struct engine_order *order, struct problem *reterr) MUST_CHECK;
void engine_free(struct engine *engine);

/*
 * Takes the descriptors of a handoff, also on failure, and gives what the
 * sandbox shall trust.  Once only: STATUS_REFUSED afterwards.
 */
int engine_listen(struct engine *engine, const int fds[HANDOFF_FD_COUNT],
    int ret_trust[HANDOFF_TRUST_COUNT], struct problem *reterr) MUST_CHECK;

/*
 * Puts another policy in force; takes the reference, also on failure.  by is
 * who wants it.  A row says so first; then the next request is judged by it,
 * what it does not allow is ended, and questions are asked anew.
 */
int engine_swap(struct engine *engine, struct stack *stack, const char *by,
    struct problem *reterr) MUST_CHECK;

/* Accepts nothing more and ends every flow; their last rows are put. */
void engine_stop(struct engine *engine, enum reason reason);

/* Where questions to a person are told and answered; borrows from engine. */
struct consent *engine_consent(const struct engine *engine);

/* What the run has done so far. */
struct order_tally engine_tally(const struct engine *engine);

#endif
