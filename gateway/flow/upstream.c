#include "gateway/flow/upstream.h"

#include "gateway/flow/badge.h"
#include "gateway/flow/detour.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/judge.h"
#include "gateway/flow/trusts.h"
#include "gateway/net/dial.h"
#include "gateway/net/resolve.h"
#include "gateway/run/run.h"
#include "gateway/tls/outside.h"
#include "gateway/tls/stream.h"
#include "policy/stack.h"
#include "schema/problem.h"
#include "schema/secret.h"
#include "schema/status.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const any_alpn[] = { "h2", "http/1.1", NULL };
static const char *const http1_alpn[] = { "http/1.1", NULL };

struct upstream {
	struct flow *flow;
	upstream_call *on_done;
	void *arg;
	enum upstream_kind kind;
	struct resolve *resolve;
	struct dial *dial;
	struct detour *detour;
	struct stream *stream;
	struct event *ready; /* of the stream's socket, or for the next tick */
	char *who; /* its name and grant, for the sessions; or NULL */
	struct secret *certificate; /* until it is presented; or NULL */
	struct endpoint to; /* not set behind the house's proxy */
	struct facts facts;
	struct address fixed; /* of a rule's "resolve", or the literal */
	bool detours; /* through the house's proxy */
};

static void
release(struct upstream *upstream)
{
	resolve_cancel(upstream->resolve);
	dial_cancel(upstream->dial);
	detour_cancel(upstream->detour);
	if (upstream->ready != NULL)
		event_free(upstream->ready);
	stream_free(upstream->stream);
	secret_free(upstream->certificate);
	free(upstream->who);
	free(upstream);
}

void
upstream_cancel(struct upstream *upstream)
{
	if (upstream != NULL)
		release(upstream);
}

/* The one way out: releases, then tells. */
static void
finish(struct upstream *upstream, const struct upstream_result *result)
{
	upstream_call *on_done = upstream->on_done;
	void *arg = upstream->arg;

	release(upstream);
	on_done(result, arg);
}

static void
fail(struct upstream *upstream, enum reason reason, const char *cause)
{
	struct upstream_result result = {
		.reason = reason, .fd = -1, .to = upstream->to, .cause = cause
	};

	finish(upstream, &result);
}

static void
on_handshake(evutil_socket_t fd, short what, void *arg)
{
	struct upstream *upstream = arg;
	struct problem problem = { 0 };
	int status = stream_handshake(upstream->stream, &problem);
	struct upstream_result result = {
		.fd = -1, .to = upstream->to, .cause = ""
	};
	short wanted = EV_READ;

	(void)fd;
	(void)what;
	if (status == STATUS_AGAIN) {
		if (stream_wants_write(upstream->stream))
			wanted |= EV_WRITE;
		(void)event_assign(upstream->ready,
		    event_get_base(upstream->ready),
		    stream_fd(upstream->stream), wanted, on_handshake,
		    upstream);
		(void)event_add(upstream->ready, NULL);
		return;
	}
	if (status == STATUS_OK) {
		result.stream = STEAL(upstream->stream);
		finish(upstream, &result);
		return;
	}
	if (status == STATUS_CLOSED)
		fail(upstream, REASON_UPSTREAM_RESET, problem.text);
	else
		fail(upstream, REASON_UPSTREAM_TLS, problem.text);
}

/* Who has to answer there: the name meant, or the literal itself. */
static const char *
expected_host(const struct flow *flow, char literal[ADDRESS_TEXT_MAX])
{
	if (flow->by_name)
		return flow->host.text;
	if (hostname_is_set(&flow->hello.sni))
		return flow->hello.sni.text;
	address_print(&flow->wanted.address, literal);
	return literal;
}

static void
begin_tls(struct upstream *upstream, int fd)
{
	struct flow *flow = upstream->flow;
	struct stack_settings settings;
	struct problem problem = { 0 };
	char literal[ADDRESS_TEXT_MAX];
	struct outside_order order = { .port = flow->wanted.port,
		.alpn =
		    upstream->kind == UPSTREAM_TLS_ANY ? any_alpn : http1_alpn,
		.fd = fd };
	struct outside *outside;

	order.host = expected_host(flow, literal);
	order.who = upstream->who;
	if (upstream->certificate != NULL)
		order.certificate = secret_bytes(upstream->certificate);
	stack_settings(flow->plane->run->stack, &upstream->facts, &settings);
	outside =
	    trusts_get(flow->plane->trusts, settings.upstream_ca, &problem);
	if (outside != NULL)
		upstream->stream = outside_connect(outside, &order, &problem);
	secret_free(STEAL(upstream->certificate));
	if (upstream->stream == NULL) {
		(void)close(fd);
		fail(upstream, REASON_UPSTREAM_TLS, problem.text);
		return;
	}
	on_handshake(fd, 0, upstream);
}

static void
go_on(struct upstream *upstream, int fd)
{
	struct upstream_result result = {
		.fd = fd, .to = upstream->to, .cause = ""
	};

	if (upstream->kind == UPSTREAM_TLS_HTTP1 ||
	    upstream->kind == UPSTREAM_TLS_ANY)
		begin_tls(upstream, fd);
	else
		finish(upstream, &result);
}

