#include "gateway/flow/carriers.h"

#include "gateway/flow/flow.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/loop.h"
#include "gateway/tls/stream.h"
#include "schema/cursor.h"
#include "schema/limits.h"

#include <event2/event.h>
#include <malloc.h>
#include <stdlib.h>

/* So many idle connections are some memory: half a MiB. */
#define MANY 32

TAILQ_HEAD(carrier_list, carrier);

struct carriers {
	struct plane *plane;
	const struct carriers_makers *makers;
	struct carrier_list all;
	/* Those that rest, the longest first: anybody's, and the held ones. */
	struct carrier_list loose, held;
	size_t loose_count;
	struct event *idle;
	bool idle_waits;
	struct loop_deferred trimming;
};

static void
wait_for_idle(struct carriers *carriers)
{
	static const struct timeval wait = { .tv_sec =
						 LIMIT_CARRIER_IDLE_MS / 1000 };

	if (carriers->idle_waits ||
	    (TAILQ_EMPTY(&carriers->loose) && TAILQ_EMPTY(&carriers->held)))
		return;
	/* It cannot fail: the event exists and timers need no descriptor. */
	carriers->idle_waits = event_add(carriers->idle, &wait) == 0;
}

/* How many were dropped. */
static size_t
drop_older(struct carrier_list *list, int64_t since_us)
{
	struct carrier *carrier;
	size_t count = 0;

	while ((carrier = TAILQ_FIRST(list)) != NULL &&
	       carrier->since_us <= since_us) {
		carriers_drop(carrier);
		count++;
	}
	return count;
}

/*
 * What they held lies between what idle clients hold, so the allocator keeps
 * it.  Giving it back takes milliseconds, seldom, and when nobody waits.
 */
static void
on_trimming(void *arg)
{
	(void)arg;
	(void)malloc_trim(0);
}

static void
on_idle(evutil_socket_t fd, short what, void *arg)
{
	struct carriers *carriers = arg;
	int64_t limit =
	    clock_monotonic_us() - LIMIT_CARRIER_IDLE_MS * INT64_C(1000);

	(void)fd;
	(void)what;
	carriers->idle_waits = false;
	/* They are freed at the end of the tick, and this is put off behind. */
	if (drop_older(&carriers->loose, limit) +
		drop_older(&carriers->held, limit) >=
	    MANY)
		loop_defer(carriers->plane->loop, &carriers->trimming);
	wait_for_idle(carriers);
}

struct carriers *
carriers_new(struct plane *plane, const struct carriers_makers *makers)
{
	struct carriers *carriers = calloc(1, sizeof(*carriers));

	if (carriers == NULL)
		return NULL;
	carriers->plane = plane;
	carriers->makers = makers;
	carriers->trimming.call = on_trimming;
	TAILQ_INIT(&carriers->all);
	TAILQ_INIT(&carriers->loose);
	TAILQ_INIT(&carriers->held);
	carriers->idle =
	    event_new(loop_base(plane->loop), -1, 0, on_idle, carriers);
	if (carriers->idle == NULL) {
		free(carriers);
		return NULL;
	}
	return carriers;
}

void
carriers_free(struct carriers *carriers)
{
	struct carrier *carrier;

	if (carriers == NULL)
		return;
	while ((carrier = TAILQ_FIRST(&carriers->all)) != NULL)
		carriers_drop(carrier);
	loop_settle(carriers->plane->loop);
	loop_undefer(carriers->plane->loop, &carriers->trimming);
	event_free(carriers->idle);
	free(carriers);
}

struct carrier *
carriers_add(struct carriers *carriers, const struct carrier_key *key,
    struct stream *stream, const struct endpoint *to)
{
	bool http2 = key->clear_h2 || cursor_equals(stream_alpn(stream), "h2");
	carrier_make *make =
	    http2 ? carriers->makers->http2 : carriers->makers->http1;
	struct carrier *carrier = make(carriers->plane, stream);

	if (carrier == NULL)
		return NULL;
	carrier->carriers = carriers;
	carrier->key = *key;
	carrier->to = *to;
	/* Those that many share stand in front, where they are looked for. */
	if (carrier->version == MESSAGE_HTTP_2)
		TAILQ_INSERT_HEAD(&carriers->all, carrier, next);
	else
		TAILQ_INSERT_TAIL(&carriers->all, carrier, next);
	return carrier;
}

static bool
matches(const struct carrier_key *a, const struct carrier_key *b)
{
	return a->port == b->port && a->trust == b->trust &&
	       a->clear_h2 == b->clear_h2 &&
	       hostname_equals(&a->name, &b->name) &&
	       badge_equals(&a->badge, &b->badge) &&
	       address_equals(&a->literal, &b->literal);
}

