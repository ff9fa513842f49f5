#include "gateway/net/resolve.h"

#include "gateway/net/hosts.h"
#include "gateway/net/lookup.h"
#include "gateway/net/nameservers.h"
#include "gateway/net/wait.h"
#include "schema/address.h"
#include "schema/hostname.h"
#include "schema/limits.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <assert.h>
#include <event2/event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

/*
 * One name has one entry, which is asked for or known.  Those who wait for it
 * hang on it.  A known entry has a timer that ends it, so the time is never
 * looked at.  Asking is two lookups, one a family.
 */

#define BUCKETS 1024
static_assert((BUCKETS & (BUCKETS - 1)) == 0, "a bucket is a mask away");

enum family {
	FAMILY_V6,
	FAMILY_V4,
	FAMILY_COUNT
};

struct known {
	int status;
	size_t count;
	struct address list[LIMIT_ADDRESSES];
};

/* One family of an entry that is asked for. */
struct query {
	struct entry *entry;
	struct lookup *lookup; /* NULL when it is answered */
	enum family family;
};

struct resolve {
	LIST_ENTRY(resolve) link; /* of its entry, or of those being told */
	resolve_call *on_resolved;
	void *arg;
	struct event *soon; /* when the answer was known already */
	struct known known; /* and that answer */
};

LIST_HEAD(resolve_list, resolve);

struct entry {
	TAILQ_ENTRY(entry) age;
	LIST_ENTRY(entry) bucket;
	struct resolver *resolver;
	struct hostname name;
	struct event *timer; /* gives up, or forgets */
	struct query query[FAMILY_COUNT];
	struct resolve_list waiting;
	bool asking, telling;
	uint32_t ttl;
	struct known known;
};

struct resolver {
	struct event_base *base;
	struct nameservers servers;
	struct hosts *hosts;
	uint64_t seed;
	size_t count, asking;
	TAILQ_HEAD(, entry) ages; /* longest unused first */
	LIST_HEAD(, entry) buckets[BUCKETS];
	struct resolve_list soon;
};

/* Names come from the sandbox: they must not be able to choose a bucket. */
static size_t
resolver_bucket(const struct resolver *resolver, const struct hostname *name)
{
	uint64_t hash = resolver->seed ^ 0xcbf29ce484222325U;

	for (size_t i = 0; i < name->length; i++)
		hash = (hash ^ (uint8_t)name->text[i]) * 0x100000001b3U;
	hash ^= hash >> 32;
	return (size_t)(hash & (BUCKETS - 1));
}

static struct entry *
resolver_find(struct resolver *resolver, const struct hostname *name)
{
	struct entry *entry;
	size_t bucket = resolver_bucket(resolver, name);

	LIST_FOREACH(entry, &resolver->buckets[bucket], bucket) {
		if (hostname_equals(&entry->name, name))
			return entry;
	}
	return NULL;
}

static void
entry_stop_asking(struct entry *entry)
{
	for (int i = 0; i < FAMILY_COUNT; i++)
		lookup_cancel(STEAL(entry->query[i].lookup));
	if (entry->asking)
		entry->resolver->asking--;
	entry->asking = false;
}

static void
resolve_free(struct resolve *resolve)
{
	LIST_REMOVE(resolve, link);
	if (resolve->soon != NULL)
		event_free(resolve->soon);
	free(resolve);
}

static void
resolve_list_free(struct resolve_list *list)
{
	while (!LIST_EMPTY(list))
		resolve_free(LIST_FIRST(list));
}

static void
entry_free(struct entry *entry)
{
	entry_stop_asking(entry);
	resolve_list_free(&entry->waiting);
	TAILQ_REMOVE(&entry->resolver->ages, entry, age);
	LIST_REMOVE(entry, bucket);
	entry->resolver->count--;
	if (entry->timer != NULL)
		event_free(entry->timer);
	free(entry);
}

static void
entry_set_timer(struct entry *entry, unsigned ms)
{
	const struct timeval wait = wait_ms(ms);

	/* Changing a timer that has its place takes no memory. */
	(void)event_add(entry->timer, &wait);
}

static void
resolve_tell(struct resolve *resolve, const struct known *known)
{
	resolve_call *on_resolved = resolve->on_resolved;
	void *arg = resolve->arg;

	resolve_free(resolve);
	on_resolved(known->list, known->count, known->status, arg);
}

