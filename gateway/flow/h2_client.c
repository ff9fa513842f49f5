#include "gateway/flow/h2_client.h"

#include "gateway/flow/carriers.h"
#include "gateway/flow/exchange.h"
#include "gateway/flow/h2.h"
#include "gateway/flow/h2_stream.h"
#include "gateway/flow/plane.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

struct h2_client {
	struct h2 h2; /* first */
	struct carrier carrier;
	bool dropped;
	struct loop_deferred freeing;
};

struct h2_client_stream {
	struct h2_stream stream; /* first */
	char method[LIMIT_HTTP_METHOD + 1];
	bool tunnels; /* it asked for another protocol */
	bool responded;
};

static struct h2_client *
client_of(const struct h2_stream *stream)
{
	return (struct h2_client *)stream->h2;
}

static struct h2_client *
of(const struct carrier *carrier)
{
	return (struct h2_client *)((char *)unconst(carrier) -
				    offsetof(struct h2_client, carrier));
}

/* With its last stream it rests, or is over. */
static void
free_stream(struct h2_stream *stream)
{
	struct h2_client *client = client_of(stream);

	h2_stream_free(stream);
	if (client->h2.count > 0 || client->dropped)
		return;
	if (h2_has_room(&client->h2))
		carriers_rest(&client->carrier);
	else
		carriers_drop(&client->carrier);
}

/* ---- as the exchange sees it ---- */

static bool
request(struct leg *leg, const struct leg_request *request)
{
	struct h2_client_stream *stream = (struct h2_client_stream *)leg;
	const struct request *head = request->head;
	const struct carrier *carrier = &client_of(&stream->stream)->carrier;
	struct http2_list list;
	bool has_body =
	    head->body.framing == MESSAGE_CHUNKED || head->body.length > 0;

	memcpy(stream->method, head->method, sizeof(stream->method));
	stream->tunnels = head->upgrade.left > 0;
	http2_request_list(head, request->path,
	    carrier->key.trust == NULL ? REQUEST_HTTP : REQUEST_HTTPS, &list);
	return h2_stream_request(
	    &stream->stream, &list, has_body || stream->tunnels);
}

static void
release(struct leg *leg, enum leg_end end)
{
	struct h2_stream *stream = (struct h2_stream *)leg;

	if (stream->closed || stream->id == 0 || stream->h2->over) {
		free_stream(stream);
		return;
	}
	backlog_clear(&stream->in);
	if (end != LEG_REUSE)
		h2_stream_reset(stream, H2_CANCEL);
}

static const struct leg_ops ops = {
	.request = request,
	.room = h2_stream_room,
	.body = h2_stream_body,
	.finish = h2_stream_finish,
	.pull = h2_stream_pull,
	.flush = h2_stream_flush,
	.release = release,
	.sent = h2_stream_sent,
	.received = h2_stream_received,
};

/* ---- what the server sends ---- */

static void
fail(struct h2_stream *stream, enum reason reason)
{
	if (stream->leg.exchange != NULL)
		exchange_fail(stream->leg.exchange, &stream->leg, reason);
}

/* RFC 8441 section 5: a success is what a 101 is elsewhere. */
static void
become_tunnel(struct h2_client_stream *stream, struct response *response)
{
	if (!stream->tunnels || response->status != 200)
		return;
	response->status = 101;
	response->reason = cursor_of_text(response_phrase(101));
	response->upgrade = cursor_of_text("websocket");
	response->body = (struct message_body){ 0 };
}

static void
on_response(
    struct h2_client_stream *stream, const struct http2_head *head, bool ended)
{
	struct response response;
	struct exchange *exchange = stream->stream.leg.exchange;
	unsigned char text[LIMIT_EXCERPT];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	enum head_fault fault =
	    http2_response_read(head, stream->method, ended, &response);

	if (fault != HEAD_FAULT_NONE) {
		http2_head_show(head, &out);
		exchange_fail_unread(exchange, &stream->stream.leg, fault,
		    cursor_of(text, out.used));
		return;
	}
	if (response.status >= 200) {
		stream->responded = true;
		if (!stream->tunnels || response.status != 200)
			h2_stream_expect(&stream->stream, &response.body);
		become_tunnel(stream, &response);
	}
	exchange_response(exchange, &response);
	if (ended && stream->stream.leg.exchange == exchange)
		h2_stream_end_input(&stream->stream, NULL);
}

