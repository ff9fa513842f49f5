/*
 * carriers - the connections outside of the run, for all of its flows.
 *
 * A handshake costs more than a hundred requests, so a connection that is
 * whole and idle serves whoever next asks for the same host, port and trust:
 * at most LIMIT_CARRIERS of them, for LIMIT_CARRIER_IDLE_MS.  An HTTP/1.1
 * client keeps the one it had, since some servers remember on it who it is;
 * it becomes everybody's when that client leaves.
 *
 * None outlives a policy: each was dialled as the one in force allowed.
 */
#ifndef GATEWAY_FLOW_CARRIERS_H
#define GATEWAY_FLOW_CARRIERS_H

#include "gateway/flow/carrier.h"
#include "schema/attr.h"

struct plane;
struct stream;

/* What makes one out of a stream, which is taken, also on failure. */
typedef struct carrier *carrier_make(
    struct plane *plane, struct stream *stream);
struct carriers_makers {
	carrier_make *http1, *http2;
};

/* Borrows both, plane with its loop. */
struct carriers *carriers_new(
    struct plane *plane, const struct carriers_makers *makers) MUST_CHECK;

/* Behind the flows; closes what is left. */
void carriers_free(struct carriers *carriers);

/*
 * Adds a connection that has just been made; takes stream, also on failure.
 * NULL: no memory.  It speaks HTTP/2 where TLS agreed on that, or the key
 * says so.
 */
struct carrier *carriers_add(struct carriers *carriers,
    const struct carrier_key *key, struct stream *stream,
    const struct endpoint *to) MUST_CHECK;

/*
 * One that could serve a flow now, or NULL; its own first.
 */
struct carrier *carriers_find(struct carriers *carriers,
    const struct carrier_key *key, const struct flow *flow,
    enum carrier_need need) MUST_CHECK;

/* One that is like it but for its badge, whoever holds it; or NULL. */
struct carrier *carriers_find_badged(
    struct carriers *carriers, const struct carrier_key *key) MUST_CHECK;

/* Nobody but this flow may have it while it rests; for HTTP/1.1. */
void carriers_hold(struct carrier *carrier, struct flow *flow);

/* The flow is over: what it held is everybody's. */
void carriers_let_go(struct flow *flow);

/* Another policy is in force: what rests is closed, the rest once it is. */
void carriers_retire_all(struct carriers *carriers);

/* ---- for the carriers themselves ---- */

/* It serves nobody now, and could serve again. */
void carriers_rest(struct carrier *carrier);

/* It serves somebody. */
void carriers_wake(struct carrier *carrier);

/* It serves no more: forgets it, and closes it. */
void carriers_drop(struct carrier *carrier);

#endif
