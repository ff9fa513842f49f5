#include "gateway/flow/explicit.h"

#include "gateway/dns/names.h"
#include "gateway/dns/stub.h"
#include "gateway/flow/aim.h"
#include "gateway/flow/early.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/refusal.h"
#include "gateway/proto/http1.h"
#include "gateway/proto/socks.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct explicit
{
	struct event *readable;
	bool greeted; /* a SOCKS client said which ways it knows */
};

/* Nothing was said before, so there is room for all of it. */
static bool
say(struct flow *flow, const struct cursor_writer *words)
{
	return cursor_written(words) &&
	       send(flow->fd, words->bytes, words->used,
		   MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)words->used;
}

/* Nothing more is said; what was said arrives. */
static void
end(struct flow *flow, enum reason reason)
{
	(void)shutdown(flow->fd, SHUT_WR);
	flow_close(flow, reason);
}

/* A refusal that the resolver's row has told already. */
static void
end_told(struct flow *flow, enum reason reason)
{
	flow->requests++;
	end(flow, reason);
}

/* The way on, as for a connection that was caught. */
static void
hand_on(struct flow *flow, const char *proxy)
{
	flow->proxy = proxy;
	flow_enter(flow, FLOW_JUDGING);
}

/* Nothing that a proxy is told: an alert for TLS, a reset for the rest. */
static void
refuse_bytes(struct flow *flow, enum sniff_protocol protocol)
{
	flow->protocol = protocol;
	flow_refuse(flow, REASON_MALFORMED);
}

/* ---- SOCKS ---- */

static void
greet(struct flow *flow, struct cursor *bytes)
{
	unsigned char room[8];
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));
	bool anonymous;

	switch (socks_greeting_take(bytes, &anonymous)) {
	case PARSE_MORE:
		return;
	case PARSE_BAD:
		refuse_bytes(flow, SNIFF_OTHER);
		return;
	case PARSE_OK:
		break;
	}
	socks_greeting_answer(anonymous, &out);
	flow->explicit->greeted = true;
	early_eat(flow, flow->early_length - bytes->left);
	if (!say(flow, &out))
		flow_close(flow, REASON_CLIENT_ABORT);
	else if (!anonymous)
		end(flow, REASON_UNSUPPORTED);
}

static enum socks_reply
socks_reply_of(enum reason reason)
{
	if (reason == REASON_NONE)
		return SOCKS_SUCCEEDED;
	return reason_entry(reason)->fault == FAULT_POLICY ? SOCKS_NOT_ALLOWED
							   : SOCKS_FAILED;
}

static void
take_socks_request(struct flow *flow, struct cursor bytes)
{
	unsigned char room[16];
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));
	struct authority authority;
	enum socks_reply reply;
	enum reason reason = REASON_UNSUPPORTED;

	switch (socks_request_take(&bytes, &authority, &reply)) {
	case PARSE_MORE:
		return;
	case PARSE_BAD:
		refuse_bytes(flow, SNIFF_OTHER);
		return;
	case PARSE_OK:
		break;
	}
	if (reply == SOCKS_SUCCEEDED) {
		reason = aim_at(flow, &authority);
		reply = socks_reply_of(reason);
		flow->requests += reason != REASON_NONE ? 1 : 0;
	}
	socks_reply_write(reply, &out);
	early_eat(flow, flow->early_length - bytes.left);
	if (!say(flow, &out))
		flow_close(flow, REASON_CLIENT_ABORT);
	else if (reason != REASON_NONE)
		end(flow, reason);
	else
		hand_on(flow, "socks5");
}

static void
look_at_socks(struct flow *flow)
{
	struct cursor bytes = cursor_of(flow->early, flow->early_length);

	if (!flow->explicit->greeted)
		greet(flow, &bytes);
	if (!flow_is_closing(flow) && flow->explicit != NULL &&
	    flow->explicit->greeted)
		take_socks_request(
		    flow, cursor_of(flow->early, flow->early_length));
}

/* ---- HTTP ---- */

static void
print_tried(const struct request *request, char *out, size_t size)
{
	char text[LIMIT_HOST + 16];
	struct cursor_writer host = cursor_writer_of(text, sizeof(text));
	int length;

	authority_write(&request->authority, &host);
	length = snprintf(
	    out, size, "%s %.*s", request->method, (int)host.used, text);
	if (length < 0 || (size_t)length >= size)
		out[0] = '\0';
}

static bool
say_page(struct flow *flow, const struct refusal *refusal)
{
	unsigned char page[REFUSAL_MAX];
	struct cursor_writer out = cursor_writer_of(page, sizeof(page));

	refusal_write_http1(refusal, false, false, &out);
	return say(flow, &out);
}

