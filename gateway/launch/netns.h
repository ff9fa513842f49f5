/*
 * netns - a network that leads nowhere, in which every address is local.
 *
 * lo, a pair of links whose both ends stay inside (programs that see only lo
 * believe to be offline), one address of each family, and a local route for
 * all addresses.  Nothing outside the namespace is touched.
 *
 * The addresses: 192.0.0.2 is from the prefix of RFC 7335, which no network
 * may route, so that no address a policy allows is taken from the sandbox;
 * fd65:7865:6174::2 is a unique local one (RFC 4193).  192.0.0.1 is the name
 * server in the sandbox's resolv.conf: like any address, it leads to the
 * gateway.
 */
#ifndef GATEWAY_LAUNCH_NETNS_H
#define GATEWAY_LAUNCH_NETNS_H

#include "schema/address.h"
#include "schema/problem.h"

#include <stdbool.h>

#define NETNS_NAMESERVER "192.0.0.1"

struct address netns_own4(void);
struct address netns_own6(void);

int netns_up(bool nic, struct problem *reterr) MUST_CHECK;

#endif
