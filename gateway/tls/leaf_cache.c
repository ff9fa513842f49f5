#include "gateway/tls/leaf_cache.h"

#include "gateway/tls/leaf.h"
#include "gateway/tls/run_ca.h"
#include "schema/limits.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define BUCKETS 256
static_assert((BUCKETS & (BUCKETS - 1)) == 0, "a bucket is a mask away");

/* A leaf that ends sooner than this is not given out, if a later can be had. */
#define SPARE_S 3600

struct entry {
	TAILQ_ENTRY(entry) age;
	LIST_ENTRY(entry) bucket;
	struct leaf *leaf;
};

struct leaf_cache {
	const struct run_ca *ca;
	EVP_PKEY *key;
	uint64_t seed;
	size_t count;
	TAILQ_HEAD(, entry) ages; /* longest unused first */
	LIST_HEAD(, entry) buckets[BUCKETS];
};

/* Hosts come from the sandbox: they must not be able to choose a bucket. */
static size_t
cache_bucket(const struct leaf_cache *cache, const char *host)
{
	uint64_t hash = cache->seed ^ 0xcbf29ce484222325U;

	for (; *host != '\0'; host++)
		hash = (hash ^ (uint8_t)*host) * 0x100000001b3U;
	hash ^= hash >> 32;
	return (size_t)(hash & (BUCKETS - 1));
}

struct leaf_cache *
leaf_cache_new(const struct run_ca *ca, struct problem *reterr)
{
	struct leaf_cache *cache = calloc(1, sizeof(*cache));

	if (cache == NULL) {
		(void)problem_set(reterr, "no memory for a cache of leaves");
		return NULL;
	}
	cache->ca = ca;
	TAILQ_INIT(&cache->ages);
	if (RAND_bytes((unsigned char *)&cache->seed, sizeof(cache->seed)) !=
	    1) {
		(void)problem_set(
		    reterr, "no randomness for a cache of leaves");
		goto fail;
	}
	cache->key = leaf_key_new(reterr);
	if (cache->key == NULL)
		goto fail;
	return cache;
fail:
	leaf_cache_free(cache);
	return NULL;
}

static void
cache_drop(struct leaf_cache *cache, struct entry *entry)
{
	TAILQ_REMOVE(&cache->ages, entry, age);
	LIST_REMOVE(entry, bucket);
	cache->count--;
	leaf_free(entry->leaf);
	free(entry);
}

void
leaf_cache_free(struct leaf_cache *cache)
{
	if (cache == NULL)
		return;
	while (!TAILQ_EMPTY(&cache->ages))
		cache_drop(cache, TAILQ_FIRST(&cache->ages));
	EVP_PKEY_free(cache->key);
	free(cache);
}

static struct entry *
cache_find(struct leaf_cache *cache, const char *host)
{
	struct entry *entry;
	size_t bucket = cache_bucket(cache, host);

	LIST_FOREACH(entry, &cache->buckets[bucket], bucket) {
		if (strcmp(leaf_host(entry->leaf), host) == 0)
			return entry;
	}
	return NULL;
}

static bool
cache_leaf_is_fresh(
    const struct leaf_cache *cache, const struct leaf *leaf, int64_t now)
{
	/* A clock that was put back makes it one of the future. */
	if (leaf_begins(leaf) > now)
		return false;
	return leaf_ends(leaf) - now >= SPARE_S ||
	       (leaf_ends(leaf) == run_ca_ends(cache->ca) &&
		   leaf_ends(leaf) > now);
}

static int
cache_add(struct leaf_cache *cache, const char *host, int64_t wall_us,
    struct entry **ret, struct problem *reterr)
{
	struct entry *entry = calloc(1, sizeof(*entry));
	int status;

	if (entry == NULL) {
		(void)problem_set(reterr, "no memory for a leaf");
		return STATUS_NO_MEMORY;
	}
	status = leaf_mint(
	    cache->ca, cache->key, host, wall_us, &entry->leaf, reterr);
	if (status != STATUS_OK) {
		free(entry);
		return status;
	}
	if (cache->count == LIMIT_LEAVES)
		cache_drop(cache, TAILQ_FIRST(&cache->ages));
	cache->count++;
	TAILQ_INSERT_TAIL(&cache->ages, entry, age);
	LIST_INSERT_HEAD(
	    &cache->buckets[cache_bucket(cache, leaf_host(entry->leaf))], entry,
	    bucket);
	*ret = entry;
	return STATUS_OK;
}

int
leaf_cache_get(struct leaf_cache *cache, const char *host, int64_t wall_us,
    const struct leaf **ret, struct problem *reterr)
{
	struct entry *entry = cache_find(cache, host);
	int status = STATUS_OK;

	if (entry != NULL &&
	    !cache_leaf_is_fresh(cache, entry->leaf, wall_us / 1000000)) {
		cache_drop(cache, entry);
		entry = NULL;
	}
	if (entry == NULL)
		status = cache_add(cache, host, wall_us, &entry, reterr);
	if (status != STATUS_OK)
		return status;
	TAILQ_REMOVE(&cache->ages, entry, age);
	TAILQ_INSERT_TAIL(&cache->ages, entry, age);
	*ret = entry->leaf;
	return STATUS_OK;
}

size_t
leaf_cache_count(const struct leaf_cache *cache)
{
	return cache->count;
}
