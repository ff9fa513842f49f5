#include "gateway/flow/h1_client.h"

#include "gateway/flow/carriers.h"
#include "gateway/flow/conduit.h"
#include "gateway/flow/exchange.h"
#include "gateway/flow/leg.h"
#include "gateway/flow/plane.h"
#include "gateway/flow/upgrade.h"
#include "gateway/proc/loop.h"
#include "gateway/proto/http1.h"
#include "gateway/proto/http1_body.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

enum h1_client_state {
	H1_CLIENT_IDLE, /* between exchanges */
	H1_CLIENT_HEAD, /* the head of an answer is awaited */
	H1_CLIENT_BODY,
	H1_CLIENT_SPENT /* serves no more */
};

struct h1_client {
	struct leg leg;
	struct carrier carrier;
	struct plane *plane;
	struct conduit *conduit;
	enum h1_client_state state;
	struct loop_deferred freeing;
	bool broken; /* its end must not look whole */

	char method[LIMIT_HTTP_METHOD + 1];
	bool may_switch; /* the request asked for another protocol */
	char key[UPGRADE_KEY]; /* of ours, for a client that has none; or "" */
	enum message_framing sending; /* of the request's body */
	struct http1_body body; /* of the answer */
	bool keep_alive;
	bool hungry; /* it has eaten what it can and needs more */
};

static void
destroy(void *arg)
{
	struct h1_client *client = arg;

	if (client->broken)
		conduit_reset(client->conduit);
	else
		conduit_free(client->conduit);
	free(client);
}

static struct h1_client *
of(struct carrier *carrier)
{
	return (struct h1_client *)((char *)carrier -
				    offsetof(struct h1_client, carrier));
}

static void
close_it(struct carrier *carrier)
{
	struct h1_client *client = of(carrier);

	client->state = H1_CLIENT_SPENT;
	conduit_want_input(client->conduit, false);
	client->freeing =
	    (struct loop_deferred){ .call = destroy, .arg = client };
	loop_defer(client->plane->loop, &client->freeing);
}

/* The leg it serves was told; whether there is still something to do. */
static bool
fail(struct h1_client *client, enum reason reason)
{
	client->state = H1_CLIENT_SPENT;
	client->broken = true;
	exchange_fail(client->leg.exchange, &client->leg, reason);
	return false;
}

/* The peer's side has ended, in one way or another. */
static bool
on_ended(struct h1_client *client, int status)
{
	bool whole = status == STATUS_CLOSED &&
		     client->state == H1_CLIENT_BODY &&
		     http1_body_may_end(&client->body);

	if (!whole)
		return fail(client, REASON_UPSTREAM_RESET);
	client->keep_alive = false;
	client->state = H1_CLIENT_SPENT;
	exchange_end(client->leg.exchange, &client->leg, NULL);
	return false;
}

/* Reads more; whether more came. */
static bool
more(struct h1_client *client)
{
	int status = conduit_fill(client->conduit);

	if (status == STATUS_OK)
		return true;
	client->hungry = status == STATUS_AGAIN;
	if (client->hungry)
		return false;
	if (status == STATUS_FULL)
		return fail(client, REASON_UPSTREAM_MALFORMED);
	return on_ended(client, status);
}

static void
end_body(struct h1_client *client, const struct header *trailers)
{
	client->state = client->keep_alive ? H1_CLIENT_IDLE : H1_CLIENT_SPENT;
	exchange_end(client->leg.exchange, &client->leg, trailers);
}

/* A client with a key of its own looks for itself. */
static bool
is_proven(const struct h1_client *client, const struct response *response)
{
	struct cursor accept;

	if (client->key[0] == '\0')
		return true;
	return header_find(
		   &response->header, "Sec-WebSocket-Accept", &accept) &&
	       upgrade_is_proven(client->key, accept);
}

static bool
read_head(struct h1_client *client)
{
	struct response response;
	enum head_fault fault;
	struct exchange *exchange = client->leg.exchange;

	switch (http1_response_parse(conduit_input(client->conduit),
	    client->method, &response, &fault)) {
	case PARSE_MORE:
		return more(client);
	case PARSE_BAD:
		exchange_fail_unread(exchange, &client->leg, fault,
		    conduit_input(client->conduit));
		return false;
	case PARSE_OK:
		break;
	}
	/* Nobody asked: it would be a tunnel that no rule has judged. */
	if (response.status == 101 &&
	    (!client->may_switch || !is_proven(client, &response)))
		return fail(client, REASON_UPSTREAM_MALFORMED);
	if (!response_is_interim(&response)) {
		client->state = H1_CLIENT_BODY;
		client->body = http1_body_of(response.body);
		client->keep_alive =
		    response.keep_alive &&
		    response.body.framing != MESSAGE_UNTIL_CLOSE;
	}
	if (response.status == 101) {
		struct message_body raw = { .framing = MESSAGE_UNTIL_CLOSE };

		client->sending = MESSAGE_UNTIL_CLOSE;
		client->body = http1_body_of(raw);
		client->keep_alive = false;
	}
	exchange_response(exchange, &response);
	if (client->leg.exchange != exchange)
		return false;
	conduit_eat(client->conduit, response.length);
	return true;
}

