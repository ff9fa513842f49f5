/*
 * tunnel - pass the bytes of a flow unread.
 *
 * The bytes that classifying has read go first, untouched.
 */
#ifndef GATEWAY_FLOW_TUNNEL_H
#define GATEWAY_FLOW_TUNNEL_H

struct flow;

/* State FLOW_TUNNELING. */
void tunnel_enter(struct flow *flow);
void tunnel_leave(struct flow *flow);

#endif
