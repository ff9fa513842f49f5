#include "gateway/flow/h1_server.h"

#include "gateway/flow/conduit.h"
#include "gateway/flow/exchange.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/h1_request.h"
#include "gateway/flow/judge.h"
#include "gateway/flow/leg.h"
#include "gateway/flow/record.h"
#include "gateway/flow/refusal.h"
#include "gateway/flow/unread.h"
#include "gateway/proto/http1.h"
#include "gateway/proto/http1_body.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

enum h1_server_state {
	H1_SERVER_READING, /* the head of a request */
	H1_SERVER_BUSY, /* an exchange is under way */
	H1_SERVER_LINGERING, /* all is said; what still comes is dropped */
	H1_SERVER_GONE
};

struct h1_server {
	struct leg leg;
	struct flow *flow;
	struct conduit *conduit;
	enum h1_server_state state;
	struct h1_request *request;
	bool head_eaten; /* its bytes are out of the buffer */
	struct http1_body body;
	bool body_ended;
	enum message_framing sending; /* of the response's body */
	bool keep_alive, broken;
	bool hungry; /* it has eaten what it can of a body and needs more */
	struct sink_wait opening; /* of the flow's first row */
	struct loop_deferred freeing;
};

static void
set_state(struct h1_server *server, enum h1_server_state state, int ms)
{
	server->state = state;
	flow_set_deadline(server->flow, ms);
}

/* Says the end and waits for the peer's, so that what was said arrives. */
static void
linger(struct h1_server *server)
{
	set_state(server, H1_SERVER_LINGERING, LIMIT_CLOSE_MS);
	if (conduit_shutdown(server->conduit) != STATUS_AGAIN)
		conduit_kick(server->conduit);
	conduit_want_input(server->conduit, true);
}

/* ---- as the exchange sees it ---- */

/* How the body goes to the client, whatever way it came. */
static struct message_body
framing_for(const struct h1_server *server, const struct response *response)
{
	struct message_body body = response->body;
	bool old = server->request->head.version == MESSAGE_HTTP_1_0;

	if (body.framing == MESSAGE_CHUNKED && old)
		body.framing = MESSAGE_UNTIL_CLOSE;
	/* Chunks tell the whole from the broken off. */
	if (body.framing == MESSAGE_UNTIL_CLOSE && !old)
		body.framing = MESSAGE_CHUNKED;
	return body;
}

static bool
respond(struct leg *leg, const struct response *response)
{
	struct h1_server *server = (struct h1_server *)leg;
	struct cursor_writer out = conduit_writer(server->conduit);
	struct response copy = *response;
	enum http1_connection connection = HTTP1_KEEP;

	if (response_is_interim(response)) {
		http1_response_write(response, HTTP1_KEEP, &out);
		if (cursor_written(&out))
			conduit_wrote(server->conduit, &out);
		return cursor_written(&out);
	}
	copy.body = framing_for(server, response);
	if (copy.body.framing == MESSAGE_UNTIL_CLOSE || !server->body_ended)
		server->keep_alive = false;
	if (!server->keep_alive)
		connection = HTTP1_CLOSE;
	if (response->status == 101) {
		struct message_body raw = { .framing = MESSAGE_UNTIL_CLOSE };

		connection = HTTP1_UPGRADE;
		server->body = http1_body_of(raw);
		server->body_ended = false;
		server->keep_alive = false;
	}
	http1_response_write(&copy, connection, &out);
	if (!cursor_written(&out))
		return false;
	conduit_wrote(server->conduit, &out);
	server->sending =
	    response->status == 101 ? MESSAGE_UNTIL_CLOSE : copy.body.framing;
	return true;
}

static void
refuse(struct leg *leg, const struct refusal *refusal)
{
	struct h1_server *server = (struct h1_server *)leg;
	struct cursor_writer out = conduit_writer(server->conduit);
	bool is_head = server->request != NULL &&
		       strcmp(server->request->head.method, "HEAD") == 0;

	if (flow_is_condemned(server->flow) || !server->body_ended)
		server->keep_alive = false;
	refusal_write_http1(refusal, is_head, server->keep_alive, &out);
	/* It always fits where nothing of a response was put before it. */
	if (cursor_written(&out))
		conduit_wrote(server->conduit, &out);
	else
		server->broken = true;
}

static size_t
room(const struct leg *leg)
{
	const struct h1_server *server = (const struct h1_server *)leg;
	size_t free_bytes = conduit_room(server->conduit);

	if (server->sending != MESSAGE_CHUNKED)
		return free_bytes;
	if (free_bytes <= HTTP1_BODY_CHUNK_LINE + 2)
		return 0;
	return free_bytes - HTTP1_BODY_CHUNK_LINE - 2;
}

