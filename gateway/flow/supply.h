/*
 * supply - a connection outside for one exchange: one that is there already
 * and idle, or a new one.
 */
#ifndef GATEWAY_FLOW_SUPPLY_H
#define GATEWAY_FLOW_SUPPLY_H

#include "gateway/flow/badge.h"
#include "schema/attr.h"
#include "schema/reason.h"

#include <stdbool.h>

struct carrier;
struct flow;
struct grants_loan;
struct leg;
struct request;
struct upstream;
struct upstream_result;

/* The way to one connection; the caller's room, zeroed but for the call. */
struct supply {
	/* A leg, or a reason and a library's words. */
	void (*on_done)(struct supply *supply, struct leg *leg,
	    enum reason reason, const char *cause);
	struct flow *flow;
	const struct request *request;
	struct badge badge; /* of the request's credential */
	struct upstream *connecting;
};

/*
 * A leg of one that can be used now, or NULL.  loan is of the request's
 * credential, and may be empty.
 */
struct leg *supply_find(struct flow *flow, const struct request *request,
    const struct grants_loan *loan) MUST_CHECK;

/*
 * Makes a new one; on_done is called once, from a tick of its own, unless it
 * is cancelled before.  False: no memory.
 */
bool supply_connect(struct supply *supply, struct flow *flow,
    const struct request *request, const struct grants_loan *loan) MUST_CHECK;
void supply_cancel(struct supply *supply);

/* ---- for a flow whose requests are not there yet ---- */

/*
 * One that its requests could use now, or NULL; it is the flow's then.  Which
 * of them presents a certificate is not known before they are here, so where
 * one does, it tells at least what is spoken there, and stays everybody's.
 */
struct carrier *supply_reserve(struct flow *flow) MUST_CHECK;

/* The same of a connection that has just been made; NULL: no memory. */
struct carrier *supply_take(
    struct flow *flow, const struct upstream_result *result) MUST_CHECK;

#endif
