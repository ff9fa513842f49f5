/*
 * redirect - the nf_tables rules that bring every TCP connection and every
 * datagram to a socket of the sandbox's own network namespace.
 *
 * TPROXY and not NAT: no conntrack is asked, and the accepted socket's own
 * name is the address that was meant.  The rules are no wall: without them
 * the namespace leads nowhere.  UDP port 53 needs none: the socket for it is
 * bound to every address.  What is neither of both is refused at once, and
 * counted.
 */
#ifndef GATEWAY_LAUNCH_REDIRECT_H
#define GATEWAY_LAUNCH_REDIRECT_H

#include "schema/attr.h"
#include "schema/problem.h"

#include <stdint.h>

/*
 * The port of all of them, on 127.0.0.1 and ::1.  The last one: no
 * program takes it by itself, and it is outside the ephemeral range.
 */
#define REDIRECT_PORT 65535

int redirect_install(struct problem *reterr) MUST_CHECK;

/* Packets that were refused: no socket of ours catches them. */
struct redirect_counts {
	uint64_t pings;
	uint64_t multicast; /* datagrams to groups */
	uint64_t others; /* of other protocols */
};

/*
 * Reads them by a socket of NETLINK_NETFILTER that was born in the namespace,
 * from outside it: for who made the namespace's user namespace.
 */
int redirect_count(int fd, struct redirect_counts *ret) MUST_CHECK;

#endif
