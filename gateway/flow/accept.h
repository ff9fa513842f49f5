/*
 * accept - an accepted socket becomes a flow with a destination and perhaps a
 * name.
 *
 * Which run it belongs to needs no asking: only that run's sandbox can reach
 * these listeners.  At the cap of flows accepting pauses, and connections
 * wait in the kernel's backlog.
 */
#ifndef GATEWAY_FLOW_ACCEPT_H
#define GATEWAY_FLOW_ACCEPT_H

#include "schema/attr.h"

struct accept;
struct plane;
struct port53;
struct problem;

/*
 * Takes both descriptors, also on failure; port53 gets connections to port
 * 53.  Both outlive it.
 */
struct accept *accept_new(struct plane *plane, struct port53 *port53, int tcp4,
    int tcp6, struct problem *reterr) MUST_CHECK;
void accept_free(struct accept *accept);

#endif
