/*
 * explicit - the proxy at exeat.internal:3128, for programs that insist on
 * one: CONNECT, requests in absolute-form, and SOCKS5 with names.
 *
 * It reads where the connection is to lead, asks about the name as the
 * sandbox's resolver would, and hands the connection on as if it had been
 * made to there: from then on it is judged, recorded and served like any
 * other.  It asks for no password, since only the run's sandbox can reach it.
 *
 * A request in absolute-form is the last of its connection: the next one may
 * be for another host.
 */
#ifndef GATEWAY_FLOW_EXPLICIT_H
#define GATEWAY_FLOW_EXPLICIT_H

struct flow;

/* State FLOW_PROXYING. */
void explicit_enter(struct flow *flow);
void explicit_leave(struct flow *flow);

#endif
