/*
 * redirect - the nf_tables rules that bring every TCP connection and every
 * datagram to a socket of the sandbox's own network namespace.
 *
 * TPROXY and not NAT: no conntrack is asked, and the accepted socket's own
 * name is the address that was meant.  The rules are no wall: without them
 * the namespace leads nowhere.  UDP port 53 needs none: the socket for it is
 * bound to every address.
 */
#ifndef GATEWAY_LAUNCH_REDIRECT_H
#define GATEWAY_LAUNCH_REDIRECT_H

#include "schema/attr.h"
#include "schema/problem.h"

/*
 * The port of all of them, on 127.0.0.1 and ::1.  The last one: no
 * program takes it by itself, and it is outside the ephemeral range.
 */
#define REDIRECT_PORT 65535

int redirect_install(struct problem *reterr) MUST_CHECK;

#endif
