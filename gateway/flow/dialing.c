#include "gateway/flow/dialing.h"

#include "gateway/flow/carriers.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/judge.h"
#include "gateway/flow/record.h"
#include "gateway/flow/supply.h"
#include "gateway/flow/upstream.h"
#include "gateway/proc/log.h"
#include "gateway/run/run.h"
#include "policy/stack.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>

struct dialing {
	struct flow *flow;
	struct upstream *upstream;
	struct sink_wait row;
	bool waits_for_row, connected;
	enum reason failed; /* instead of connected */
};

/* TLS that is not passed on unread is joined to TLS of our own. */
static bool
is_intercepted(const struct flow *flow)
{
	return flow->sniffed && flow->protocol == SNIFF_TLS &&
	       flow->verdict.tls == VERDICT_TLS_INSPECT;
}

static void
go_on(struct dialing *dialing)
{
	struct flow *flow = dialing->flow;

	if (dialing->waits_for_row)
		return;
	if (dialing->failed != REASON_NONE) {
		flow_refuse(flow, dialing->failed);
		return;
	}
	if (!dialing->connected)
		return;
	flow_enter(
	    flow, is_intercepted(flow) ? FLOW_INTERCEPTING : FLOW_TUNNELING);
}

static void
on_accepted(struct sink_wait *wait, int64_t seq)
{
	struct dialing *dialing =
	    (struct dialing *)((char *)wait - offsetof(struct dialing, row));

	dialing->waits_for_row = false;
	if (seq == 0) {
		flow_refuse(dialing->flow, REASON_AUDIT_UNAVAILABLE);
		return;
	}
	dialing->flow->open_seq = seq;
	go_on(dialing);
}

static enum upstream_kind
kind_of(const struct flow *flow)
{
	if (flow->datagrams)
		return UPSTREAM_DATAGRAMS;
	return is_intercepted(flow) ? upstream_kind(flow, false)
				    : UPSTREAM_CLEAR;
}

/* For the requests to come. */
static void
keep(struct dialing *dialing, const struct upstream_result *result)
{
	struct flow *flow = dialing->flow;
	struct carrier *carrier = supply_take(flow, result);

	if (carrier == NULL) {
		dialing->failed = REASON_OVERLOAD;
		return;
	}
	flow->reaches_h2 = carrier->version == MESSAGE_HTTP_2;
	carriers_rest(carrier);
}

/* One that is there already will do. */
static bool
reserve(struct dialing *dialing)
{
	struct flow *flow = dialing->flow;
	struct carrier *carrier;

	if (!is_intercepted(flow))
		return false;
	carrier = supply_reserve(flow);
	if (carrier == NULL)
		return false;
	flow->reaches_h2 = carrier->version == MESSAGE_HTTP_2;
	dialing->connected = true;
	return true;
}

/*
 * A server that wants a certificate from everybody does not talk to us before
 * a request is here whose rule names one.  Then its requests are told what is
 * wrong, should it have been something else.
 */
static bool
may_want_certificate(const struct flow *flow, enum reason reason)
{
	struct facts facts = judge_facts(flow);
	struct stack_settings settings;

	if (!is_intercepted(flow) || flow->plane->grants == NULL ||
	    (reason != REASON_UPSTREAM_TLS && reason != REASON_UPSTREAM_RESET))
		return false;
	stack_settings(flow->plane->run->stack, &facts, &settings);
	return settings.may_lend;
}

static void
on_connected(const struct upstream_result *result, void *arg)
{
	struct dialing *dialing = arg;
	struct flow *flow = dialing->flow;

	dialing->upstream = NULL;
	flow->upstream = result->to;
	if (may_want_certificate(flow, result->reason)) {
		dialing->connected = true;
		go_on(dialing);
		return;
	}
	if (result->reason != REASON_NONE) {
		if (snprintf(flow->cause, sizeof(flow->cause), "%s",
			result->cause) < 0)
			flow->cause[0] = '\0';
		dialing->failed = result->reason;
		go_on(dialing);
		return;
	}
	if (is_intercepted(flow))
		keep(dialing, result);
	else
		flow->outside_fd = result->fd;
	dialing->connected = true;
	go_on(dialing);
}

void
dialing_enter(struct flow *flow)
{
	struct dialing *dialing = calloc(1, sizeof(*dialing));
	struct upstream_wish wish = { .badge = NULL };

	if (dialing == NULL) {
		flow_refuse(flow, REASON_OVERLOAD);
		return;
	}
	dialing->flow = flow;
	dialing->row.on_accepted = on_accepted;
	flow->dialing = dialing;
	if (!sink_is_open(flow->plane->sink) ||
	    record_open(flow, &dialing->row) != STATUS_OK) {
		flow_refuse(flow, REASON_AUDIT_UNAVAILABLE);
		return;
	}
	dialing->waits_for_row = true;
	if (reserve(dialing))
		return;
	wish.kind = kind_of(flow);
	dialing->upstream =
	    upstream_connect(flow, &wish, on_connected, dialing);
	if (dialing->upstream == NULL)
		flow_refuse(flow, REASON_OVERLOAD);
}

void
dialing_leave(struct flow *flow)
{
	struct dialing *dialing = flow->dialing;

	if (dialing == NULL)
		return;
	upstream_cancel(dialing->upstream);
	if (dialing->waits_for_row)
		sink_forget(flow->plane->sink, &dialing->row);
	free(dialing);
	flow->dialing = NULL;
}