/* The answer is known: everybody hears it, and the cache keeps it or not. */
static void
entry_settle(struct entry *entry)
{
	const struct known known = entry->known;

	entry_stop_asking(entry);
	/* Being told, a caller may ask for other names, or cancel others. */
	entry->telling = true;
	while (!LIST_EMPTY(&entry->waiting))
		resolve_tell(LIST_FIRST(&entry->waiting), &known);
	entry->telling = false;
	if (known.status == STATUS_OK)
		entry_set_timer(entry, entry->ttl * 1000);
	else if (known.status == STATUS_NOT_FOUND)
		entry_set_timer(entry, LIMIT_NEGATIVE_S * 1000);
	else
		entry_free(entry);
}

static void
on_entry_timer(evutil_socket_t fd, short what, void *arg)
{
	struct entry *entry = arg;

	(void)fd;
	(void)what;
	if (!entry->asking) {
		entry_free(entry);
		return;
	}
	/* Either the slower family had its time, or nobody answered. */
	if (entry->known.count == 0)
		entry->known.status = STATUS_TIMEOUT;
	entry_settle(entry);
}

static void
entry_add(struct entry *entry, const struct reply *reply)
{
	struct known *known = &entry->known;

	memcpy(known->list + known->count, reply->list,
	    reply->count * sizeof(reply->list[0]));
	known->count += reply->count;
	known->status = STATUS_OK;
	if (reply->ttl < entry->ttl)
		entry->ttl = reply->ttl == 0 ? 1 : reply->ttl;
}

/*
 * Failures weigh: "does not exist" of one family does not hide that the other
 * could not be asked.
 */
static void
on_reply(const struct reply *reply, void *arg)
{
	struct query *query = arg;
	struct entry *entry = query->entry;

	query->lookup = NULL;
	if (reply->status == STATUS_OK)
		entry_add(entry, reply);
	else if (entry->known.status == STATUS_NOT_FOUND)
		entry->known.status = reply->status;
	if (entry->query[FAMILY_V4].lookup == NULL &&
	    entry->query[FAMILY_V6].lookup == NULL)
		entry_settle(entry);
	else if (entry->known.count > 0)
		entry_set_timer(entry, LIMIT_FAMILY_MS);
}

static int
entry_query(struct entry *entry, enum family family)
{
	struct query *query = &entry->query[family];
	struct reply_question question = { .name = entry->name,
		.type = family == FAMILY_V4 ? REPLY_V4 : REPLY_V6 };
	struct resolver *resolver = entry->resolver;

	query->family = family;
	query->entry = entry;
	query->lookup = lookup_start(
	    resolver->base, &resolver->servers, &question, on_reply, query);
	return query->lookup == NULL ? STATUS_NO_MEMORY : STATUS_OK;
}

/* The one not used for longest goes, unless somebody waits for it. */
static int
resolver_make_room(struct resolver *resolver)
{
	struct entry *entry;

	if (resolver->count < LIMIT_RESOLVED)
		return STATUS_OK;
	TAILQ_FOREACH(entry, &resolver->ages, age) {
		if (!entry->asking && !entry->telling) {
			entry_free(entry);
			return STATUS_OK;
		}
	}
	return STATUS_FULL;
}

static struct entry *
entry_new(struct resolver *resolver, const struct hostname *name)
{
	struct entry *entry = calloc(1, sizeof(*entry));
	size_t bucket = resolver_bucket(resolver, name);

	if (entry == NULL)
		return NULL;
	entry->resolver = resolver;
	entry->name = *name;
	entry->known.status = STATUS_NOT_FOUND;
	entry->ttl = LIMIT_TTL_S;
	LIST_INIT(&entry->waiting);
	entry->timer = event_new(resolver->base, -1, 0, on_entry_timer, entry);
	TAILQ_INSERT_TAIL(&resolver->ages, entry, age);
	LIST_INSERT_HEAD(&resolver->buckets[bucket], entry, bucket);
	resolver->count++;
	if (entry->timer == NULL) {
		entry_free(entry);
		return NULL;
	}
	return entry;
}

static struct entry *
entry_ask(struct resolver *resolver, const struct hostname *name)
{
	struct entry *entry;

	if (resolver->asking >= LIMIT_RESOLVING ||
	    resolver_make_room(resolver) != STATUS_OK)
		return NULL;
	entry = entry_new(resolver, name);
	if (entry == NULL)
		return NULL;
	entry->asking = true;
	resolver->asking++;
	entry_set_timer(entry, LIMIT_RESOLVE_MS);
	if (!event_pending(entry->timer, EV_TIMEOUT, NULL) ||
	    entry_query(entry, FAMILY_V6) != STATUS_OK ||
	    entry_query(entry, FAMILY_V4) != STATUS_OK) {
		entry_free(entry);
		return NULL;
	}
	return entry;
}

