#include "gateway/net/resolve.h"

#include "gateway/net/hosts.h"
#include "gateway/net/wait.h"
#include "schema/address.h"
#include "schema/hostname.h"
#include "schema/limits.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <assert.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/*
 * One name has one entry, which is asked for or known.  Those who wait for it
 * hang on it.  A known entry has a timer that ends it, so the time is never
 * looked at.  Asking is two queries, one a family; a query knows its entry
 * until the entry stops caring, and evdns ends every query sooner or later.
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

/* evdns calls back even for what was cancelled, so it holds this, not more. */
struct query {
	struct entry *entry; /* NULL: nobody wants to know */
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
	struct query *query[FAMILY_COUNT]; /* those still out */
	struct resolve_list waiting;
	bool asking, telling;
	uint32_t ttl;
	struct known known;
};

struct resolver {
	struct event_base *base;
	struct evdns_base *dns;
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

/* Its queries are answered to nobody from now on. */
static void
entry_stop_asking(struct entry *entry)
{
	for (int i = 0; i < FAMILY_COUNT; i++) {
		if (entry->query[i] != NULL)
			entry->query[i]->entry = NULL;
		entry->query[i] = NULL;
	}
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

static int
status_of_evdns(int error)
{
	switch (error) {
	case DNS_ERR_NONE:
	case DNS_ERR_NODATA:
	case DNS_ERR_NOTEXIST:
		return STATUS_NOT_FOUND;
	case DNS_ERR_TIMEOUT:
		return STATUS_TIMEOUT;
	default:
		return STATUS_SYSTEM;
	}
}

static void
entry_add(struct entry *entry, enum family family, const void *addresses,
    size_t count)
{
	const uint8_t *bytes = addresses;
	struct known *known = &entry->known;
	/* Half for either, so that neither crowds the other out. */
	const size_t most = LIMIT_ADDRESSES / FAMILY_COUNT;

	for (size_t i = 0; i < count && i < most; i++) {
		known->list[known->count++] = family == FAMILY_V4
						  ? address_v4(bytes + i * 4)
						  : address_v6(bytes + i * 16);
	}
}

/*
 * The signature is evdns's.  Failures weigh: "does not exist" of one family
 * does not hide that the other could not be asked.
 */
static void
on_answer(int error, char type, int count, int ttl, void *addresses, void *arg)
{
	struct query *query = arg;
	struct entry *entry = query->entry;
	enum family family = query->family;
	int status = status_of_evdns(error);

	(void)type;
	free(query);
	if (entry == NULL)
		return;
	entry->query[family] = NULL;
	if (error == DNS_ERR_NONE && count > 0) {
		entry_add(entry, family, addresses, (size_t)count);
		entry->known.status = STATUS_OK;
		if (ttl >= 0 && (uint32_t)ttl < entry->ttl)
			entry->ttl = ttl == 0 ? 1 : (uint32_t)ttl;
	} else if (entry->known.status == STATUS_NOT_FOUND) {
		entry->known.status = status;
	}
	if (entry->query[FAMILY_V4] == NULL && entry->query[FAMILY_V6] == NULL)
		entry_settle(entry);
	else if (entry->known.count > 0)
		entry_set_timer(entry, LIMIT_FAMILY_MS);
}

static int
entry_query(struct entry *entry, enum family family)
{
	struct query *query = calloc(1, sizeof(*query));
	struct evdns_base *dns = entry->resolver->dns;
	const char *name = entry->name.text;
	struct evdns_request *request;

	if (query == NULL)
		return STATUS_NO_MEMORY;
	query->family = family;
	query->entry = entry;
	request = family == FAMILY_V4
		      ? evdns_base_resolve_ipv4(
			    dns, name, DNS_QUERY_NO_SEARCH, on_answer, query)
		      : evdns_base_resolve_ipv6(
			    dns, name, DNS_QUERY_NO_SEARCH, on_answer, query);
	if (request == NULL) {
		free(query);
		return STATUS_NO_MEMORY;
	}
	entry->query[family] = query;
	return STATUS_OK;
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

/*
 * A nameserver that does not answer costs less than a second (and the next
 * question goes to another one at once); a question has time for four.
 */
static int
resolver_configure(struct resolver *resolver, const char *resolv_conf)
{
	static const char *const options[][2] = {
		{ "timeout:", "0.8" },
		{ "attempts:", "5" },
		{ "max-timeouts:", "1" },
		{ "initial-probe-timeout:", "2" },
		{ "max-inflight:", "512" },
		{ "randomize-case:", "1" },
	};
	struct evdns_base *dns = resolver->dns;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (evdns_base_set_option(dns, options[i][0], options[i][1]) !=
		    0)
			return STATUS_SYSTEM;
	}
	/* A missing or empty file leaves the machine itself as nameserver. */
	(void)evdns_base_resolv_conf_parse(
	    dns, DNS_OPTION_NAMESERVERS, resolv_conf);
	return evdns_base_count_nameservers(dns) > 0 ? STATUS_OK
						     : STATUS_NOT_FOUND;
}

struct resolver *
resolver_new(struct event_base *base, const char *resolv_conf,
    const char *hosts, struct problem *reterr)
{
	const char *servers =
	    resolv_conf == NULL ? "/etc/resolv.conf" : resolv_conf;
	struct resolver *resolver = calloc(1, sizeof(*resolver));

	if (resolver == NULL) {
		(void)problem_set(reterr, "no memory for a resolver");
		return NULL;
	}
	resolver->base = base;
	TAILQ_INIT(&resolver->ages);
	LIST_INIT(&resolver->soon);
	evutil_secure_rng_get_bytes(&resolver->seed, sizeof(resolver->seed));
	resolver->hosts =
	    hosts_read(hosts == NULL ? "/etc/hosts" : hosts, reterr);
	if (resolver->hosts == NULL)
		goto fail;
	resolver->dns = evdns_base_new(base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
	if (resolver->dns == NULL ||
	    resolver_configure(resolver, servers) != STATUS_OK) {
		(void)problem_set(
		    reterr, "cannot use the nameservers in %s", servers);
		goto fail;
	}
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
	/* Queries that are out are failed to nobody, in the next tick. */
	if (resolver->dns != NULL)
		evdns_base_free(resolver->dns, 1);
	hosts_free(resolver->hosts);
	free(resolver);
}
