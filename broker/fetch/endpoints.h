/*
 * endpoints - the fixed list of URLs, and nothing else is fetched.
 *
 * Filled once, before the first errand, then sealed.  An errand names a place
 * in the list; no text of an errand becomes part of a URL.
 */
#ifndef BROKER_FETCH_ENDPOINTS_H
#define BROKER_FETCH_ENDPOINTS_H

#include "gateway/proto/authority.h"
#include "schema/errand.h"

struct endpoint_entry {
	char *url;
	struct authority authority; /* its port is set */
	unsigned char *roots; /* PEM, or NULL for the machine's */
	size_t roots_length;
};

struct endpoints {
	struct endpoint_entry entries[LIMIT_ERRAND_ENDPOINTS];
	size_t count;
	bool sealed;
};

/*
 * Adds one.  STATUS_MALFORMED for anything but https with a host and perhaps a
 * port and a path, STATUS_FULL, STATUS_NO_MEMORY; STATUS_REFUSED once sealed.
 */
int endpoints_add(struct endpoints *endpoints,
    const struct errand_endpoint *endpoint) MUST_CHECK;

void endpoints_seal(struct endpoints *endpoints);

/* Borrows; NULL when there is none, or the list is not sealed yet. */
const struct endpoint_entry *endpoints_at(
    const struct endpoints *endpoints, size_t place);

void endpoints_done(struct endpoints *endpoints);

#endif
