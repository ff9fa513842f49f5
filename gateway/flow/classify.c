#include "gateway/flow/classify.h"

#include "gateway/flow/early.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/judge.h"
#include "gateway/proto/clienthello.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <event2/event.h>
#include <stdlib.h>

struct classify {
	struct event *readable, *silence;
};

static void
know(struct flow *flow, enum sniff_protocol protocol)
{
	flow->protocol = protocol;
	flow->speaks_h2 = protocol == SNIFF_HTTP2;
	flow->sniffed = true;
	flow_enter(flow, FLOW_JUDGING);
}

static void
take_hello(struct flow *flow)
{
	struct clienthello hello;
	enum parse_result result = clienthello_parse(
	    cursor_of(flow->early, flow->early_length), &hello);

	switch (result) {
	case PARSE_MORE:
		if (flow->early_length >= LIMIT_HELLO)
			flow_refuse(flow, REASON_MALFORMED);
		return;
	case PARSE_BAD:
		flow_refuse(flow, REASON_MALFORMED);
		return;
	case PARSE_OK:
		break;
	}
	flow->hello = (struct flow_hello){ .sni = hello.sni,
		.offers_http1 = hello.alpn_http1,
		.offers_h2 = hello.alpn_h2,
		.offers_alpn = hello.alpn_count > 0,
		.offers_ech = hello.ech };
	know(flow, SNIFF_TLS);
}

static void
look(struct flow *flow)
{
	enum sniff_protocol protocol;

	if (sniff_bytes(cursor_of(flow->early, flow->early_length),
		&protocol) == PARSE_MORE)
		return;
	if (protocol == SNIFF_TLS) {
		/* A refusal of a broken hello answers in TLS. */
		flow->protocol = SNIFF_TLS;
		take_hello(flow);
		return;
	}
	know(flow, protocol);
}

/*
 * Who has begun is not waiting for a server.  Who is refused anyway may wait
 * for an answer to half a head, so it is told soon that there will be none.
 */
static void
begin(struct flow *flow)
{
	(void)event_del(flow->classify->silence);
	flow_set_deadline(flow,
	    flow_is_condemned(flow) ? LIMIT_CONDEMNED_MS : LIMIT_HELLO_MS);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct flow *flow = arg;
	bool first = flow->early_length == 0;
	int status = early_fill(flow, LIMIT_HELLO);

	(void)fd;
	(void)what;
	if (status == STATUS_AGAIN)
		return;
	if (status == STATUS_FULL || status == STATUS_NO_MEMORY) {
		flow_refuse(flow, REASON_MALFORMED);
		return;
	}
	if (status == STATUS_CLOSED && !first) {
		flow->inside_ended = true;
		know(flow, SNIFF_OTHER);
		return;
	}
	if (status != STATUS_OK) {
		/* Came and went without a word: nobody to refuse. */
		flow_close(flow, REASON_CLIENT_ABORT);
		return;
	}
	if (first)
		begin(flow);
	look(flow);
}

static void
on_silence(evutil_socket_t fd, short what, void *arg)
{
	struct flow *flow = arg;

	(void)fd;
	(void)what;
	/* Otherwise the client is only slow: nothing is lost by waiting. */
	if (flow_is_condemned(flow) || judge_allows_silence(flow))
		know(flow, SNIFF_OTHER);
}

void
classify_enter(struct flow *flow)
{
	static const struct timeval wait = { .tv_usec =
						 LIMIT_SNIFF_MS * 1000L };
	struct event_base *base = loop_base(flow->plane->loop);
	struct classify *classify = calloc(1, sizeof(*classify));

	if (classify == NULL) {
		flow_close(flow, REASON_OVERLOAD);
		return;
	}
	flow->classify = classify;
	classify->readable =
	    event_new(base, flow->fd, EV_READ | EV_PERSIST, on_readable, flow);
	classify->silence = event_new(base, -1, 0, on_silence, flow);
	if (classify->readable == NULL || classify->silence == NULL ||
	    event_add(classify->readable, NULL) != 0 ||
	    event_add(classify->silence, &wait) != 0) {
		flow_close(flow, REASON_OVERLOAD);
		return;
	}
	/* What came behind the words to a proxy. */
	if (flow->early_length > 0) {
		begin(flow);
		look(flow);
	}
}

void
classify_leave(struct flow *flow)
{
	struct classify *classify = flow->classify;

	if (classify == NULL)
		return;
	if (classify->readable != NULL)
		event_free(classify->readable);
	if (classify->silence != NULL)
		event_free(classify->silence);
	free(classify);
	flow->classify = NULL;
}
