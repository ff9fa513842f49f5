#include "gateway/flow/h2_server.h"

#include "gateway/flow/exchange.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/h2.h"
#include "gateway/flow/h2_stream.h"
#include "gateway/flow/judge.h"
#include "gateway/flow/record.h"
#include "gateway/flow/refusal.h"
#include "gateway/flow/unread.h"
#include "gateway/tls/stream.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For a number of seconds. */
#define RETRY_ROOM 16

/* A request while it is under way, with the bytes it borrows from. */
struct h2_request {
	struct request head;
	struct urlpath path;
	unsigned char bytes[];
};

struct h2_server_stream {
	struct h2_stream stream; /* first */
	struct h2_request *request;
	bool responded;
};

struct h2_server {
	struct h2 h2; /* first */
	struct flow *flow;
	struct sink_wait opening; /* of the flow's first row */
	struct loop_deferred freeing;
};

static struct h2_server *
server_of(const struct h2_stream *stream)
{
	return (struct h2_server *)stream->h2;
}

static void
free_stream(struct h2_server_stream *stream)
{
	free(stream->request);
	h2_stream_free(&stream->stream);
}

/* ---- as the exchange sees it ---- */

static bool
respond(struct leg *leg, const struct response *response)
{
	struct h2_server_stream *stream = (struct h2_server_stream *)leg;
	struct response copy = *response;
	struct http2_list list;
	bool interim = response_is_interim(response), has_body;

	/* RFC 8441 section 5: the answer to a switch is a success. */
	if (response->status == 101) {
		copy.status = 200;
		copy.body.framing = MESSAGE_CHUNKED;
		(void)header_drop(&copy.header, "sec-websocket-accept");
	}
	/* Not switched, and a success all the same, would be taken for one. */
	if (response->status >= 200 && response->status < 300 &&
	    stream->request != NULL && stream->request->head.upgrade.left > 0)
		return false;
	has_body =
	    copy.body.framing != MESSAGE_NO_BODY &&
	    (copy.body.framing != MESSAGE_LENGTH || copy.body.length > 0);
	http2_response_list(&copy, &list);
	stream->responded = stream->responded || !interim;
	return h2_stream_respond(&stream->stream, &list, interim, has_body);
}

static bool
is_grpc(const struct h2_server_stream *stream)
{
	struct cursor type;

	return stream->request != NULL &&
	       header_find(
		   &stream->request->head.header, "content-type", &type) &&
	       cursor_literal(&type, "application/grpc");
}

static void
put_field(struct response *response, const char *name, struct cursor value)
{
	/* They are few, and all of them are good. */
	(void)!header_add(&response->header, cursor_of_text(name), value);
}

/* As a gRPC server says it: an end without a beginning. */
static void
refuse_grpc(struct h2_server_stream *stream, const struct refusal *refusal)
{
	static const char digits[] = "0123456789";
	const struct reason_entry *entry = reason_entry(refusal->reason);
	unsigned code = refusal_grpc_status(refusal);
	unsigned char message[REFUSAL_MAX / 2];
	struct cursor_writer out = cursor_writer_of(message, sizeof(message));
	char status[2] = { digits[code / 10], digits[code % 10] };
	struct response response = { .status = 200 };

	refusal_write_grpc(refusal, &out);
	put_field(
	    &response, "content-type", cursor_of_text("application/grpc"));
	put_field(&response, "grpc-status",
	    code < 10 ? cursor_of(status + 1, 1) : cursor_of(status, 2));
	if (cursor_written(&out))
		put_field(
		    &response, "grpc-message", cursor_of(message, out.used));
	put_field(&response, "exeat-reason", cursor_of_text(entry->id));
	(void)!respond(&stream->stream.leg, &response);
}

/* A number of seconds, as in Retry-After. */
static void
put_retry(struct response *response, const struct refusal *refusal,
    char room[RETRY_ROOM])
{
	int length = snprintf(room, RETRY_ROOM, "%u", refusal->retry_s);

	if (refusal->retry_s > 0 && length > 0 && length < RETRY_ROOM)
		put_field(
		    response, "retry-after", cursor_of(room, (size_t)length));
}