static bool
read_body(struct h1_client *client)
{
	struct exchange *exchange = client->leg.exchange;
	size_t room = exchange_room(exchange, &client->leg);
	struct cursor input = conduit_input(client->conduit), slice;
	struct cursor rest = input;
	struct header trailers = { .count = 0 };
	bool cut = rest.left > room;

	if (cut)
		rest.left = room;
	switch (http1_body_read(&client->body, &rest, &slice, &trailers)) {
	case PARSE_OK:
		/* Trailers lie in what would be eaten: then it serves once. */
		if (trailers.count > 0)
			client->keep_alive = false;
		else
			conduit_eat(
			    client->conduit, (size_t)(rest.at - input.at));
		end_body(client, &trailers);
		return false;
	case PARSE_BAD:
		return fail(client, REASON_UPSTREAM_MALFORMED);
	case PARSE_MORE:
		break;
	}
	if (slice.left > 0)
		exchange_body(exchange, &client->leg, slice);
	conduit_eat(client->conduit, (size_t)(rest.at - input.at));
	if (slice.left > 0 || rest.at != input.at)
		return true;
	if (!cut && room > 0)
		return more(client);
	/* Stuck for want of room over there: sending may make some. */
	exchange_flush(exchange);
	return client->leg.exchange == exchange &&
	       exchange_room(exchange, &client->leg) > room;
}

/* What nobody takes would wake us without end. */
static void
wait_for_input(struct h1_client *client)
{
	if (client->state == H1_CLIENT_SPENT)
		return;
	conduit_want_input(
	    client->conduit, client->state != H1_CLIENT_BODY || client->hungry);
}

/* Goes on with the answer as far as it goes. */
static void
pull(struct leg *leg)
{
	struct h1_client *client = (struct h1_client *)leg;
	struct exchange *exchange = leg->exchange;
	int turns = 0;
	bool going = true;

	client->hungry = false;
	while (going && turns++ < LIMIT_RELAY_TURNS &&
	       leg->exchange == exchange && exchange != NULL) {
		switch (client->state) {
		case H1_CLIENT_HEAD:
			going = read_head(client);
			break;
		case H1_CLIENT_BODY:
			going = read_body(client);
			break;
		case H1_CLIENT_IDLE:
		case H1_CLIENT_SPENT:
			going = false;
			break;
		}
	}
	if (going && turns > LIMIT_RELAY_TURNS)
		conduit_kick(client->conduit);
	wait_for_input(client);
}

/* Between exchanges nothing is owed: whatever comes, it is over. */
static void
check_idle(struct h1_client *client)
{
	/* A look that takes nothing needs no buffer. */
	if (conduit_is_quiet(client->conduit) ||
	    conduit_fill(client->conduit) == STATUS_AGAIN)
		return;
	if (client->leg.exchange != NULL)
		(void)fail(client, REASON_UPSTREAM_RESET);
	else
		carriers_drop(&client->carrier);
}

static void
on_ready(void *arg)
{
	struct h1_client *client = arg;
	struct exchange *exchange = client->leg.exchange;
	int status;

	if (client->state == H1_CLIENT_SPENT && exchange == NULL)
		return;
	/* It may be about to be given a request. */
	if (client->state == H1_CLIENT_IDLE) {
		check_idle(client);
		return;
	}
	status = conduit_flush(client->conduit);
	if (status != STATUS_OK && status != STATUS_AGAIN) {
		/* What it said before it broke may be the answer. */
		pull(&client->leg);
		if (client->leg.exchange != NULL)
			(void)fail(client, REASON_UPSTREAM_RESET);
		return;
	}
	exchange_drained(exchange, &client->leg);
	pull(&client->leg);
	if (client->leg.exchange != NULL)
		exchange_flush(client->leg.exchange);
}

/* HTTP/2 has no handshake of its own to prove (RFC 8441 section 5). */
static bool
needs_key(const struct request *head)
{
	return head->version == MESSAGE_HTTP_2 &&
	       header_is(head->upgrade, "websocket");
}

