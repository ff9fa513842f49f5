/*
 * hosts - names with fixed addresses: the machine's /etc/hosts.
 *
 * Read once.  A line that does not read, and a word that is no host name, is
 * passed over, as every resolver does (hosts(5)).
 */
#ifndef GATEWAY_NET_HOSTS_H
#define GATEWAY_NET_HOSTS_H

#include "schema/attr.h"
#include "schema/cursor.h"

#include <stddef.h>

struct address;
struct hostname;
struct hosts;
struct problem;

/*
 * A file that does not exist is an empty one.  NULL when it cannot be read or
 * has more than LIMIT_HOSTS_BYTES: *reterr tells why.
 */
struct hosts *hosts_read(const char *path, struct problem *reterr) MUST_CHECK;

/* The same from text.  NULL: no memory. */
struct hosts *hosts_of_text(struct cursor text) MUST_CHECK;

void hosts_free(struct hosts *hosts);

/*
 * Copies the addresses of name in the order of the file, at most size, and
 * returns how many; 0 when the name is not there.
 */
size_t hosts_find(const struct hosts *hosts, const struct hostname *name,
    struct address *out, size_t size);

#endif
