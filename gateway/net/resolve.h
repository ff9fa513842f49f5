/*
 * resolve - names to addresses for ourselves; what the sandbox looked up is
 * never used.
 *
 * Asks the machine's nameservers for both families at once, and never appends
 * a search domain.  The hosts file and resolv.conf are read once, by
 * resolver_new().  localhost and what is below it are the loopback addresses,
 * whoever says otherwise (RFC 6761 section 6.3).  When one family has answered,
 * the other gets LIMIT_FAMILY_MS more (RFC 8305 section 3).
 *
 * Bounded: LIMIT_RESOLVED names in the cache, LIMIT_RESOLVING questions at
 * once, LIMIT_RESOLVE_MS for one, LIMIT_ADDRESSES in an answer.
 */
#ifndef GATEWAY_NET_RESOLVE_H
#define GATEWAY_NET_RESOLVE_H

#include "schema/attr.h"

#include <stdbool.h>
#include <stddef.h>

struct address;
struct event_base;
struct hostname;
struct problem;
struct resolve;
struct resolver;

/*
 * STATUS_OK with at least one address, in the order of the answers; or
 * STATUS_NOT_FOUND (no such name, or it has no address), STATUS_TIMEOUT,
 * STATUS_SYSTEM (a nameserver failed or refused), with none.  list is
 * borrowed for the call.  The handle is gone when this is called, and the
 * resolver must not be freed from here.
 */
typedef void resolve_call(
    const struct address *list, size_t count, int status, void *arg);

/*
 * NULL as a path means the machine's own, /etc/resolv.conf and /etc/hosts; a
 * file that is missing counts as empty.  NULL: *reterr tells why.
 */
struct resolver *resolver_new(struct event_base *base, const char *resolv_conf,
    const char *hosts, struct problem *reterr) MUST_CHECK;

/* Forgets all questions; nobody is called. */
void resolver_free(struct resolver *resolver);

/*
 * Answers from what is known without asking anybody: the cache, the hosts
 * file, localhost.  False when the name must be asked for.
 */
bool resolver_knows(struct resolver *resolver, const struct hostname *name,
    struct address *ret_list, size_t *ret_count) MUST_CHECK;

/*
 * Calls on_resolved once and never before it has returned.  The handle, which
 * belongs to the resolver, serves to cancel until then.  NULL when memory or
 * LIMIT_RESOLVING forbid the question.
 */
struct resolve *resolve_start(struct resolver *resolver,
    const struct hostname *name, resolve_call *on_resolved, void *arg)
    MUST_CHECK;

/* The call will not come.  Takes NULL. */
void resolve_cancel(struct resolve *resolve);

#endif