static void
refuse_page(struct h2_server_stream *stream, const struct refusal *refusal)
{
	const struct reason_entry *entry = reason_entry(refusal->reason);
	unsigned char bytes[REFUSAL_MAX / 2];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	char retry[RETRY_ROOM];
	struct leg *leg = &stream->stream.leg;
	bool is_head = stream->request != NULL &&
		       strcmp(stream->request->head.method, "HEAD") == 0;
	struct response response = {
		.status = (uint16_t)(refusal->status == 0 ? entry->http_status
							  : refusal->status)
	};

	refusal_write_body(refusal, &out);
	if (!cursor_written(&out))
		out.used = 0;
	response.body.length = out.used;
	response.body.framing = is_head ? MESSAGE_NO_BODY : MESSAGE_LENGTH;
	put_field(&response, "content-type",
	    cursor_of_text("application/problem+json"));
	put_field(&response, "cache-control", cursor_of_text("no-store"));
	put_field(&response, "exeat-reason", cursor_of_text(entry->id));
	put_retry(&response, refusal, retry);
	if (!respond(leg, &response))
		return;
	if (!is_head)
		h2_stream_body(leg, cursor_of(bytes, out.used));
	h2_stream_finish(leg, NULL);
}

static void
refuse(struct leg *leg, const struct refusal *refusal)
{
	struct h2_server_stream *stream = (struct h2_server_stream *)leg;

	/* A stream that has begun to answer can only be broken off. */
	if (stream->responded) {
		h2_stream_reset(&stream->stream, H2_INTERNAL_ERROR);
		return;
	}
	if (is_grpc(stream))
		refuse_grpc(stream, refusal);
	else
		refuse_page(stream, refusal);
	stream->stream.cut = true;
	if (flow_is_condemned(server_of(&stream->stream)->flow))
		h2_drain(stream->stream.h2);
}

static void
release(struct leg *leg, enum leg_end end)
{
	struct h2_server_stream *stream = (struct h2_server_stream *)leg;

	free(STEAL(stream->request));
	if (stream->stream.closed) {
		free_stream(stream);
		return;
	}
	stream->stream.cut = true;
	backlog_clear(&stream->stream.in);
	if (end == LEG_RESET)
		h2_stream_reset(&stream->stream, H2_INTERNAL_ERROR);
}

static void
body(struct leg *leg, struct cursor bytes)
{
	flow_set_deadline(
	    server_of((struct h2_stream *)leg)->flow, LIMIT_IDLE_MS);
	h2_stream_body(leg, bytes);
}

static const struct leg_ops ops = {
	.respond = respond,
	.refuse = refuse,
	.room = h2_stream_room,
	.body = body,
	.finish = h2_stream_finish,
	.pull = h2_stream_pull,
	.flush = h2_stream_flush,
	.release = release,
	.sent = h2_stream_sent,
	.received = h2_stream_received,
};

/* ---- what the client sends ---- */

/* Moves a cursor that borrows from the bytes at from to the copy at to. */
static void
move(struct cursor *cursor, const struct cursor_writer *from,
    const unsigned char *to)
{
	uintptr_t at = (uintptr_t)cursor->at, start = (uintptr_t)from->bytes;

	if (cursor->at != NULL && at >= start && at - start <= from->used)
		cursor->at = to + (at - start);
}

/* The head outlives what it was read from. */
static struct h2_request *
keep(const struct request *head, const struct cursor_writer *bytes)
{
	struct h2_request *request = malloc(sizeof(*request) + bytes->used);

	if (request == NULL)
		return NULL;
	request->head = *head;
	memcpy(request->bytes, bytes->bytes, bytes->used);
	move(&request->head.path, bytes, request->bytes);
	move(&request->head.query, bytes, request->bytes);
	move(&request->head.upgrade, bytes, request->bytes);
	for (size_t i = 0; i < head->header.count; i++) {
		struct header_field *field = &request->head.header.fields[i];

		move(&field->name, bytes, request->bytes);
		move(&field->value, bytes, request->bytes);
	}
	return request;
}

static enum head_fault
read_request(
    struct h2_server_stream *stream, const struct http2_head *head, bool ended)
{
	struct request request;
	struct cursor query;
	enum head_fault fault = http2_request_read(head, ended, &request);

	if (fault != HEAD_FAULT_NONE)
		return fault;
	stream->request = keep(&request, &head->bytes);
	if (stream->request == NULL)
		return HEAD_FAULT_NONE;
	if (urlpath_parse(stream->request->head.path, &stream->request->path,
		&query) != STATUS_OK ||
	    query.left > 0)
		return HEAD_FAULT_TARGET;
	return HEAD_FAULT_NONE;
}