static void
flush(struct leg *leg)
{
	struct h1_server *server = (struct h1_server *)leg;
	bool was_full = room(leg) == 0;
	int status = conduit_flush(server->conduit);

	/*
	 * A broken connection is told by its own next tick, and so is the
	 * other side that it may go on: nothing else would wake it.
	 */
	if ((status != STATUS_OK && status != STATUS_AGAIN) ||
	    (was_full && room(leg) > 0))
		conduit_kick(server->conduit);
}

static void
body(struct leg *leg, struct cursor bytes)
{
	struct h1_server *server = (struct h1_server *)leg;
	struct cursor_writer out = conduit_writer(server->conduit);

	flow_set_deadline(server->flow, LIMIT_IDLE_MS);
	if (server->sending == MESSAGE_CHUNKED)
		http1_body_chunk_begin(bytes.left, &out);
	cursor_put(&out, bytes.at, bytes.left);
	if (server->sending == MESSAGE_CHUNKED)
		http1_body_chunk_end(&out);
	conduit_wrote(server->conduit, &out);
}

static void
finish(struct leg *leg, const struct header *trailers)
{
	struct h1_server *server = (struct h1_server *)leg;
	struct cursor_writer out;

	if (server->sending != MESSAGE_CHUNKED)
		return;
	out = conduit_writer(server->conduit);
	http1_body_finish(trailers, &out);
	conduit_wrote(server->conduit, &out);
}

/* The request is done with: its bytes, its room. */
static void
drop_request(struct h1_server *server)
{
	if (server->request == NULL)
		return;
	if (!server->head_eaten)
		conduit_eat(server->conduit, server->request->head.length);
	conduit_pin(server->conduit, false);
	free(server->request);
	server->request = NULL;
}

static void
release(struct leg *leg, enum leg_end end)
{
	struct h1_server *server = (struct h1_server *)leg;
	int status;

	drop_request(server);
	if (end == LEG_RESET || server->broken) {
		server->broken = true;
		flow_close(server->flow, REASON_NONE);
		return;
	}
	if (end == LEG_CLOSE || !server->keep_alive) {
		linger(server);
		return;
	}
	set_state(server, H1_SERVER_READING,
	    conduit_input(server->conduit).left > 0 ? LIMIT_HEAD_MS
						    : LIMIT_IDLE_MS);
	status = conduit_flush(server->conduit);
	conduit_want_input(server->conduit, true);
	/* What was sent ahead, or a broken connection, has its own tick. */
	if (conduit_input(server->conduit).left > 0 ||
	    (status != STATUS_OK && status != STATUS_AGAIN))
		conduit_kick(server->conduit);
}

static uint64_t
sent(const struct leg *leg)
{
	return conduit_sent(((const struct h1_server *)leg)->conduit);
}

static uint64_t
received(const struct leg *leg)
{
	return conduit_received(((const struct h1_server *)leg)->conduit);
}

/* ---- what the client sends ---- */

/* Reads more of the client; whether more came. */
static bool
more(struct h1_server *server)
{
	int status = conduit_fill(server->conduit);

	if (status == STATUS_OK)
		return true;
	server->hungry = status == STATUS_AGAIN;
	if (server->hungry)
		return false;
	if (status == STATUS_CLOSED && http1_body_may_end(&server->body)) {
		server->body_ended = true;
		exchange_end(server->leg.exchange, &server->leg, NULL);
		return false;
	}
	/* Before the end of a body, so it is no end. */
	exchange_fail(server->leg.exchange, &server->leg,
	    status == STATUS_FULL ? REASON_MALFORMED : REASON_CLIENT_ABORT);
	return false;
}

static bool
read_body(struct h1_server *server)
{
	struct exchange *exchange = server->leg.exchange;
	size_t space = exchange_room(exchange, &server->leg);
	struct cursor input = conduit_input(server->conduit), slice,
		      rest = input;
	struct header trailers = { .count = 0 };
	bool cut = rest.left > space;

	if (cut)
		rest.left = space;
	switch (http1_body_read(&server->body, &rest, &slice, &trailers)) {
	case PARSE_OK:
		server->body_ended = true;
		exchange_end(exchange, &server->leg, &trailers);
		conduit_eat(server->conduit, (size_t)(rest.at - input.at));
		return false;
	case PARSE_BAD:
		exchange_fail(exchange, &server->leg, REASON_MALFORMED);
		return false;
	case PARSE_MORE:
		break;
	}
	if (slice.left > 0) {
		flow_set_deadline(server->flow, LIMIT_IDLE_MS);
		exchange_body(exchange, &server->leg, slice);
	}
	conduit_eat(server->conduit, (size_t)(rest.at - input.at));
	if (slice.left > 0 || rest.at != input.at)
		return true;
	if (!cut && space > 0)
		return more(server);
	/* Stuck for want of room over there: sending may make some. */
	exchange_flush(exchange);
	return server->leg.exchange == exchange &&
	       exchange_room(exchange, &server->leg) > space;
}

