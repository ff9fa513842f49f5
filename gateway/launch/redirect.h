/*
 * redirect - the nf_tables rules that bring every TCP connection to one
 * listener of the sandbox's own network namespace.
 *
 * TPROXY and not NAT: no conntrack is asked, and the accepted socket's own
 * name is the address that was meant.  The rules are no wall: without them
 * the namespace leads nowhere.  UDP needs none, its listener is bound to
 * every address; a port nobody listens on is refused by the kernel at once.
 */
#ifndef GATEWAY_LAUNCH_REDIRECT_H
#define GATEWAY_LAUNCH_REDIRECT_H

#include "schema/attr.h"
#include "schema/problem.h"

/*
 * The port of both listeners, on 127.0.0.1 and ::1.  The last one: no
 * program takes it by itself, and it is outside the ephemeral range.
 */
#define REDIRECT_PORT 65535

int redirect_install(struct problem *reterr) MUST_CHECK;

#endif
