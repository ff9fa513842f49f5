#include "gateway/flow/shuttle.h"

#include "gateway/flow/flow.h"
#include "gateway/flow/forge.h"
#include "gateway/net/pool.h"
#include "gateway/run/budget.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static_assert(LIMIT_DATAGRAM < LIMIT_RELAY_BYTES,
    "no datagram fills a buffer, so none is cut");

struct shuttle *
shuttle_new(struct flow *flow, const struct forge *forge)
{
	struct shuttle *shuttle = calloc(1, sizeof(*shuttle));

	if (shuttle == NULL)
		return NULL;
	shuttle->flow = flow;
	shuttle->forge = forge;
	return shuttle;
}

void
shuttle_free(struct shuttle *shuttle)
{
	if (shuttle == NULL)
		return;
	if (shuttle->readable != NULL)
		event_free(shuttle->readable);
	for (size_t i = 0; i < shuttle->early_count; i++)
		free(shuttle->early[i].bytes);
	free(shuttle);
}

void
shuttle_refuse(const struct shuttle *shuttle)
{
	forge_refuse(shuttle->forge, &shuttle->flow->from,
	    &shuttle->flow->wanted, shuttle->last_length);
}

static void
stay_awake(struct flow *flow)
{
	flow_set_deadline(flow, flow->rows[flow->state].deadline_ms);
}

/* ---- the limits of the policy ---- */

/* Takes the bytes from what is left; without room for all, the flow ends. */
static bool
spend(struct flow *flow, enum quota_kind kind, size_t bytes)
{
	struct budget_over over;

	if (flow->connection == NULL)
		return true;
	if (budget_left(flow->connection, kind) >= bytes) {
		budget_spend(flow->connection, kind, bytes);
		return true;
	}
	/* What is left is less than it sends at once, so it is used up. */
	budget_spend(
	    flow->connection, kind, budget_left(flow->connection, kind));
	if (budget_is_spent(flow->connection, &over))
		budget_words(&over, flow->cause);
	shuttle_refuse(flow->shuttle);
	flow_close(flow, REASON_BUDGET);
	return false;
}

/* ---- both ways ---- */

/* An error of the socket is what somebody outside said of the last ones. */
static void
end_by_error(struct shuttle *shuttle)
{
	const char *words = strerrordesc_np(errno);
	struct flow *flow = shuttle->flow;

	if (words != NULL)
		(void)stpncpy(flow->cause, words, sizeof(flow->cause) - 1);
	shuttle_refuse(shuttle);
	flow_close(flow, REASON_UPSTREAM_REFUSED);
}

static bool
is_about_one(int error)
{
	return error == EAGAIN || error == ENOBUFS || error == EMSGSIZE ||
	       error == EINTR || error == EPERM;
}

static void
pass_out(struct shuttle *shuttle, struct cursor bytes)
{
	struct flow *flow = shuttle->flow;

	if (!spend(flow, QUOTA_BYTES_OUT, bytes.left))
		return;
	if (send(flow->outside_fd, bytes.at, bytes.left,
		MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		if (!is_about_one(errno))
			end_by_error(shuttle);
		return;
	}
	flow->bytes_out += (int64_t)bytes.left;
	stay_awake(flow);
}

static void
keep(struct shuttle *shuttle, struct cursor bytes)
{
	struct early *early = &shuttle->early[shuttle->early_count];

	if (shuttle->early_count == LIMIT_EARLY_DATAGRAMS ||
	    LIMIT_EARLY_BYTES - shuttle->early_bytes < bytes.left)
		return;
	/* One without a byte is a datagram as well. */
	early->bytes = malloc(bytes.left + 1);
	if (early->bytes == NULL)
		return;
	if (bytes.left > 0)
		memcpy(early->bytes, bytes.at, bytes.left);
	early->length = bytes.left;
	shuttle->early_count++;
	shuttle->early_bytes += bytes.left;
}

void
shuttle_take(struct shuttle *shuttle, struct cursor bytes)
{
	shuttle->last_length = bytes.left;
	if (shuttle->flow->state == FLOW_TUNNELING)
		pass_out(shuttle, bytes);
	else
		keep(shuttle, bytes);
}

/* False when there is no more, or the flow has ended. */
static bool
pass_in(struct shuttle *shuttle, void *buffer, size_t size)
{
	struct flow *flow = shuttle->flow;
	ssize_t got = recv(flow->outside_fd, buffer, size, MSG_DONTWAIT);

	if (got < 0) {
		if (!is_about_one(errno))
			end_by_error(shuttle);
		return false;
	}
	if (!spend(flow, QUOTA_BYTES_IN, (size_t)got))
		return false;
	forge_answer(shuttle->forge, cursor_of(buffer, (size_t)got),
	    &flow->wanted, &flow->from);
	flow->bytes_in += got;
	stay_awake(flow);
	return true;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct shuttle *shuttle = arg;
	struct pool *pool = shuttle->flow->plane->buffers;
	void *buffer = pool_take(pool);
	int turns = LIMIT_RELAY_TURNS;

	(void)fd;
	(void)what;
	if (buffer == NULL) {
		flow_close(shuttle->flow, REASON_OVERLOAD);
		return;
	}
	while (turns > 0 && pass_in(shuttle, buffer, pool_size(pool)))
		turns--;
	pool_give(pool, buffer);
}

void
shuttle_enter(struct flow *flow)
{
	struct shuttle *shuttle = flow->shuttle;
	size_t i = 0;

	flow->tunneled = true;
	shuttle->readable = event_new(loop_base(flow->plane->loop),
	    flow->outside_fd, EV_READ | EV_PERSIST, on_readable, shuttle);
	if (shuttle->readable == NULL ||
	    event_add(shuttle->readable, NULL) != 0) {
		flow_close(flow, REASON_OVERLOAD);
		return;
	}
	/* Passing one on may end the flow, and free them all. */
	while (flow->state == FLOW_TUNNELING && i < shuttle->early_count) {
		pass_out(shuttle, cursor_of(shuttle->early[i].bytes,
				      shuttle->early[i].length));
		i++;
	}
}

void
shuttle_leave(struct flow *flow)
{
	if (flow->shuttle->readable == NULL)
		return;
	event_free(flow->shuttle->readable);
	flow->shuttle->readable = NULL;
}