/* What nobody takes would wake us without end. */
static void
wait_for_input(struct h1_server *server)
{
	if (server->head_eaten && !server->body_ended)
		conduit_want_input(server->conduit, server->hungry);
}

static void
pull(struct leg *leg)
{
	struct h1_server *server = (struct h1_server *)leg;
	struct exchange *exchange = leg->exchange;
	int turns = 0;
	bool going = true;

	if (!server->head_eaten && exchange_releases_head(exchange)) {
		conduit_eat(server->conduit, server->request->head.length);
		conduit_pin(server->conduit, false);
		server->head_eaten = true;
	}
	if (!server->head_eaten)
		return;
	server->hungry = false;
	while (going && turns++ < LIMIT_RELAY_TURNS &&
	       leg->exchange == exchange && !server->body_ended)
		going = read_body(server);
	if (going && turns > LIMIT_RELAY_TURNS)
		conduit_kick(server->conduit);
	if (leg->exchange == exchange)
		wait_for_input(server);
}

static const struct leg_ops ops = {
	.respond = respond,
	.refuse = refuse,
	.room = room,
	.body = body,
	.finish = finish,
	.pull = pull,
	.flush = flush,
	.release = release,
	.sent = sent,
	.received = received,
};

/* ---- reading requests ---- */

/* A head that is none: what follows it cannot be read either. */
static void
refuse_malformed(struct h1_server *server, enum head_fault fault)
{
	server->keep_alive = false;
	server->body_ended = false;
	unread_refuse(
	    server->flow, &server->leg, fault, conduit_input(server->conduit));
	linger(server);
}

static void
begin(struct h1_server *server, struct h1_request *request)
{
	server->request = request;
	server->head_eaten = false;
	conduit_pin(server->conduit, true);
	server->body = http1_body_of(request->head.body);
	server->body_ended = request->head.body.framing == MESSAGE_NO_BODY ||
			     (request->head.body.framing == MESSAGE_LENGTH &&
				 request->head.body.length == 0);
	server->keep_alive = request->head.keep_alive &&
			     !server->flow->one_request &&
			     request->head.version != MESSAGE_HTTP_1_0;
	server->sending = MESSAGE_NO_BODY;
	set_state(server, H1_SERVER_BUSY, LIMIT_IDLE_MS);
	if (!exchange_begin(
		server->flow, &server->leg, &request->head, &request->path))
		flow_close(server->flow, REASON_OVERLOAD);
}

/* The client's end, or its failure, between requests. */
static void
on_ended(struct h1_server *server, int status)
{
	bool idle = conduit_input(server->conduit).left == 0;

	if (status == STATUS_FULL) {
		refuse_malformed(server, HEAD_FAULT_HEAD_LONG);
		return;
	}
	/* Many clients leave without the TLS way of saying so. */
	if (idle)
		flow_close(server->flow, REASON_NONE);
	else
		flow_close(server->flow, REASON_CLIENT_ABORT);
}

/* More of a head that is not whole, or has not begun; whether to go on. */
static bool
read_more(struct h1_server *server)
{
	bool begun = conduit_input(server->conduit).left > 0;
	int status = conduit_fill(server->conduit);

	if (status == STATUS_OK) {
		/* From its first byte on; more bytes give no more time. */
		if (!begun)
			flow_set_deadline(server->flow, LIMIT_HEAD_MS);
		return true;
	}
	if (status != STATUS_AGAIN)
		on_ended(server, status);
	return false;
}

/* Reads one head; whether to go on. */
static bool
read_head(struct h1_server *server)
{
	struct cursor input = conduit_input(server->conduit);
	struct h1_request *request;
	enum head_fault fault;
	int status = STATUS_AGAIN;

	if (input.left > 0)
		status = h1_request_read(server->flow, input, &request, &fault);
	switch (status) {
	case STATUS_OK:
		begin(server, request);
		return true;
	case STATUS_AGAIN:
		return read_more(server);
	case STATUS_MALFORMED:
		refuse_malformed(server, fault);
		return false;
	default:
		flow_close(server->flow, REASON_OVERLOAD);
		return false;
	}
}

