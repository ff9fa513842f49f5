#include "gateway/flow/supply.h"

#include "gateway/flow/carriers.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/grants.h"
#include "gateway/flow/judge.h"
#include "gateway/flow/leg.h"
#include "gateway/flow/trusts.h"
#include "gateway/flow/upstream.h"
#include "gateway/proto/request.h"
#include "gateway/run/run.h"
#include "gateway/tls/stream.h"
#include "policy/stack.h"
#include "schema/problem.h"

#include <unistd.h>

/* Which roots tell who answers; found once a flow, and again per policy. */
static const struct outside *
trust_of(struct flow *flow)
{
	struct facts facts = judge_facts(flow);
	struct stack_settings settings;
	struct problem problem = { 0 };

	if (flow->trust == NULL) {
		stack_settings(flow->plane->run->stack, &facts, &settings);
		flow->trust = trusts_get(
		    flow->plane->trusts, settings.upstream_ca, &problem);
	}
	return flow->trust;
}

/* False when nobody can tell who would have to answer. */
static bool
key_of(struct flow *flow, const struct badge *badge, struct carrier_key *ret)
{
	*ret = (struct carrier_key){ .port = flow->wanted.port,
		.badge = *badge,
		.clear_h2 = flow->protocol == SNIFF_HTTP2 };
	if (flow->by_name) {
		ret->name = flow->host;
	} else {
		ret->name = flow->hello.sni;
		ret->literal = flow->wanted.address;
	}
	if (flow->protocol == SNIFF_TLS)
		ret->trust = trust_of(flow);
	return flow->protocol != SNIFF_TLS || ret->trust != NULL;
}

/* An upgrade of HTTP/1.1 has no other form; one of HTTP/2 has both. */
static enum carrier_need
need_of(const struct request *request)
{
	if (request->upgrade.left == 0)
		return CARRIER_ANY;
	return request->version == MESSAGE_HTTP_2 ? CARRIER_SWITCH
						  : CARRIER_HTTP1;
}

/* One HTTP/1.1 client, one connection; streams take what there is. */
static void
hold(struct flow *flow, struct carrier *carrier)
{
	if (!flow->speaks_h2)
		carriers_hold(carrier, flow);
}

static struct leg *
find(
    struct flow *flow, const struct request *request, const struct badge *badge)
{
	struct carriers *carriers = flow->plane->carriers;
	struct carrier_key key;
	struct carrier *carrier;
	struct leg *leg;

	if (!key_of(flow, badge, &key))
		return NULL;
	/* One that proves dead is gone from the list. */
	while ((carrier = carriers_find(
		    carriers, &key, flow, need_of(request))) != NULL) {
		leg = carrier->ops->open(carrier, request);
		if (leg == NULL)
			continue;
		hold(flow, carrier);
		flow->upstream = leg->to;
		return leg;
	}
	return NULL;
}

struct leg *
supply_find(struct flow *flow, const struct request *request,
    const struct grants_loan *loan)
{
	struct badge badge = badge_of(loan);

	return find(flow, request, &badge);
}

static const struct badge no_badge;

struct carrier *
supply_reserve(struct flow *flow)
{
	struct carrier_key key;
	struct carrier *carrier;

	if (!key_of(flow, &no_badge, &key))
		return NULL;
	carrier = carriers_find(flow->plane->carriers, &key, flow, CARRIER_ANY);
	if (carrier == NULL)
		return carriers_find_badged(flow->plane->carriers, &key);
	hold(flow, carrier);
	flow->upstream = carrier->to;
	return carrier;
}

static struct carrier *
take(struct flow *flow, const struct upstream_result *result,
    const struct badge *badge)
{
	struct stream *stream = result->stream;
	struct carrier_key key;
	struct carrier *carrier;

	if (stream == NULL)
		stream = stream_new(result->fd, cursor_of(NULL, 0));
	if (stream == NULL) {
		(void)close(result->fd);
		return NULL;
	}
	if (!key_of(flow, badge, &key)) {
		stream_free(stream);
		return NULL;
	}
	carrier =
	    carriers_add(flow->plane->carriers, &key, stream, &result->to);
	if (carrier != NULL)
		hold(flow, carrier);
	return carrier;
}

struct carrier *
supply_take(struct flow *flow, const struct upstream_result *result)
{
	return take(flow, result, &no_badge);
}

static void
on_connected(const struct upstream_result *result, void *arg)
{
	struct supply *supply = arg;
	struct flow *flow = supply->flow;
	struct carrier *carrier;
	struct leg *leg = NULL;

	supply->connecting = NULL;
	flow->upstream = result->to;
	/*
	 * A server of HTTP/2 alone: when this was begun, the connection to it
	 * that is there may not have said yet that its streams can switch.
	 */
	if (result->reason != REASON_NONE &&
	    need_of(supply->request) == CARRIER_SWITCH)
		leg = find(flow, supply->request, &supply->badge);
	if (leg != NULL) {
		supply->on_done(supply, leg, REASON_NONE, "");
		return;
	}
	if (result->reason != REASON_NONE) {
		supply->on_done(supply, NULL, result->reason, result->cause);
		return;
	}
	carrier = take(flow, result, &supply->badge);
	if (carrier != NULL)
		leg = carrier->ops->open(carrier, supply->request);
	supply->on_done(
	    supply, leg, leg == NULL ? REASON_OVERLOAD : REASON_NONE, "");
}

bool
supply_connect(struct supply *supply, struct flow *flow,
    const struct request *request, const struct grants_loan *loan)
{
	struct upstream_wish wish = { .kind = upstream_kind(
					  flow, request->upgrade.left > 0),
		.badge = &supply->badge,
		.text = badge_text(loan) };

	supply->flow = flow;
	supply->request = request;
	supply->badge = badge_of(loan);
	supply->connecting =
	    upstream_connect(flow, &wish, on_connected, supply);
	return supply->connecting != NULL;
}

void
supply_cancel(struct supply *supply)
{
	upstream_cancel(STEAL(supply->connecting));
}
