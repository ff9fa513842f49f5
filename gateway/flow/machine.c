#include "gateway/flow/machine.h"

#include "gateway/flow/caller.h"
#include "gateway/flow/carriers.h"
#include "gateway/flow/classify.h"
#include "gateway/flow/dialing.h"
#include "gateway/flow/explicit.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/h1_client.h"
#include "gateway/flow/h1_server.h"
#include "gateway/flow/h2_client.h"
#include "gateway/flow/h2_server.h"
#include "gateway/flow/intercept.h"
#include "gateway/flow/judge.h"
#include "gateway/flow/record.h"
#include "gateway/flow/refuse.h"
#include "gateway/flow/table.h"
#include "gateway/flow/tunnel.h"
#include "schema/limits.h"

#include <assert.h>

#define MAY(state) (1U << FLOW_##state)

/* Nothing: a flow begins in it, and caller_ask() ends it. */
static void
accepted_enter(struct flow *flow)
{
	(void)flow;
}

static void
closing_enter(struct flow *flow)
{
	carriers_let_go(flow);
	record_end(flow);
	flow_enter(flow, FLOW_CLOSED);
}

static void
closed_enter(struct flow *flow)
{
	table_drop(flow->plane->table, flow);
}

/* In the version that its client speaks. */
static void
exchanging_enter(struct flow *flow)
{
	if (flow->speaks_h2)
		h2_server_enter(flow);
	else
		h1_server_enter(flow);
}

static void
exchanging_leave(struct flow *flow)
{
	h1_server_leave(flow);
	h2_server_leave(flow);
}

static void
exchanging_judge_again(struct flow *flow)
{
	if (flow->speaks_h2)
		h2_server_judge_again(flow);
	else
		h1_server_judge_again(flow);
}

static const struct flow_row rows[] = {
	[FLOW_ACCEPTED] = { .name = "accepted",
	    .enter = accepted_enter,
	    .leave = caller_forget,
	    /* Who asks is not known in time: it goes on without. */
	    .late = FLOW_JUDGING,
	    .followers = MAY(JUDGING) | MAY(CLOSING) },
	[FLOW_JUDGING] = { .name = "judging",
	    .enter = judge_enter,
	    .followers = MAY(PROXYING) | MAY(SNIFFING) | MAY(DIALING) |
			 MAY(EXCHANGING) | MAY(REFUSING) | MAY(CLOSING) },
	[FLOW_PROXYING] = { .name = "proxying",
	    .enter = explicit_enter,
	    .leave = explicit_leave,
	    .deadline_ms = LIMIT_HEAD_MS,
	    .late = FLOW_CLOSING,
	    .late_reason = REASON_CLIENT_TIMEOUT,
	    .followers = MAY(JUDGING) | MAY(REFUSING) | MAY(CLOSING) },
	[FLOW_SNIFFING] = { .name = "sniffing",
	    .enter = classify_enter,
	    .leave = classify_leave,
	    .deadline_ms = LIMIT_HEAD_MS,
	    .late = FLOW_REFUSING,
	    .late_reason = REASON_CLIENT_TIMEOUT,
	    .followers = MAY(JUDGING) | MAY(REFUSING) | MAY(CLOSING) },
	[FLOW_DIALING] = { .name = "dialing",
	    .enter = dialing_enter,
	    .leave = dialing_leave,
	    .judge_again = judge_again,
	    .deadline_ms = LIMIT_RESOLVE_MS + LIMIT_DIAL_MS + LIMIT_VIA_MS +
			   LIMIT_HANDSHAKE_MS,
	    .late = FLOW_REFUSING,
	    .late_reason = REASON_UPSTREAM_TIMEOUT,
	    .followers = MAY(TUNNELING) | MAY(INTERCEPTING) | MAY(REFUSING) |
			 MAY(CLOSING) },
	[FLOW_INTERCEPTING] = { .name = "intercepting",
	    .enter = intercept_enter,
	    .leave = intercept_leave,
	    .judge_again = judge_again,
	    .deadline_ms = LIMIT_HANDSHAKE_MS,
	    .late = FLOW_CLOSING,
	    .late_reason = REASON_CLIENT_TIMEOUT,
	    .followers = MAY(EXCHANGING) | MAY(CLOSING) },
	/* It sets its deadlines itself: between requests and within one. */
	[FLOW_EXCHANGING] = { .name = "exchanging",
	    .enter = exchanging_enter,
	    .leave = exchanging_leave,
	    .judge_again = exchanging_judge_again,
	    .late = FLOW_CLOSING,
	    .followers = MAY(CLOSING) },
	/* The pump has its own idle limit. */
	[FLOW_TUNNELING] = { .name = "tunneling",
	    .enter = tunnel_enter,
	    .leave = tunnel_leave,
	    .judge_again = judge_again,
	    .followers = MAY(CLOSING) },
	[FLOW_REFUSING] = { .name = "refusing",
	    .enter = refuse_enter,
	    .followers = MAY(INTERCEPTING) | MAY(EXCHANGING) | MAY(CLOSING) },
	[FLOW_CLOSING] = { .name = "closing",
	    .enter = closing_enter,
	    .followers = MAY(CLOSED) },
	[FLOW_CLOSED] = { .name = "closed", .enter = closed_enter },
};

static_assert(
    sizeof(rows) / sizeof(rows[0]) == FLOW_STATE_COUNT, "a row a state");

static const struct carriers_makers makers = { .http1 = h1_client_new,
	.http2 = h2_client_new };

const struct carriers_makers *
machine_makers(void)
{
	return &makers;
}

const struct flow_row *
machine_rows(void)
{
	return rows;
}
