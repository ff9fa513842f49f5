/*
 * refuse - say no in the client's own protocol.
 *
 * Where HTTP can be spoken, clear or inside TLS under the run's authority,
 * the flow goes on to be refused request by request.  Other TLS gets an
 * alert, SSH a line of text, everything else a reset.
 */
#ifndef GATEWAY_FLOW_REFUSE_H
#define GATEWAY_FLOW_REFUSE_H

struct flow;

/* State FLOW_REFUSING. */
void refuse_enter(struct flow *flow);

#endif
