/*
 * leaf_cache - the leaves of one run by host, so that each is minted once.
 *
 * Holds LIMIT_LEAVES at most; the one that was not used for longest goes
 * first.  A leaf that is about to expire is minted anew.  All share one key.
 */
#ifndef GATEWAY_TLS_LEAF_CACHE_H
#define GATEWAY_TLS_LEAF_CACHE_H

#include "schema/attr.h"

#include <stddef.h>
#include <stdint.h>

struct leaf;
struct leaf_cache;
struct problem;
struct run_ca;

/* Borrows ca, which must outlive the cache.  NULL: *reterr tells why. */
struct leaf_cache *leaf_cache_new(
    const struct run_ca *ca, struct problem *reterr) MUST_CHECK;
void leaf_cache_free(struct leaf_cache *cache);

/*
 * *ret borrows from cache until the next call here.  host, wall_us and what
 * can fail are those of leaf_mint().
 */
int leaf_cache_get(struct leaf_cache *cache, const char *host, int64_t wall_us,
    const struct leaf **ret, struct problem *reterr) MUST_CHECK;

size_t leaf_cache_count(const struct leaf_cache *cache);

#endif
