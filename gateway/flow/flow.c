#include "gateway/flow/flow.h"

#include "gateway/flow/program.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/log.h"
#include "gateway/run/budget.h"
#include "gateway/run/run.h"
#include "gateway/tls/stream.h"
#include "policy/stack.h"

#include <assert.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct flow *flow = arg;
	const struct flow_row *row = &flow->rows[flow->state];

	(void)fd;
	(void)what;
	if (flow->reason == REASON_NONE)
		flow->reason = row->late_reason;
	flow_enter(flow, row->late);
}

struct flow *
flow_new(struct plane *plane, const struct flow_row *rows, int fd,
    const struct endpoint *wanted, const struct endpoint *from)
{
	struct flow *flow = calloc(1, sizeof(*flow));

	if (flow == NULL) {
		(void)close(fd);
		return NULL;
	}
	flow->plane = plane;
	flow->rows = rows;
	flow->fd = fd;
	flow->outside_fd = -1;
	flow->wanted = *wanted;
	flow->from = *from;
	flow->id = run_flow_id(plane->run);
	flow->opened_us = clock_monotonic_us();
	flow->deadline =
	    event_new(loop_base(plane->loop), -1, 0, on_deadline, flow);
	if (flow->deadline == NULL) {
		flow_free(flow);
		return NULL;
	}
	return flow;
}

void
flow_free(struct flow *flow)
{
	const struct flow_row *row = &flow->rows[flow->state];

	if (row->leave != NULL)
		row->leave(flow);
	if (flow->deadline != NULL)
		event_free(flow->deadline);
	if (flow->fd >= 0)
		(void)close(flow->fd);
	if (flow->outside_fd >= 0)
		(void)close(flow->outside_fd);
	stream_free(flow->inside);
	program_unref(flow->program);
	budget_leave(flow->connection);
	stack_unref(flow->judge);
	free(flow->early);
	free(flow);
}

void
flow_set_deadline(struct flow *flow, int ms)
{
	struct timeval wait = { .tv_sec = ms / 1000,
		.tv_usec = ms % 1000 * 1000L };

	if (ms == 0) {
		(void)event_del(flow->deadline);
		return;
	}
	/* It cannot fail: the event exists and timers need no descriptor. */
	if (event_add(flow->deadline, &wait) != 0)
		log_warning("flow %lld has no deadline", (long long)flow->id);
}

void
flow_enter(struct flow *flow, enum flow_state state)
{
	const struct flow_row *from = &flow->rows[flow->state];
	const struct flow_row *to = &flow->rows[state];

	log_debug(
	    "flow %lld: %s -> %s", (long long)flow->id, from->name, to->name);
	assert((from->followers & 1U << state) != 0);
	/* Taking down what a state made often means to end the flow. */
	flow->ending = flow->ending || state == FLOW_CLOSING;
	if (from->leave != NULL)
		from->leave(flow);
	flow->state = state;
	flow_set_deadline(flow, to->deadline_ms);
	to->enter(flow);
}

void
flow_refuse(struct flow *flow, enum reason reason)
{
	if (flow_is_closing(flow))
		return;
	if (flow->reason == REASON_NONE)
		flow->reason = reason;
	flow_enter(flow, FLOW_REFUSING);
}

void
flow_close(struct flow *flow, enum reason reason)
{
	if (flow_is_closing(flow))
		return;
	if (flow->reason == REASON_NONE)
		flow->reason = reason;
	flow_enter(flow, FLOW_CLOSING);
}

void
flow_judge_again(struct flow *flow)
{
	const struct flow_row *row = &flow->rows[flow->state];

	flow->trust = NULL;
	if (row->judge_again != NULL && !flow_is_condemned(flow))
		row->judge_again(flow);
}

bool
flow_is_condemned(const struct flow *flow)
{
	return flow->reason != REASON_NONE;
}

bool
flow_is_clear_http(const struct flow *flow)
{
	return flow->protocol == SNIFF_HTTP1 || flow->protocol == SNIFF_HTTP2;
}

bool
flow_is_closing(const struct flow *flow)
{
	return flow->ending;
}

void
flow_print_target(const struct flow *flow, char out[FLOW_TARGET_MAX])
{
	int length;

	if (!flow->by_name) {
		endpoint_print(&flow->wanted, out);
		return;
	}
	length = snprintf(
	    out, FLOW_TARGET_MAX, "%s:%u", flow->host.text, flow->wanted.port);
	if (length < 0 || length >= FLOW_TARGET_MAX)
		out[0] = '\0';
}

struct stream *
flow_take_stream(struct flow *flow)
{
	struct stream *stream;

	if (flow->inside != NULL)
		return STEAL(flow->inside);
	stream =
	    stream_new(flow->fd, cursor_of(flow->early, flow->early_length));
	if (stream == NULL)
		return NULL;
	flow->fd = -1;
	free(STEAL(flow->early));
	flow->early_length = 0;
	return stream;
}
