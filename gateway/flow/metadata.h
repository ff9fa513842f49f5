/*
 * metadata - look-alikes of the clouds' metadata services, for SDKs that take
 * their credentials from there.
 *
 * They tell the placeholders that the sandbox has for the credential whose
 * entry says "metadata", and nothing of any machine.  A run without one has no
 * such service: these addresses are refused like any special ones.
 *
 *   AWS     169.254.169.254 as of an instance, with and without a session,
 *           and 169.254.170.2 as of a container
 *   Google  metadata.google.internal and 169.254.169.254, only with the field
 *           Metadata-Flavor, as theirs demands
 */
#ifndef GATEWAY_FLOW_METADATA_H
#define GATEWAY_FLOW_METADATA_H

#include "schema/attr.h"
#include "schema/cursor.h"
#include "schema/hostname.h"

#include <stdbool.h>

struct address;
struct header;
struct leg_request;
struct lures;
struct metadata_page;

/* Whether a service answers at this address or name, on the port of HTTP. */
bool metadata_is_at(const struct lures *lures, const struct address *address);
bool metadata_is_named(const struct lures *lures, const struct hostname *name);

/* One request to them; borrows lures. */
struct metadata {
	bool is_it;
	unsigned status;
	const struct lures *lures;
	const struct metadata_page *page; /* NULL: status says why */
};
void metadata_find(const struct lures *lures, const struct leg_request *request,
    struct metadata *ret);

/* The answer's own fields.  Fails as header_set() does. */
int metadata_fields(const struct metadata *metadata, struct header *header)
    MUST_CHECK;

/* The answer's body; gives its status. */
unsigned metadata_write(
    const struct metadata *metadata, struct cursor_writer *out);

#endif