static void
begin(struct h2_server *server, int32_t id, const struct http2_head *head,
    bool ended)
{
	struct h2_stream *stream =
	    h2_stream_new(&server->h2, sizeof(struct h2_server_stream), &ops);
	struct h2_server_stream *ours = (struct h2_server_stream *)stream;
	unsigned char text[LIMIT_EXCERPT];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	enum head_fault fault;

	if (stream == NULL) {
		flow_close(server->flow, REASON_OVERLOAD);
		return;
	}
	h2_stream_bind(stream, id);
	fault = read_request(ours, head, ended);
	if (fault != HEAD_FAULT_NONE) {
		http2_head_show(head, &out);
		unread_refuse(server->flow, &stream->leg, fault,
		    cursor_of(text, out.used));
		return;
	}
	if (ours->request == NULL) {
		h2_stream_reset(stream, H2_REFUSED_STREAM);
		return;
	}
	/* A tunnel has no length. */
	if (ours->request->head.upgrade.left == 0)
		h2_stream_expect(stream, &ours->request->head.body);
	if (!exchange_begin(server->flow, &stream->leg, &ours->request->head,
		&ours->request->path))
		h2_stream_reset(stream, H2_REFUSED_STREAM);
}

static void
on_head(struct h2 *h2, struct h2_stream *stream, int32_t id,
    const struct http2_head *head, bool ended)
{
	if (stream == NULL)
		begin((struct h2_server *)h2, id, head, ended);
	else if (ended)
		h2_stream_end_input(stream, head);
	else
		h2_stream_reset(stream, H2_PROTOCOL_ERROR);
}

static void
on_close(struct h2_stream *stream, uint32_t error)
{
	(void)error;
	/* Its release frees it. */
	if (stream->leg.exchange != NULL)
		exchange_fail(
		    stream->leg.exchange, &stream->leg, REASON_CLIENT_ABORT);
	else
		free_stream((struct h2_server_stream *)stream);
}

static void
on_over(struct h2 *h2, enum reason reason)
{
	flow_close(((struct h2_server *)h2)->flow, reason);
}

static void
on_active(struct h2 *h2)
{
	const struct h2_server *server = (struct h2_server *)h2;

	flow_set_deadline(server->flow,
	    h2_is_reading_head(h2) ? LIMIT_HEAD_MS : LIMIT_IDLE_MS);
}

static const struct h2_side side = {
	.is_server = true,
	.on_head = on_head,
	.on_close = on_close,
	.on_over = on_over,
	.on_active = on_active,
};

/* ---- the state ---- */

static void
on_opened(struct sink_wait *wait, int64_t seq)
{
	struct h2_server *server =
	    (struct h2_server *)((char *)wait -
				 offsetof(struct h2_server, opening));

	/* If the audit is gone, each request is refused for itself. */
	server->flow->open_seq = seq;
}

static void
destroy(void *arg)
{
	struct h2_server *server = arg;

	h2_done(&server->h2);
	free(server);
}

void
h2_server_enter(struct flow *flow)
{
	struct h2_server *server = calloc(1, sizeof(*server));
	struct stream *stream = flow_take_stream(flow);

	if (server == NULL || stream == NULL) {
		stream_free(stream);
		free(server);
		flow_close(flow, REASON_OVERLOAD);
		return;
	}
	server->flow = flow;
	server->opening.on_accepted = on_opened;
	flow->h2_server = server;
	if (h2_init(&server->h2, &side, flow->plane, stream) != STATUS_OK) {
		flow_close(flow, REASON_OVERLOAD);
		return;
	}
	flow_set_deadline(flow, LIMIT_HEAD_MS);
	if (!flow->opened && !flow_is_condemned(flow) &&
	    record_open(flow, &server->opening) != STATUS_OK)
		flow->reason = REASON_AUDIT_UNAVAILABLE;
}

static void
abort_all(struct h2_server *server, enum reason reason)
{
	struct h2_stream *stream, *next;

	for (stream = TAILQ_FIRST(&server->h2.streams); stream != NULL;
	     stream = next) {
		next = TAILQ_NEXT(stream, next);
		if (stream->leg.exchange != NULL)
			exchange_abort(stream->leg.exchange, reason);
	}
}

void
h2_server_leave(struct flow *flow)
{
	struct h2_server *server = STEAL(flow->h2_server);

	if (server == NULL)
		return;
	sink_forget(flow->plane->sink, &server->opening);
	h2_stop(&server->h2);
	abort_all(server, flow->reason == REASON_NONE ? REASON_UPSTREAM_TIMEOUT
						      : flow->reason);
	server->freeing =
	    (struct loop_deferred){ .call = destroy, .arg = server };
	loop_defer(flow->plane->loop, &server->freeing);
}

void
h2_server_judge_again(struct flow *flow)
{
	struct h2_stream *stream, *next;

	judge_again(flow);
	if (flow_is_closing(flow) || flow->h2_server == NULL)
		return;
	for (stream = TAILQ_FIRST(&flow->h2_server->h2.streams); stream != NULL;
	     stream = next) {
		next = TAILQ_NEXT(stream, next);
		if (stream->leg.exchange != NULL)
			exchange_judge_again(stream->leg.exchange);
	}
}