static bool
may_serve(const struct carrier *carrier, const struct carrier_key *key,
    const struct flow *flow, enum carrier_need need)
{
	if (carrier->retired ||
	    (carrier->holder != NULL && carrier->holder != flow))
		return false;
	if (need != CARRIER_ANY && carrier->version == MESSAGE_HTTP_2 &&
	    (need == CARRIER_HTTP1 || !carrier->ops->takes_connect(carrier)))
		return false;
	return matches(&carrier->key, key);
}

struct carrier *
carriers_find(struct carriers *carriers, const struct carrier_key *key,
    const struct flow *flow, enum carrier_need need)
{
	struct carrier *carrier = flow->carrier;

	if (carrier != NULL && carrier->resting &&
	    may_serve(carrier, key, flow, need))
		return carrier;
	TAILQ_FOREACH(carrier, &carriers->all, next) {
		if (carrier->version != MESSAGE_HTTP_2)
			break;
		if (may_serve(carrier, key, flow, need) &&
		    carrier->ops->has_room(carrier))
			return carrier;
	}
	/* The one that has just been used is the least likely to be dead. */
	TAILQ_FOREACH_REVERSE(
	    carrier, &carriers->loose, carrier_list, next_resting)
	if (may_serve(carrier, key, flow, need))
		return carrier;
	return NULL;
}

struct carrier *
carriers_find_badged(struct carriers *carriers, const struct carrier_key *key)
{
	struct carrier *carrier;

	TAILQ_FOREACH(carrier, &carriers->all, next) {
		struct carrier_key badged = *key;

		badged.badge = carrier->key.badge;
		if (!carrier->retired && matches(&carrier->key, &badged))
			return carrier;
	}
	return NULL;
}

static void
unlist(struct carrier *carrier)
{
	struct carriers *carriers = carrier->carriers;

	if (carrier->holder != NULL) {
		TAILQ_REMOVE(&carriers->held, carrier, next_resting);
		return;
	}
	TAILQ_REMOVE(&carriers->loose, carrier, next_resting);
	carriers->loose_count--;
}

/* Those that are held go with their clients, which are counted. */
static void
list(struct carrier *carrier)
{
	struct carriers *carriers = carrier->carriers;

	carrier->since_us = clock_monotonic_us();
	if (carrier->holder != NULL) {
		TAILQ_INSERT_TAIL(&carriers->held, carrier, next_resting);
		wait_for_idle(carriers);
		return;
	}
	TAILQ_INSERT_TAIL(&carriers->loose, carrier, next_resting);
	wait_for_idle(carriers);
	if (++carriers->loose_count > LIMIT_CARRIERS)
		carriers_drop(TAILQ_FIRST(&carriers->loose));
}

void
carriers_hold(struct carrier *carrier, struct flow *flow)
{
	if (carrier->version == MESSAGE_HTTP_2 || flow->carrier == carrier)
		return;
	carriers_let_go(flow);
	/* Found while it rested with the others. */
	if (carrier->resting)
		unlist(carrier);
	carrier->holder = flow;
	flow->carrier = carrier;
	if (carrier->resting)
		list(carrier);
}

void
carriers_let_go(struct flow *flow)
{
	struct carrier *carrier = STEAL(flow->carrier);

	if (carrier == NULL)
		return;
	if (carrier->resting)
		unlist(carrier);
	carrier->holder = NULL;
	if (carrier->resting)
		list(carrier);
}

void
carriers_retire_all(struct carriers *carriers)
{
	struct carrier *carrier, *next;

	for (carrier = TAILQ_FIRST(&carriers->all); carrier != NULL;
	     carrier = next) {
		next = TAILQ_NEXT(carrier, next);
		carrier->retired = true;
		if (carrier->resting)
			carriers_drop(carrier);
	}
}

void
carriers_rest(struct carrier *carrier)
{
	if (carrier->resting)
		return;
	if (carrier->retired) {
		carriers_drop(carrier);
		return;
	}
	carrier->resting = true;
	list(carrier);
}

void
carriers_wake(struct carrier *carrier)
{
	if (!carrier->resting)
		return;
	unlist(carrier);
	carrier->resting = false;
}

void
carriers_drop(struct carrier *carrier)
{
	carriers_wake(carrier);
	if (carrier->holder != NULL)
		carrier->holder->carrier = NULL;
	carrier->holder = NULL;
	TAILQ_REMOVE(&carrier->carriers->all, carrier, next);
	carrier->ops->close(carrier);
}
