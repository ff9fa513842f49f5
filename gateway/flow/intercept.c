#include "gateway/flow/intercept.h"

#include "gateway/flow/flow.h"
#include "gateway/proc/clock.h"
#include "gateway/run/run.h"
#include "gateway/tls/inside.h"
#include "gateway/tls/leaf_cache.h"
#include "gateway/tls/stream.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

/* What the server outside speaks, first: nothing is lost in between. */
static const char *const http1_first[] = { "http/1.1", "h2", NULL };
static const char *const h2_first[] = { "h2", "http/1.1", NULL };

struct intercept {
	struct stream *stream;
	struct event *ready;
};

bool
intercept_is_possible(const struct flow *flow)
{
	return flow->sniffed && flow->protocol == SNIFF_TLS &&
	       (flow->hello.offers_http1 || flow->hello.offers_h2 ||
		   !flow->hello.offers_alpn);
}

/* Why a client gives up is worth a line: most often it does not trust us. */
static void
note_cause(struct flow *flow, const struct problem *problem)
{
	if (flow->cause[0] != '\0')
		return;
	if (snprintf(flow->cause, sizeof(flow->cause), "inside: %s",
		problem->text) < 0)
		flow->cause[0] = '\0';
}

static void
on_handshake(evutil_socket_t fd, short what, void *arg)
{
	struct flow *flow = arg;
	struct intercept *intercept = flow->intercept;
	struct problem problem = { 0 };
	int status = stream_handshake(intercept->stream, &problem);
	short wanted = EV_READ;

	(void)fd;
	(void)what;
	if (status == STATUS_AGAIN) {
		if (stream_wants_write(intercept->stream))
			wanted |= EV_WRITE;
		(void)event_assign(intercept->ready,
		    loop_base(flow->plane->loop), stream_fd(intercept->stream),
		    wanted, on_handshake, flow);
		(void)event_add(intercept->ready, NULL);
		return;
	}
	if (status != STATUS_OK) {
		note_cause(flow, &problem);
		flow_close(flow, REASON_CLIENT_ABORT);
		return;
	}
	flow->speaks_h2 = cursor_equals(stream_alpn(intercept->stream), "h2");
	flow->inside = STEAL(intercept->stream);
	flow_enter(flow, FLOW_EXCHANGING);
}

static const char *
leaf_host_of(const struct flow *flow, char literal[ADDRESS_TEXT_MAX])
{
	if (hostname_is_set(&flow->hello.sni))
		return flow->hello.sni.text;
	if (flow->by_name)
		return flow->host.text;
	address_print(&flow->wanted.address, literal);
	return literal;
}

static struct stream *
accept_inside(struct flow *flow, struct problem *reterr)
{
	char literal[ADDRESS_TEXT_MAX];
	const char *host = leaf_host_of(flow, literal);
	struct inside_order order = { .alpn = flow->reaches_h2 ? h2_first
							       : http1_first,
		.first = cursor_of(flow->early, flow->early_length),
		.fd = flow->fd };
	struct stream *stream;

	if (leaf_cache_get(flow->plane->run->leaves, host, clock_wall_us(),
		&order.leaf, reterr) != STATUS_OK)
		return NULL;
	stream = inside_accept(flow->plane->inside, &order, reterr);
	if (stream == NULL)
		return NULL;
	flow->fd = -1;
	free(STEAL(flow->early));
	flow->early_length = 0;
	return stream;
}

void
intercept_enter(struct flow *flow)
{
	struct intercept *intercept = calloc(1, sizeof(*intercept));
	struct problem problem = { 0 };

	if (intercept == NULL) {
		flow_close(flow, REASON_OVERLOAD);
		return;
	}
	flow->intercept = intercept;
	intercept->stream = accept_inside(flow, &problem);
	if (intercept->stream == NULL) {
		note_cause(flow, &problem);
		flow_close(flow, REASON_OVERLOAD);
		return;
	}
	intercept->ready = event_new(loop_base(flow->plane->loop),
	    stream_fd(intercept->stream), EV_READ, on_handshake, flow);
	if (intercept->ready == NULL) {
		flow_close(flow, REASON_OVERLOAD);
		return;
	}
	on_handshake(-1, 0, flow);
}

void
intercept_leave(struct flow *flow)
{
	struct intercept *intercept = flow->intercept;

	if (intercept == NULL)
		return;
	if (intercept->ready != NULL)
		event_free(intercept->ready);
	stream_free(intercept->stream);
	free(intercept);
	flow->intercept = NULL;
}
