/*
 * names - one synthetic address per name and family; address back to name.
 *
 * The sandbox's resolver is answered from 198.18.0.0/15 (RFC 2544) and
 * fd65:7865:6174::/48 (RFC 4193), so that every connection tells which name
 * it means, whatever protocol it speaks.  An address is never given to a
 * second name in a run; when LIMIT_NAMES are used up, new names are refused.
 */
#ifndef GATEWAY_DNS_NAMES_H
#define GATEWAY_DNS_NAMES_H

#include "schema/address.h"
#include "schema/hostname.h"

struct names;

/*
 * The one name that stands for the gateway itself: it needs no rule, and what
 * is connected to it is never dialled.
 */
#define NAMES_INTERNAL "exeat.internal"
bool names_is_internal(const struct hostname *name);

/* The name by which Google's SDKs look for its metadata service. */
#define NAMES_METADATA "metadata.google.internal"
bool names_is_metadata(const struct hostname *name);

struct names *names_new(void) MUST_CHECK;
void names_free(struct names *names);

struct name_addresses {
	struct address v4, v6;
};

/*
 * The addresses that stand for name, given now if it is new; *ret_new says
 * so.  STATUS_FULL when all are used up, STATUS_NO_MEMORY.
 */
int names_give(struct names *names, const struct hostname *name,
    struct name_addresses *ret, bool *ret_new) MUST_CHECK;

/* Whether name has its addresses already. */
bool names_know(const struct names *names, const struct hostname *name);

/* The name that address stands for; NULL for one that was not given. */
const struct hostname *names_find(
    const struct names *names, const struct address *address);

/* Whether address lies in one of the two ranges, given or not. */
bool names_is_synthetic(const struct address *address);

size_t names_count(const struct names *names);

#endif
