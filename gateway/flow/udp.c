#include "gateway/flow/udp.h"

#include "gateway/dns/names.h"
#include "gateway/flow/aim.h"
#include "gateway/flow/caller.h"
#include "gateway/flow/dialing.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/forge.h"
#include "gateway/flow/judge.h"
#include "gateway/flow/record.h"
#include "gateway/flow/shuttle.h"
#include "gateway/flow/table.h"
#include "gateway/net/datagram.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/fd.h"
#include "gateway/run/fold.h"
#include "schema/problem.h"

#include <stdlib.h>
#include <string.h>

/* Of LIMIT_UDP_FLOWS: four in one, when there are as many as may be. */
enum {
	BUCKETS = 256,
	DOORS = 2
};

struct udp {
	struct plane *plane;
	struct datagram *doors[DOORS];
	struct forge forge;
	struct fold *fold; /* of refusals */
	size_t count;
	LIST_HEAD(, shuttle) buckets[BUCKETS];
};

/* ---- which flow ---- */

static uint64_t
mix(uint64_t hash, const struct endpoint *end)
{
	for (size_t i = 0; i < end->address.length; i++)
		hash = (hash ^ end->address.bytes[i]) * 0x100000001b3;
	return (hash ^ end->port) * 0x100000001b3;
}

/* The sandbox can only slow itself down with collisions. */
static size_t
bucket_of(const struct endpoint *from, const struct endpoint *wanted)
{
	uint64_t hash = mix(mix(0xcbf29ce484222325, from), wanted);

	return (size_t)(hash ^ hash >> 32) % BUCKETS;
}

static struct shuttle *
find(
    struct udp *udp, const struct endpoint *from, const struct endpoint *wanted)
{
	struct shuttle *shuttle;

	LIST_FOREACH(shuttle, &udp->buckets[bucket_of(from, wanted)], next)
		if (endpoint_equals(&shuttle->flow->from, from) &&
		    endpoint_equals(&shuttle->flow->wanted, wanted))
			return shuttle;
	return NULL;
}

/* ---- refusals ---- */

static void
record_sums(struct udp *udp, int64_t now_us)
{
	struct fold_sum sum;

	while (fold_take(udp->fold, now_us, &sum))
		record_sum(udp->plane, &sum);
}

/* Whether a refusal has a row of its own; *ret tells of it alone. */
static bool
admits(struct udp *udp, const struct endpoint *wanted, enum reason reason,
    struct fold_sum *ret)
{
	const struct hostname *name =
	    names_find(udp->plane->names, &wanted->address);
	struct fold_sum sum = { .number = wanted->port,
		.address = wanted->address,
		.reason = reason,
		.count = 1 };
	struct fold_item item = { .number = wanted->port,
		.address = wanted->address,
		.reason = reason };
	int64_t now_us = clock_monotonic_us();

	/* The address of a name is one of ours, and leads nowhere. */
	if (name != NULL) {
		sum.address = item.address = (struct address){ 0 };
		memcpy(sum.what, name->text, name->length);
	} else {
		address_print(&wanted->address, sum.what);
	}
	item.what = item.zone = cursor_of_text(sum.what);
	*ret = sum;
	record_sums(udp, now_us);
	return fold_admits(udp->fold, &item, now_us);
}

/* Too many flows: this datagram gets none. */
static void
turn_away(
    struct udp *udp, const struct endpoint *from, const struct endpoint *wanted)
{
	struct fold_sum sum;

	forge_refuse(&udp->forge, from, wanted, 0);
	if (admits(udp, wanted, REASON_OVERLOAD, &sum))
		record_sum(udp->plane, &sum);
}

/* ---- the states of a flow ---- */

/* Nothing: caller_ask() ends it. */
static void
accepted_enter(struct flow *flow)
{
	(void)flow;
}

static void
refusing_enter(struct flow *flow)
{
	struct fold_sum sum;

	shuttle_refuse(flow->shuttle);
	flow->counted = !flow->opened && !admits(flow->plane->udp,
					     &flow->wanted, flow->reason, &sum);
	flow_close(flow, flow->reason);
}

static void
closing_enter(struct flow *flow)
{
	/* Nobody says that there will be no more: it is over with the run. */
	if (flow->tunneled && flow->reason == REASON_STOPPING)
		flow->reason = REASON_NONE;
	record_end(flow);
	LIST_REMOVE(flow->shuttle, next);
	flow->plane->udp->count--;
	flow_enter(flow, FLOW_CLOSED);
}

static void
closed_enter(struct flow *flow)
{
	table_drop(flow->plane->table, flow);
}

/* At the end of the tick, when the flow goes. */
static void
closed_leave(struct flow *flow)
{
	shuttle_free(STEAL(flow->shuttle));
}

#define MAY(state) (1U << FLOW_##state)

