/*
 * h1_server - HTTP/1.1 facing the sandbox: the server leg of its exchanges,
 * one after another on one connection, and the connection outside they share.
 *
 * Requests that are sent ahead (pipelined) wait in the buffer: each is judged
 * when the one before it is over.  In a condemned flow the first request is
 * read and refused with the flow's reason.
 */
#ifndef GATEWAY_FLOW_H1_SERVER_H
#define GATEWAY_FLOW_H1_SERVER_H

struct flow;

/* State FLOW_EXCHANGING. */
void h1_server_enter(struct flow *flow);
void h1_server_leave(struct flow *flow);

/* The policy changed: the connection first, then a request under way. */
void h1_server_judge_again(struct flow *flow);

#endif
