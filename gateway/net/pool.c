#include "gateway/net/pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct pool {
	size_t size, keep, kept;
	size_t lent;
	void *ready[]; /* keep places, kept of them filled */
};

struct pool *
pool_new(size_t size, size_t keep)
{
	struct pool *pool =
	    calloc(1, sizeof(*pool) + keep * sizeof(pool->ready[0]));

	if (pool == NULL)
		return NULL;
	pool->size = size;
	pool->keep = keep;
	return pool;
}

void
pool_free(struct pool *pool)
{
	if (pool == NULL)
		return;
	assert(pool->lent == 0);
	while (pool->kept > 0)
		free(pool->ready[--pool->kept]);
	free(pool);
}

size_t
pool_size(const struct pool *pool)
{
	return pool->size;
}

void *
pool_take(struct pool *pool)
{
	void *buffer;

	if (pool->kept > 0) {
		pool->lent++;
		return pool->ready[--pool->kept];
	}
	/* Once, and not at each loan: no byte of before is ever sent. */
	buffer = calloc(1, pool->size);
	if (buffer != NULL)
		pool->lent++;
	return buffer;
}

void
pool_give(struct pool *pool, void *buffer)
{
	if (buffer == NULL)
		return;
	assert(pool->lent > 0);
	pool->lent--;
	if (pool->kept < pool->keep)
		pool->ready[pool->kept++] = buffer;
	else
		free(buffer);
}