static void
on_head(struct h2 *h2, struct h2_stream *stream, int32_t id,
    const struct http2_head *head, bool ended)
{
	struct h2_client_stream *ours = (struct h2_client_stream *)stream;

	(void)h2;
	(void)id;
	/* Of one that was given up, nothing is wanted. */
	if (stream == NULL || stream->leg.exchange == NULL)
		return;
	if (!ours->responded)
		on_response(ours, head, ended);
	else if (ended)
		h2_stream_end_input(stream, head);
	else
		fail(stream, REASON_UPSTREAM_MALFORMED);
}

static void
on_close(struct h2_stream *stream, uint32_t error)
{
	if (stream->leg.exchange == NULL) {
		free_stream(stream);
		return;
	}
	/* All of it came, and waits for the other side to take it. */
	if (error == H2_NO_ERROR && stream->in_ended)
		return;
	stream->leg.unprocessed = error == H2_REFUSED_STREAM;
	fail(stream, REASON_UPSTREAM_RESET);
}

static void
drop(struct h2_client *client)
{
	if (client->dropped)
		return;
	client->dropped = true;
	carriers_drop(&client->carrier);
}

static void
fail_all(struct h2_client *client, enum reason reason)
{
	struct h2_stream *stream;

	/* Each release frees one: the connection is over. */
	while ((stream = TAILQ_FIRST(&client->h2.streams)) != NULL) {
		if (stream->leg.exchange != NULL)
			fail(stream, reason);
		else
			h2_stream_free(stream);
	}
}

static void
on_over(struct h2 *h2, enum reason reason)
{
	struct h2_client *client = (struct h2_client *)h2;

	/* Nobody may find it any more who is told of a failure. */
	drop(client);
	fail_all(
	    client, reason == REASON_NONE ? REASON_UPSTREAM_RESET : reason);
}

static void
on_active(struct h2 *h2)
{
	struct h2_client *client = (struct h2_client *)h2;

	/* One that is going away and rests will serve nobody. */
	if (client->carrier.resting && !h2_has_room(h2))
		drop(client);
}

static const struct h2_side side = {
	.is_server = false,
	.on_head = on_head,
	.on_close = on_close,
	.on_over = on_over,
	.on_active = on_active,
};

/* ---- as carriers sees it ---- */

static void
destroy(void *arg)
{
	struct h2_client *client = arg;

	h2_done(&client->h2);
	free(client);
}

static void
close_it(struct carrier *carrier)
{
	struct h2_client *client = of(carrier);

	client->dropped = true;
	h2_stop(&client->h2);
	fail_all(client, REASON_UPSTREAM_RESET);
	client->freeing =
	    (struct loop_deferred){ .call = destroy, .arg = client };
	loop_defer(client->h2.plane->loop, &client->freeing);
}

static bool
has_room(const struct carrier *carrier)
{
	return h2_has_room(&of(carrier)->h2);
}

static bool
takes_connect(const struct carrier *carrier)
{
	return h2_takes_connect(&of(carrier)->h2);
}

static struct leg *
open_it(struct carrier *carrier, const struct request *head)
{
	struct h2_client *client = of(carrier);
	struct h2_stream *stream;

	(void)head;
	if (!h2_has_room(&client->h2)) {
		drop(client);
		return NULL;
	}
	stream =
	    h2_stream_new(&client->h2, sizeof(struct h2_client_stream), &ops);
	if (stream == NULL) {
		drop(client);
		return NULL;
	}
	carriers_wake(carrier);
	stream->leg.to = carrier->to;
	return &stream->leg;
}

static const struct carrier_ops carrier_ops = {
	.takes_connect = takes_connect,
	.has_room = has_room,
	.open = open_it,
	.close = close_it,
};

struct carrier *
h2_client_new(struct plane *plane, struct stream *stream)
{
	struct h2_client *client = calloc(1, sizeof(*client));

	if (client == NULL)
		return NULL;
	client->carrier.ops = &carrier_ops;
	client->carrier.version = MESSAGE_HTTP_2;
	if (h2_init(&client->h2, &side, plane, stream) != STATUS_OK) {
		h2_done(&client->h2);
		free(client);
		return NULL;
	}
	return &client->carrier;
}
