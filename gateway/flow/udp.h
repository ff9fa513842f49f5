/*
 * udp - datagrams of the sandbox become flows, as connections do.
 *
 * One flow for each pair of ends: judged when its first datagram comes,
 * written down before any leaves, ended when nothing came for
 * LIMIT_UDP_IDLE_MS, and by a policy that takes its rule away.  What is
 * refused is told so by ICMP at once, and has a row or is counted in one; see
 * gateway/run/fold.  Questions for names come by another way: see
 * gateway/dns/port53.
 */
#ifndef GATEWAY_FLOW_UDP_H
#define GATEWAY_FLOW_UDP_H

#include "schema/attr.h"

struct plane;
struct problem;
struct udp;

/* Descriptors of a handoff, by family: see schema/handoff.h. */
struct udp_doors {
	int any4, any6, raw4, raw6;
};

/* Takes the descriptors, also on failure; plane is borrowed. */
struct udp *udp_new(struct plane *plane, const struct udp_doors *doors,
    struct problem *reterr) MUST_CHECK;

/* Behind every flow: they send by what it holds. */
void udp_free(struct udp *udp);

/* No datagram is taken any more; what was counted gets its rows. */
void udp_stop(struct udp *udp);

#endif
