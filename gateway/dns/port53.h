/*
 * port53 - the stub's two doors: UDP/53 datagrams and TCP/53 streams.
 *
 * Whatever server the sandbox means to ask, it is answered from that
 * server's address.  LIMIT_DNS_CONNECTIONS streams at once; one more is
 * closed.
 */
#ifndef GATEWAY_DNS_PORT53_H
#define GATEWAY_DNS_PORT53_H

#include "schema/attr.h"

struct loop;
struct port53;
struct problem;
struct stub;

/* Takes both descriptors, also on failure.  stub outlives it. */
struct port53 *port53_new(struct loop *loop, struct stub *stub, int udp4,
    int udp6, struct problem *reterr) MUST_CHECK;
void port53_free(struct port53 *port53);

/* Takes a connection to port 53. */
void port53_accept(struct port53 *port53, int fd);

#endif