/* RFC 6761 section 6.3. */
static bool
name_is_localhost(const struct hostname *name)
{
	static const struct hostname localhost = { 9, "localhost" };

	return hostname_equals(name, &localhost) ||
	       hostname_is_below(name, &localhost);
}

static bool
resolver_lookup(
    struct resolver *resolver, const struct hostname *name, struct known *ret)
{
	static const struct address loopback[] = { { 16, { [15] = 1 } },
		{ 4, { 127, 0, 0, 1 } } };
	struct entry *entry;
	size_t fixed;

	if (name_is_localhost(name)) {
		ret->status = STATUS_OK;
		ret->count = FAMILY_COUNT;
		memcpy(ret->list, loopback, sizeof(loopback));
		return true;
	}
	fixed = hosts_find(resolver->hosts, name, ret->list, LIMIT_ADDRESSES);
	if (fixed > 0) {
		ret->status = STATUS_OK;
		ret->count = fixed;
		return true;
	}
	entry = resolver_find(resolver, name);
	if (entry == NULL || entry->asking)
		return false;
	TAILQ_REMOVE(&resolver->ages, entry, age);
	TAILQ_INSERT_TAIL(&resolver->ages, entry, age);
	*ret = entry->known;
	return true;
}

bool
resolver_knows(struct resolver *resolver, const struct hostname *name,
    struct address *ret_list, size_t *ret_count)
{
	struct known known;

	if (!resolver_lookup(resolver, name, &known))
		return false;
	memcpy(ret_list, known.list, known.count * sizeof(known.list[0]));
	*ret_count = known.count;
	return true;
}

static void
on_soon(evutil_socket_t fd, short what, void *arg)
{
	struct resolve *resolve = arg;
	const struct known known = resolve->known;

	(void)fd;
	(void)what;
	resolve_tell(resolve, &known);
}

/* Hangs resolve where its answer will come from. */
static int
resolve_begin(struct resolve *resolve, struct resolver *resolver,
    const struct hostname *name)
{
	struct entry *entry;

	if (resolver_lookup(resolver, name, &resolve->known)) {
		resolve->soon =
		    event_new(resolver->base, -1, 0, on_soon, resolve);
		if (resolve->soon == NULL)
			return STATUS_NO_MEMORY;
		LIST_INSERT_HEAD(&resolver->soon, resolve, link);
		event_active(resolve->soon, EV_TIMEOUT, 0);
		return STATUS_OK;
	}
	entry = resolver_find(resolver, name);
	if (entry == NULL)
		entry = entry_ask(resolver, name);
	if (entry == NULL)
		return STATUS_FULL;
	LIST_INSERT_HEAD(&entry->waiting, resolve, link);
	return STATUS_OK;
}

struct resolve *
resolve_start(struct resolver *resolver, const struct hostname *name,
    resolve_call *on_resolved, void *arg)
{
	struct resolve *resolve = calloc(1, sizeof(*resolve));

	if (resolve == NULL)
		return NULL;
	resolve->on_resolved = on_resolved;
	resolve->arg = arg;
	if (resolve_begin(resolve, resolver, name) != STATUS_OK) {
		free(resolve);
		return NULL;
	}
	return resolve;
}

void
resolve_cancel(struct resolve *resolve)
{
	if (resolve != NULL)
		resolve_free(resolve);
}

struct resolver *
resolver_new(struct event_base *base, const char *resolv_conf,
    const char *hosts, struct problem *reterr)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));

	if (resolver == NULL) {
		(void)problem_set(reterr, "no memory for a resolver");
		return NULL;
	}
	resolver->base = base;
	TAILQ_INIT(&resolver->ages);
	LIST_INIT(&resolver->soon);
	if (getrandom(&resolver->seed, sizeof(resolver->seed), 0) !=
	    sizeof(resolver->seed)) {
		(void)problem_errno(reterr, "no randomness for a resolver");
		goto fail;
	}
	if (nameservers_read(
		resolv_conf == NULL ? "/etc/resolv.conf" : resolv_conf,
		&resolver->servers, reterr) != STATUS_OK)
		goto fail;
	resolver->hosts =
	    hosts_read(hosts == NULL ? "/etc/hosts" : hosts, reterr);
	if (resolver->hosts == NULL)
		goto fail;
	return resolver;
fail:
	resolver_free(resolver);
	return NULL;
}

void
resolver_free(struct resolver *resolver)
{
	if (resolver == NULL)
		return;
	while (!TAILQ_EMPTY(&resolver->ages))
		entry_free(TAILQ_FIRST(&resolver->ages));
	resolve_list_free(&resolver->soon);
	hosts_free(resolver->hosts);
	free(resolver);
}
