/*
 * nameservers - whom this machine asks for names: its /etc/resolv.conf.
 *
 * Read once.  Only "nameserver" lines count, the first LIMIT_NAMESERVERS of
 * them (resolv.conf(5)); an address may have a port, as in 127.0.0.1:5353 or
 * [::1]:5353.  Without any, the machine itself is asked.
 */
#ifndef GATEWAY_NET_NAMESERVERS_H
#define GATEWAY_NET_NAMESERVERS_H

#include "schema/address.h"
#include "schema/attr.h"
#include "schema/cursor.h"
#include "schema/limits.h"

#include <stddef.h>

struct problem;

struct nameservers {
	struct endpoint list[LIMIT_NAMESERVERS];
	size_t count; /* at least 1 */
	size_t first; /* the one to begin with: it answered last */
};

/*
 * A file that does not exist is an empty one; STATUS_PROBLEM when it cannot
 * be read: *reterr tells why.
 */
int nameservers_read(const char *path, struct nameservers *ret,
    struct problem *reterr) MUST_CHECK;

/* The same from text. */
struct nameservers nameservers_of_text(struct cursor text);

#endif
