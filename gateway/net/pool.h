/*
 * pool - buffers of one size, lent to whoever has bytes under way.
 *
 * A flow holds a buffer only while something in it waits, so thousands of
 * idle flows hold none.  What is given back is kept for the next one, up to a
 * number; beyond it the memory goes back to the system.
 *
 * Every buffer must be given back before the pool is freed.
 */
#ifndef GATEWAY_NET_POOL_H
#define GATEWAY_NET_POOL_H

#include "schema/attr.h"

#include <stddef.h>

struct pool;

/* Buffers of size bytes, of which at most keep lie ready; NULL: no memory. */
struct pool *pool_new(size_t size, size_t keep) MUST_CHECK;
void pool_free(struct pool *pool);

size_t pool_size(const struct pool *pool);

/* NULL when there is no memory.  What is in it is left from before. */
void *pool_take(struct pool *pool) MUST_CHECK;

/* Takes a buffer of this pool, or NULL. */
void pool_give(struct pool *pool, void *buffer);

#endif
