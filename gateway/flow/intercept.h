/*
 * intercept - the sandbox's side of TLS is joined to ours.
 *
 * The outside is there already, verified; or the flow is condemned and the
 * only thing to be said inside is the refusal.  The leaf is for the host that
 * the client named in its hello, or for the one that its address stands for.
 */
#ifndef GATEWAY_FLOW_INTERCEPT_H
#define GATEWAY_FLOW_INTERCEPT_H

#include <stdbool.h>

struct flow;

/* State FLOW_INTERCEPTING. */
void intercept_enter(struct flow *flow);
void intercept_leave(struct flow *flow);

/* Whether we could speak HTTP with this client inside TLS. */
bool intercept_is_possible(const struct flow *flow);

#endif
