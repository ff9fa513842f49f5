/*
 * scope - the destinations that one credential may be sent to.
 *
 * An entry is a host, a host and port, or "*.example.com" for every name below
 * that one.  Without a port it is 443 under TLS and 80 in the clear.  Nothing
 * in the list means nowhere.
 */
#ifndef BROKER_SCOPE_H
#define BROKER_SCOPE_H

#include "schema/hostname.h"
#include "schema/limits.h"

struct scope_entry {
	char host[LIMIT_HOST + 1]; /* canonical name, or a literal address */
	bool below; /* the names below it, not itself */
	uint16_t port; /* 0: the usual one */
};

struct scope {
	struct scope_entry *entries; /* LIMIT_CREDENTIAL_HOSTS, or NULL */
	size_t count;
};

void scope_done(struct scope *scope);

/*
 * Adds "host", "host:port", "[v6]:port" or "*.host".  STATUS_MALFORMED,
 * STATUS_FULL, STATUS_NO_MEMORY.
 */
int scope_add(struct scope *scope, const char *text) MUST_CHECK;

/* host as in a grant's question: canonical, or the text of an address. */
bool scope_admits(
    const struct scope *scope, const char *host, uint16_t port, bool tls);

#endif