/* An exchange is under way: its body, what is sent ahead, or an abort. */
static void
serve(struct h1_server *server)
{
	struct exchange *exchange = server->leg.exchange;
	int status = STATUS_AGAIN;

	exchange_drained(exchange, &server->leg);
	if (server->leg.exchange != exchange)
		return;
	pull(&server->leg);
	if (server->leg.exchange != exchange)
		return;
	if (server->body_ended || !server->head_eaten) {
		status = conduit_fill(server->conduit);
		/* A half-closed client still waits for its answer. */
		conduit_want_input(server->conduit,
		    status == STATUS_OK || status == STATUS_AGAIN);
	}
	if (status == STATUS_SYSTEM || status == STATUS_MALFORMED ||
	    (status == STATUS_CLOSED && exchange_is_held(exchange))) {
		exchange_fail(exchange, &server->leg, REASON_CLIENT_ABORT);
		return;
	}
	exchange_flush(exchange);
}

static void
drain(struct h1_server *server)
{
	int status;

	do {
		struct cursor input = conduit_input(server->conduit);

		conduit_eat(server->conduit, input.left);
		status = conduit_fill(server->conduit);
	} while (status == STATUS_OK);
	if (status != STATUS_AGAIN)
		flow_close(server->flow, REASON_NONE);
}

static void
on_ready(void *arg)
{
	struct h1_server *server = arg;
	int status;

	if (server->state == H1_SERVER_GONE)
		return;
	status = server->state == H1_SERVER_LINGERING
		     ? conduit_shutdown(server->conduit)
		     : conduit_flush(server->conduit);
	if (status != STATUS_OK && status != STATUS_AGAIN) {
		server->broken = true;
		flow_close(server->flow, REASON_CLIENT_ABORT);
		return;
	}
	while (server->state == H1_SERVER_READING)
		if (!read_head(server))
			break;
	if (server->state == H1_SERVER_BUSY && server->leg.exchange != NULL)
		serve(server);
	if (server->state == H1_SERVER_LINGERING)
		drain(server);
}

/* ---- the state ---- */

static void
destroy(void *arg)
{
	struct h1_server *server = arg;

	free(server->request);
	if (server->broken)
		conduit_reset(server->conduit);
	else
		conduit_free(server->conduit);
	free(server);
}

static bool
begin_serving(struct flow *flow, struct h1_server *server)
{
	struct stream *stream = flow_take_stream(flow);

	if (stream == NULL)
		return false;
	server->conduit = conduit_new(flow->plane, stream, on_ready, server);
	return server->conduit != NULL;
}

static void
on_opened(struct sink_wait *wait, int64_t seq)
{
	struct h1_server *server =
	    (struct h1_server *)((char *)wait -
				 offsetof(struct h1_server, opening));

	/* If the audit is gone, each request is refused for itself. */
	server->flow->open_seq = seq;
}

void
h1_server_enter(struct flow *flow)
{
	struct h1_server *server = calloc(1, sizeof(*server));

	if (server == NULL || !begin_serving(flow, server)) {
		if (server != NULL)
			conduit_free(server->conduit);
		free(server);
		flow_close(flow, REASON_OVERLOAD);
		return;
	}
	server->leg.ops = &ops;
	server->flow = flow;
	server->opening.on_accepted = on_opened;
	flow->server = server;
	set_state(server, H1_SERVER_READING, LIMIT_HEAD_MS);
	if (!flow->opened && !flow_is_condemned(flow) &&
	    record_open(flow, &server->opening) != STATUS_OK)
		flow->reason = REASON_AUDIT_UNAVAILABLE;
	conduit_want_input(server->conduit, true);
	conduit_kick(server->conduit);
}

void
h1_server_leave(struct flow *flow)
{
	struct h1_server *server = flow->server;

	if (server == NULL)
		return;
	flow->server = NULL;
	server->state = H1_SERVER_GONE;
	sink_forget(flow->plane->sink, &server->opening);
	conduit_want_input(server->conduit, false);
	if (server->leg.exchange != NULL)
		exchange_abort(server->leg.exchange,
		    flow->reason == REASON_NONE ? REASON_UPSTREAM_TIMEOUT
						: flow->reason);
	server->freeing =
	    (struct loop_deferred){ .call = destroy, .arg = server };
	loop_defer(flow->plane->loop, &server->freeing);
}

void
h1_server_judge_again(struct flow *flow)
{
	struct h1_server *server;

	judge_again(flow);
	server = flow->server;
	if (!flow_is_closing(flow) && server != NULL &&
	    server->leg.exchange != NULL)
		exchange_judge_again(server->leg.exchange);
}
