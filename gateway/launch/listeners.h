/*
 * listeners - the sockets that are born in the sandbox's network namespace
 * and served from outside.
 *
 * A socket keeps the namespace it was made in, so whoever holds these needs
 * neither the namespace nor a capability.  What they accept says by its own
 * name where the sandbox meant to go.
 */
#ifndef GATEWAY_LAUNCH_LISTENERS_H
#define GATEWAY_LAUNCH_LISTENERS_H

#include "schema/handoff.h"
#include "schema/problem.h"

struct listeners {
	int fds[HANDOFF_FD_COUNT];
};

/* Needs CAP_NET_ADMIN, _RAW and _BIND_SERVICE in the namespace. */
int listeners_open(struct listeners *ret, struct problem *reterr) MUST_CHECK;

void listeners_done(struct listeners *listeners);

#endif