static const struct flow_row rows[FLOW_STATE_COUNT] = {
	[FLOW_ACCEPTED] = { .name = "accepted",
	    .enter = accepted_enter,
	    .leave = caller_forget,
	    .late = FLOW_JUDGING,
	    .followers = MAY(JUDGING) | MAY(CLOSING) },
	[FLOW_JUDGING] = { .name = "judging",
	    .enter = judge_enter,
	    .followers = MAY(DIALING) | MAY(REFUSING) | MAY(CLOSING) },
	[FLOW_DIALING] = { .name = "dialing",
	    .enter = dialing_enter,
	    .leave = dialing_leave,
	    .judge_again = judge_again,
	    .deadline_ms = LIMIT_RESOLVE_MS + LIMIT_DIAL_MS,
	    .late = FLOW_REFUSING,
	    .late_reason = REASON_UPSTREAM_TIMEOUT,
	    .followers = MAY(TUNNELING) | MAY(REFUSING) | MAY(CLOSING) },
	[FLOW_TUNNELING] = { .name = "tunneling",
	    .enter = shuttle_enter,
	    .leave = shuttle_leave,
	    .judge_again = judge_again,
	    .deadline_ms = LIMIT_UDP_IDLE_MS,
	    .late = FLOW_CLOSING,
	    .followers = MAY(CLOSING) },
	[FLOW_REFUSING] = { .name = "refusing",
	    .enter = refusing_enter,
	    .followers = MAY(CLOSING) },
	[FLOW_CLOSING] = { .name = "closing",
	    .enter = closing_enter,
	    .followers = MAY(CLOSED) },
	[FLOW_CLOSED] = { .name = "closed",
	    .enter = closed_enter,
	    .leave = closed_leave },
};

/* ---- datagrams ---- */

static struct flow *
begin_flow(
    struct udp *udp, const struct endpoint *from, const struct endpoint *wanted)
{
	struct flow *flow = flow_new(udp->plane, rows, -1, wanted, from);

	if (flow == NULL)
		return NULL;
	flow->shuttle = shuttle_new(flow, &udp->forge);
	if (flow->shuttle == NULL) {
		flow_free(flow);
		return NULL;
	}
	flow->datagrams = true;
	/* There is nothing to wait for: a datagram owes no protocol. */
	flow->sniffed = true;
	flow->protocol = SNIFF_OTHER;
	aim_by_address(flow);
	/* What we answer ourselves is asked for over TCP. */
	flow->role = FLOW_WORLD;
	flow->own_leg = NULL;
	LIST_INSERT_HEAD(
	    &udp->buckets[bucket_of(from, wanted)], flow->shuttle, next);
	udp->count++;
	table_add(udp->plane->table, flow);
	return flow;
}

static void
on_message(struct cursor bytes, const struct endpoint *from,
    const struct endpoint *wanted, void *arg)
{
	struct udp *udp = arg;
	struct shuttle *shuttle = find(udp, from, wanted);
	struct flow *flow = NULL;

	if (shuttle != NULL) {
		shuttle_take(shuttle, bytes);
		return;
	}
	if (udp->count < LIMIT_UDP_FLOWS && table_has_room(udp->plane->table))
		flow = begin_flow(udp, from, wanted);
	if (flow == NULL) {
		turn_away(udp, from, wanted);
		return;
	}
	shuttle_take(flow->shuttle, bytes);
	caller_ask(flow);
}

static bool
open_doors(struct udp *udp, struct udp_doors *doors)
{
	struct event_base *base = loop_base(udp->plane->loop);

	udp->doors[0] =
	    datagram_new(base, doors->any4, LIMIT_DATAGRAM, on_message, udp);
	if (udp->doors[0] == NULL)
		return false;
	doors->any4 = -1;
	udp->doors[1] =
	    datagram_new(base, doors->any6, LIMIT_DATAGRAM, on_message, udp);
	if (udp->doors[1] == NULL)
		return false;
	doors->any6 = -1;
	return true;
}

struct udp *
udp_new(
    struct plane *plane, const struct udp_doors *doors, struct problem *reterr)
{
	struct udp_doors left = { .any4 = doors->any4,
		.any6 = doors->any6,
		.raw4 = doors->raw4,
		.raw6 = doors->raw6 };
	struct udp *udp = calloc(1, sizeof(*udp));

	if (udp == NULL)
		goto fail;
	udp->plane = plane;
	udp->forge = (struct forge){ left.raw4, left.raw6 };
	left.raw4 = left.raw6 = -1;
	udp->fold = fold_new();
	if (udp->fold == NULL || !open_doors(udp, &left))
		goto fail;
	return udp;
fail:
	(void)problem_errno(reterr, "cannot take the sandbox's datagrams");
	fd_done(&left.any4);
	fd_done(&left.any6);
	fd_done(&left.raw4);
	fd_done(&left.raw6);
	udp_free(udp);
	return NULL;
}

void
udp_stop(struct udp *udp)
{
	if (udp == NULL)
		return;
	for (size_t i = 0; i < DOORS; i++)
		datagram_free(STEAL(udp->doors[i]));
	record_sums(udp, INT64_MAX);
}

void
udp_free(struct udp *udp)
{
	if (udp == NULL)
		return;
	for (size_t i = 0; i < DOORS; i++)
		datagram_free(udp->doors[i]);
	forge_done(&udp->forge);
	fold_free(udp->fold);
	free(udp);
}
