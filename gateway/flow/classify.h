/*
 * classify - read a client's first bytes until its protocol is known.
 *
 * The bytes are read, not peeked at, and kept in flow->early, up to
 * LIMIT_HELLO: a ClientHello may come in any number of pieces.  A client that
 * stays silent may be waiting for its server; it is believed after
 * LIMIT_SNIFF_MS if a rule allows such a protocol here.
 */
#ifndef GATEWAY_FLOW_CLASSIFY_H
#define GATEWAY_FLOW_CLASSIFY_H

struct flow;

/* State FLOW_SNIFFING. */
void classify_enter(struct flow *flow);
void classify_leave(struct flow *flow);

#endif
