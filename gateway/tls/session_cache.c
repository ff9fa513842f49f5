#include "gateway/tls/session_cache.h"

#include "schema/limits.h"

#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct entry {
	TAILQ_ENTRY(entry) age;
	SSL_SESSION *session;
	char peer[];
};

struct session_cache {
	size_t count;
	TAILQ_HEAD(, entry) ages; /* longest unused first */
};

struct session_cache *
session_cache_new(void)
{
	struct session_cache *cache = calloc(1, sizeof(*cache));

	if (cache != NULL)
		TAILQ_INIT(&cache->ages);
	return cache;
}

static void
cache_drop(struct session_cache *cache, struct entry *entry)
{
	TAILQ_REMOVE(&cache->ages, entry, age);
	cache->count--;
	SSL_SESSION_free(entry->session);
	free(entry);
}

void
session_cache_free(struct session_cache *cache)
{
	if (cache == NULL)
		return;
	while (!TAILQ_EMPTY(&cache->ages))
		cache_drop(cache, TAILQ_FIRST(&cache->ages));
	free(cache);
}

/* A walk of a few hundred costs nothing beside a handshake. */
static struct entry *
cache_find(struct session_cache *cache, const char *peer)
{
	struct entry *entry;

	TAILQ_FOREACH(entry, &cache->ages, age) {
		if (strcmp(entry->peer, peer) == 0)
			return entry;
	}
	return NULL;
}

void
session_cache_put(struct session_cache *cache, const char *peer,
    struct ssl_session_st *session)
{
	struct entry *entry = cache_find(cache, peer);
	size_t length = strlen(peer);

	/* The one before of this peer, or the oldest to make room. */
	if (entry == NULL && cache->count == LIMIT_SESSIONS)
		entry = TAILQ_FIRST(&cache->ages);
	if (entry != NULL)
		cache_drop(cache, entry);
	entry = calloc(1, sizeof(*entry) + length + 1);
	if (entry == NULL) {
		SSL_SESSION_free(session);
		return;
	}
	memcpy(entry->peer, peer, length + 1);
	entry->session = session;
	TAILQ_INSERT_TAIL(&cache->ages, entry, age);
	cache->count++;
}

struct ssl_session_st *
session_cache_get(struct session_cache *cache, const char *peer)
{
	struct entry *entry = cache_find(cache, peer);

	if (entry == NULL)
		return NULL;
	if (SSL_SESSION_is_resumable(entry->session) != 1) {
		cache_drop(cache, entry);
		return NULL;
	}
	TAILQ_REMOVE(&cache->ages, entry, age);
	TAILQ_INSERT_TAIL(&cache->ages, entry, age);
	return entry->session;
}

size_t
session_cache_count(const struct session_cache *cache)
{
	return cache->count;
}