/* The name is refused: where a caught program gets no address. */
static void
refuse_target(
    struct flow *flow, const struct request *request, enum reason reason)
{
	char tried[LIMIT_HOST + 64];
	struct refusal refusal = {
		.reason = reason, .tried = tried, .cause = ""
	};

	print_tried(request, tried, sizeof(tried));
	if (say_page(flow, &refusal))
		end_told(flow, reason);
	else
		flow_close(flow, REASON_CLIENT_ABORT);
}

static void
refuse_head(struct flow *flow, enum head_fault fault, const char *words)
{
	struct refusal refusal = { .reason = head_fault_reason(fault),
		.status = head_fault_status(fault),
		.tried = "The request to this proxy",
		.cause = words };

	if (snprintf(flow->cause, sizeof(flow->cause), "%s",
		head_fault_id(fault)) < 0)
		flow->cause[0] = '\0';
	if (say_page(flow, &refusal))
		end(flow, refusal.reason);
	else
		flow_close(flow, REASON_CLIENT_ABORT);
}

static void
open_tunnel(struct flow *flow, const struct request *request)
{
	unsigned char room[64];
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));

	cursor_put_text(&out, "HTTP/1.1 200 Connection established\r\n\r\n");
	if (!say(flow, &out)) {
		flow_close(flow, REASON_CLIENT_ABORT);
		return;
	}
	early_eat(flow, request->length);
	hand_on(flow, "connect");
}

static void
take_http_request(struct flow *flow, const struct request *request)
{
	struct authority authority = request->authority;
	enum reason reason;

	if (request->form != REQUEST_AUTHORITY &&
	    request->form != REQUEST_ABSOLUTE) {
		refuse_head(flow, HEAD_FAULT_TARGET,
		    "this port is a proxy; name the host in the target");
		return;
	}
	if (authority.port == 0)
		authority.port = request->scheme == REQUEST_HTTPS ? 443 : 80;
	reason = aim_at(flow, &authority);
	if (reason != REASON_NONE) {
		refuse_target(flow, request, reason);
		return;
	}
	if (request->form == REQUEST_AUTHORITY) {
		open_tunnel(flow, request);
		return;
	}
	/* The whole request is still there, to be judged as it is. */
	flow->sniffed = true;
	flow->protocol = SNIFF_HTTP1;
	flow->one_request = true;
	hand_on(flow, "absolute");
}

static void
look_at_http(struct flow *flow)
{
	struct request request;
	enum head_fault fault;

	switch (http1_proxy_parse(
	    cursor_of(flow->early, flow->early_length), &request, &fault)) {
	case PARSE_MORE:
		return;
	case PARSE_BAD:
		refuse_head(flow, fault, head_fault_words(fault));
		return;
	case PARSE_OK:
		break;
	}
	take_http_request(flow, &request);
}

/* Whether it is neither of both, whatever follows; and what it is instead. */
static bool
is_other(const struct flow *flow, enum sniff_protocol *ret)
{
	return sniff_bytes(cursor_of(flow->early, flow->early_length), ret) ==
		   PARSE_OK &&
	       *ret != SNIFF_HTTP1;
}

/* ---- the state ---- */

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct flow *flow = arg;
	int status = early_fill(flow, LIMIT_HTTP_HEAD);
	enum sniff_protocol protocol;

	(void)fd;
	(void)what;
	if (status == STATUS_AGAIN)
		return;
	if (status == STATUS_FULL) {
		refuse_head(flow, HEAD_FAULT_HEAD_LONG,
		    head_fault_words(HEAD_FAULT_HEAD_LONG));
		return;
	}
	if (status != STATUS_OK) {
		flow_close(flow, REASON_CLIENT_ABORT);
		return;
	}
	if (flow->explicit->greeted || flow->early[0] == SOCKS_VERSION)
		look_at_socks(flow);
	else if (is_other(flow, &protocol))
		refuse_bytes(flow, protocol);
	else
		look_at_http(flow);
}

void
explicit_enter(struct flow *flow)
{
	struct explicit *explicit = calloc(1, sizeof(*explicit));

	if (explicit == NULL) {
		flow_close(flow, REASON_OVERLOAD);
		return;
	}
	flow->explicit = explicit;
	explicit->readable = event_new(loop_base(flow->plane->loop), flow->fd,
	    EV_READ | EV_PERSIST, on_readable, flow);
	if (explicit->readable == NULL ||
	    event_add(explicit->readable, NULL) != 0)
		flow_close(flow, REASON_OVERLOAD);
}

void
explicit_leave(struct flow *flow)
{
	struct explicit *explicit = flow->explicit;

	if (explicit == NULL)
		return;
	if (explicit->readable != NULL)
		event_free(explicit->readable);
	free(explicit);
	flow->explicit = NULL;
}
