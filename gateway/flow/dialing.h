/*
 * dialing - the state in which a flow gets its world's side.
 *
 * Connecting and the row that says so go on at the same time; the state is
 * left when both are there.  A row that cannot be had refuses the flow,
 * whatever the connection does.
 */
#ifndef GATEWAY_FLOW_DIALING_H
#define GATEWAY_FLOW_DIALING_H

struct flow;

/* State FLOW_DIALING. */
void dialing_enter(struct flow *flow);
void dialing_leave(struct flow *flow);

#endif