static void
on_dialed(const struct dial_result *dialed, void *arg)
{
	struct upstream *upstream = arg;
	const char *words;

	upstream->dial = NULL;
	if (dialed->reason != REASON_NONE) {
		words =
		    dialed->error == 0 ? NULL : strerrordesc_np(dialed->error);
		fail(upstream, dialed->reason, words == NULL ? "" : words);
		return;
	}
	upstream->to = dialed->to;
	go_on(upstream, dialed->fd);
}

static void
on_detoured(const struct detour_result *result, void *arg)
{
	struct upstream *upstream = arg;

	upstream->detour = NULL;
	if (result->reason != REASON_NONE)
		fail(upstream, result->reason, result->cause);
	else
		go_on(upstream, result->fd);
}

static bool
may_dial(const struct address *address, void *arg)
{
	const struct upstream *upstream = arg;

	return stack_may_dial(
	    upstream->flow->plane->run->stack, &upstream->facts, address);
}

static void
dial_list(struct upstream *upstream, const struct address *list, size_t count)
{
	struct dial_order order = { .list = list,
		.count = count,
		.port = upstream->flow->wanted.port,
		.datagrams = upstream->kind == UPSTREAM_DATAGRAMS,
		.may_dial = may_dial,
		.arg = upstream };

	upstream->dial = dial_start(loop_base(upstream->flow->plane->loop),
	    &order, on_dialed, upstream);
	if (upstream->dial == NULL)
		fail(upstream, REASON_OVERLOAD, "");
}

static void
on_resolved(const struct address *list, size_t count, int status, void *arg)
{
	struct upstream *upstream = arg;

	upstream->resolve = NULL;
	if (status == STATUS_OK)
		dial_list(upstream, list, count);
	else if (status == STATUS_TIMEOUT)
		fail(upstream, REASON_UPSTREAM_TIMEOUT,
		    "the nameserver did not answer");
	else
		fail(upstream, REASON_UPSTREAM_UNRESOLVED, "");
}

/* From a tick of its own, so that nobody is called before we returned. */
static void
on_start(evutil_socket_t fd, short what, void *arg)
{
	struct upstream *upstream = arg;
	struct address list[LIMIT_ADDRESSES];
	struct flow *flow = upstream->flow;
	size_t count;

	(void)fd;
	(void)what;
	if (upstream->detours && upstream->kind == UPSTREAM_DATAGRAMS) {
		fail(upstream, REASON_UNSUPPORTED,
		    "the house's proxy carries no datagrams");
		return;
	}
	if (upstream->detours) {
		upstream->detour = detour_start(flow, on_detoured, upstream);
		if (upstream->detour == NULL)
			fail(upstream, REASON_OVERLOAD, "");
		return;
	}
	if (address_is_set(&upstream->fixed)) {
		dial_list(upstream, &upstream->fixed, 1);
		return;
	}
	if (resolver_knows(flow->plane->resolver, &flow->host, list, &count)) {
		dial_list(upstream, list, count);
		return;
	}
	upstream->resolve = resolve_start(
	    flow->plane->resolver, &flow->host, on_resolved, upstream);
	if (upstream->resolve == NULL)
		fail(upstream, REASON_OVERLOAD, "");
}

enum upstream_kind
upstream_kind(const struct flow *flow, bool http1_only)
{
	if (flow->protocol != SNIFF_TLS)
		return UPSTREAM_CLEAR;
	return flow->hello.offers_h2 && !http1_only ? UPSTREAM_TLS_ANY
						    : UPSTREAM_TLS_HTTP1;
}

/* Its own copy: what was lent may be given back before it is needed. */
static bool
take_badge(struct upstream *upstream, const struct upstream_wish *wish)
{
	if (wish->badge == NULL || badge_is_none(wish->badge))
		return true;
	upstream->certificate = secret_new(wish->text);
	if (asprintf(&upstream->who, "%s %u %llu", wish->badge->credential,
		(unsigned)wish->badge->slot,
		(unsigned long long)wish->badge->generation) < 0)
		upstream->who = NULL;
	return upstream->certificate != NULL && upstream->who != NULL;
}

static void
find_way(struct upstream *upstream)
{
	const struct flow *flow = upstream->flow;
	struct stack_settings settings;

	upstream->facts = judge_facts(flow);
	stack_settings(flow->plane->run->stack, &upstream->facts, &settings);
	upstream->detours = detour_is_due(flow, &settings);
	if (!flow->by_name)
		upstream->fixed = flow->wanted.address;
	else if (settings.resolve != NULL)
		upstream->fixed = *settings.resolve;
}

struct upstream *
upstream_connect(struct flow *flow, const struct upstream_wish *wish,
    upstream_call *on_done, void *arg)
{
	struct upstream *upstream = calloc(1, sizeof(*upstream));

	if (upstream == NULL)
		return NULL;
	upstream->flow = flow;
	upstream->on_done = on_done;
	upstream->arg = arg;
	upstream->kind = wish->kind;
	find_way(upstream);
	upstream->ready =
	    event_new(loop_base(flow->plane->loop), -1, 0, on_start, upstream);
	if (upstream->ready == NULL || !take_badge(upstream, wish)) {
		release(upstream);
		return NULL;
	}
	event_active(upstream->ready, EV_TIMEOUT, 0);
	return upstream;
}
