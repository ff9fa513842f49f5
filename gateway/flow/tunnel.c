#include "gateway/flow/tunnel.h"

#include "gateway/flow/flow.h"
#include "gateway/net/pump.h"
#include "gateway/run/budget.h"
#include "schema/limits.h"

#include <stdlib.h>

static enum reason
reason_of(const struct pump_result *result)
{
	bool inside = result->side == PUMP_INSIDE;

	switch (result->end) {
	case PUMP_CLEAN:
		return REASON_NONE;
	case PUMP_RESET:
	case PUMP_FAILED:
		return inside ? REASON_CLIENT_ABORT : REASON_UPSTREAM_RESET;
	case PUMP_IDLE:
		return inside ? REASON_CLIENT_TIMEOUT : REASON_UPSTREAM_TIMEOUT;
	case PUMP_SPENT:
		return REASON_BUDGET;
	case PUMP_END_COUNT:
		break;
	}
	return REASON_UPSTREAM_RESET;
}

static void
on_end(const struct pump_result *result, void *arg)
{
	struct flow *flow = arg;
	struct budget_over over;

	if (result->end == PUMP_SPENT &&
	    budget_is_spent(flow->connection, &over))
		budget_words(&over, flow->cause);
	flow_close(flow, reason_of(result));
}

/* What the sandbox sends goes out. */
static enum quota_kind
kind_of(enum pump_side from)
{
	return from == PUMP_INSIDE ? QUOTA_BYTES_OUT : QUOTA_BYTES_IN;
}

static uint64_t
left(enum pump_side from, void *arg)
{
	const struct flow *flow = arg;

	return budget_left(flow->connection, kind_of(from));
}

static void
spend(enum pump_side from, size_t bytes, void *arg)
{
	const struct flow *flow = arg;

	budget_spend(flow->connection, kind_of(from), bytes);
}

void
tunnel_enter(struct flow *flow)
{
	struct pump_order order = {
		.fd = { [PUMP_INSIDE] = flow->fd,
		    [PUMP_OUTSIDE] = flow->outside_fd },
		.first = { [PUMP_INSIDE] =
			       cursor_of(flow->early, flow->early_length) },
		.idle_ms = LIMIT_IDLE_MS,
	};

	if (flow->connection != NULL) {
		order.meter = (struct pump_meter){
			.left = left, .spend = spend, .arg = flow
		};
		budget_spend(
		    flow->connection, QUOTA_BYTES_OUT, flow->early_length);
	}
	flow->tunnel = pump_start(loop_base(flow->plane->loop),
	    flow->plane->buffers, &order, on_end, flow);
	if (flow->tunnel == NULL) {
		flow_close(flow, REASON_OVERLOAD);
		return;
	}
	flow->tunneled = true;
	flow->fd = -1;
	flow->outside_fd = -1;
	free(STEAL(flow->early));
	flow->early_length = 0;
}

void
tunnel_leave(struct flow *flow)
{
	if (flow->tunnel == NULL)
		return;
	flow->bytes_out = (int64_t)pump_bytes(flow->tunnel, PUMP_INSIDE);
	flow->bytes_in = (int64_t)pump_bytes(flow->tunnel, PUMP_OUTSIDE);
	pump_free(flow->tunnel);
	flow->tunnel = NULL;
}