static bool
request(struct leg *leg, const struct leg_request *request)
{
	struct h1_client *client = (struct h1_client *)leg;
	struct cursor_writer out = conduit_writer(client->conduit);
	const struct request *head = request->head;
	struct request proving;

	client->key[0] = '\0';
	if (needs_key(head)) {
		proving = *head;
		if (upgrade_key(client->key) != STATUS_OK ||
		    header_set(&proving.header, "Sec-WebSocket-Key",
			cursor_of_text(client->key)) != STATUS_OK)
			return false;
		head = &proving;
	}
	http1_request_write(head, request->path,
	    head->upgrade.left > 0 ? HTTP1_UPGRADE : HTTP1_KEEP, &out);
	if (!cursor_written(&out))
		return false;
	conduit_wrote(client->conduit, &out);
	memcpy(client->method, head->method, sizeof(client->method));
	client->may_switch = head->upgrade.left > 0;
	client->sending = head->body.framing;
	client->state = H1_CLIENT_HEAD;
	conduit_want_input(client->conduit, true);
	return true;
}

static size_t
room(const struct leg *leg)
{
	const struct h1_client *client = (const struct h1_client *)leg;
	size_t free_bytes = conduit_room(client->conduit);

	if (client->sending != MESSAGE_CHUNKED)
		return free_bytes;
	if (free_bytes <= HTTP1_BODY_CHUNK_LINE + 2)
		return 0;
	return free_bytes - HTTP1_BODY_CHUNK_LINE - 2;
}

static void
flush(struct leg *leg)
{
	struct h1_client *client = (struct h1_client *)leg;
	bool was_full = room(leg) == 0;
	int status = conduit_flush(client->conduit);

	/*
	 * A broken connection is told by its own next tick, and so is the
	 * other side that it may go on: nothing else would wake it.
	 */
	if ((status != STATUS_OK && status != STATUS_AGAIN) ||
	    (was_full && room(leg) > 0))
		conduit_kick(client->conduit);
}

static void
body(struct leg *leg, struct cursor bytes)
{
	struct h1_client *client = (struct h1_client *)leg;
	struct cursor_writer out = conduit_writer(client->conduit);

	if (client->sending == MESSAGE_CHUNKED)
		http1_body_chunk_begin(bytes.left, &out);
	cursor_put(&out, bytes.at, bytes.left);
	if (client->sending == MESSAGE_CHUNKED)
		http1_body_chunk_end(&out);
	conduit_wrote(client->conduit, &out);
}

static void
finish(struct leg *leg, const struct header *trailers)
{
	struct h1_client *client = (struct h1_client *)leg;
	struct cursor_writer out;

	if (client->sending == MESSAGE_CHUNKED) {
		out = conduit_writer(client->conduit);
		http1_body_finish(trailers, &out);
		conduit_wrote(client->conduit, &out);
	}
	if (client->sending == MESSAGE_UNTIL_CLOSE &&
	    conduit_shutdown(client->conduit) != STATUS_OK)
		conduit_kick(client->conduit);
}

static void
release(struct leg *leg, enum leg_end end)
{
	struct h1_client *client = (struct h1_client *)leg;

	if (end == LEG_RESET)
		client->broken = true;
	if (end != LEG_REUSE || conduit_input(client->conduit).left > 0)
		client->state = H1_CLIENT_SPENT;
	if (client->state != H1_CLIENT_IDLE) {
		carriers_drop(&client->carrier);
		return;
	}
	conduit_want_input(client->conduit, true);
	carriers_rest(&client->carrier);
}

static uint64_t
sent(const struct leg *leg)
{
	return conduit_sent(((const struct h1_client *)leg)->conduit);
}

static uint64_t
received(const struct leg *leg)
{
	return conduit_received(((const struct h1_client *)leg)->conduit);
}

static const struct leg_ops ops = {
	.request = request,
	.room = room,
	.body = body,
	.finish = finish,
	.pull = pull,
	.flush = flush,
	.release = release,
	.sent = sent,
	.received = received,
};

static struct leg *
open_it(struct carrier *carrier, const struct request *request_head)
{
	struct h1_client *client = of(carrier);

	(void)request_head;
	/* It may have closed a moment ago: an early look saves a retry. */
	if (carrier->resting)
		check_idle(client);
	if (client->state != H1_CLIENT_IDLE)
		return NULL;
	carriers_wake(carrier);
	client->leg.to = carrier->to;
	return &client->leg;
}

static bool
has_room(const struct carrier *carrier)
{
	return carrier->resting;
}

static const struct carrier_ops carrier_ops = {
	.has_room = has_room,
	.open = open_it,
	.close = close_it,
};

struct carrier *
h1_client_new(struct plane *plane, struct stream *stream)
{
	struct h1_client *client = calloc(1, sizeof(*client));
	struct conduit *conduit = conduit_new(plane, stream, on_ready, client);

	if (client == NULL || conduit == NULL) {
		conduit_free(conduit);
		free(client);
		return NULL;
	}
	client->leg.ops = &ops;
	client->carrier.ops = &carrier_ops;
	client->carrier.version = MESSAGE_HTTP_1_1;
	client->plane = plane;
	client->conduit = conduit;
	return &client->carrier;
}
