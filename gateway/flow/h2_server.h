/*
 * h2_server - HTTP/2 facing the sandbox: a server leg for each stream, and an
 * exchange for each request, beside one another.
 *
 * Every stream is judged and has its rows for itself.  In a condemned flow
 * requests are read and refused with the flow's reason.
 */
#ifndef GATEWAY_FLOW_H2_SERVER_H
#define GATEWAY_FLOW_H2_SERVER_H

struct flow;

/* State FLOW_EXCHANGING of a flow that speaks HTTP/2. */
void h2_server_enter(struct flow *flow);
void h2_server_leave(struct flow *flow);

/* The policy changed: the connection first, then each request under way. */
void h2_server_judge_again(struct flow *flow);

#endif
