#include "gateway/flow/h2_stream.h"

#include "gateway/flow/exchange.h"
#include "gateway/flow/h2_state.h"
#include "gateway/flow/h2_tail.h"
#include "gateway/proto/message.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>

struct h2_stream *
h2_stream_new(struct h2 *h2, size_t size, const struct leg_ops *ops)
{
	struct h2_stream *stream = calloc(1, size);

	if (stream == NULL)
		return NULL;
	stream->leg.ops = ops;
	stream->h2 = h2;
	stream->in.held = stream->out.held = &h2->plane->h2_held;
	TAILQ_INSERT_TAIL(&h2->streams, stream, next);
	h2->count++;
	return stream;
}

void
h2_stream_free(struct h2_stream *stream)
{
	struct h2 *h2 = stream->h2;

	if (stream->id != 0 && !stream->closed)
		(void)nghttp2_session_set_stream_user_data(
		    h2->session, stream->id, NULL);
	TAILQ_REMOVE(&h2->streams, stream, next);
	h2->count--;
	backlog_clear(&stream->in);
	backlog_clear(&stream->out);
	free(stream->in_tail);
	free(stream->out_tail);
	free(stream);
}

void
h2_stream_bind(struct h2_stream *stream, int32_t id)
{
	stream->id = id;
	(void)nghttp2_session_set_stream_user_data(
	    stream->h2->session, id, stream);
}

void
h2_stream_expect(struct h2_stream *stream, const struct message_body *body)
{
	stream->in_counts =
	    body->framing == MESSAGE_LENGTH || body->framing == MESSAGE_NO_BODY;
	stream->in_left = body->length;
}

void
h2_stream_reset(struct h2_stream *stream, enum h2_error error)
{
	if (stream->closed || stream->id == 0)
		return;
	backlog_clear(&stream->out);
	(void)nghttp2_submit_rst_stream(
	    stream->h2->session, NGHTTP2_FLAG_NONE, stream->id, error);
	h2_send(stream->h2);
}

/* ---- what comes ---- */

static struct h2_stream *
of(const struct leg *leg)
{
	return unconst(leg);
}

/* Gives the peer room for what was taken. */
static void
consume(struct h2_stream *stream, size_t length)
{
	if (length == 0 || stream->closed)
		return;
	(void)nghttp2_session_consume_stream(
	    stream->h2->session, stream->id, length);
	h2_send(stream->h2);
}

/* Passes on what waits, as far as the exchange has room. */
static void
deliver(struct h2_stream *stream)
{
	struct leg *leg = &stream->leg;
	struct exchange *exchange = leg->exchange;

	while (leg->exchange == exchange && exchange != NULL) {
		struct cursor bytes = backlog_peek(&stream->in);
		size_t room = exchange_room(exchange, leg);

		if (bytes.left > room)
			bytes.left = room;
		if (bytes.left == 0)
			break;
		exchange_body(exchange, leg, bytes);
		backlog_eat(&stream->in, bytes.left);
		consume(stream, bytes.left);
	}
}

/* The end, once all before it was passed on. */
static void
deliver_end(struct h2_stream *stream)
{
	struct leg *leg = &stream->leg;

	/* What has not been judged and sent has no end to be passed on. */
	if (!stream->in_ended || stream->in.length > 0 ||
	    leg->exchange == NULL || !exchange_takes_end(leg->exchange))
		return;
	stream->in_ended = false;
	exchange_end(leg->exchange, leg,
	    stream->in_tail == NULL ? NULL : &stream->in_tail->header);
}

static void
fail(struct h2_stream *stream, enum reason reason)
{
	if (stream->leg.exchange != NULL)
		exchange_fail(stream->leg.exchange, &stream->leg, reason);
	else
		h2_stream_reset(stream, H2_PROTOCOL_ERROR);
}

void
h2_stream_take(struct h2_stream *stream, struct cursor bytes)
{
	struct leg *leg = &stream->leg;
	struct cursor rest = bytes;

	if (stream->in_counts && stream->in_left < bytes.left) {
		fail(stream, h2_malformed(stream->h2));
		return;
	}
	stream->in_left -= stream->in_counts ? bytes.left : 0;
	deliver(stream);
	if (leg->exchange == NULL)
		return;
	if (stream->in.length == 0) {
		size_t room = exchange_room(leg->exchange, leg);

		rest.left = room < bytes.left ? room : bytes.left;
		if (rest.left > 0)
			exchange_body(leg->exchange, leg, rest);
		stream->in_passed = stream->h2->passed = true;
		consume(stream, rest.left);
		rest = cursor_of(bytes.at + rest.left, bytes.left - rest.left);
	}
	if (backlog_put(&stream->in, rest) != STATUS_OK)
		fail(stream, REASON_OVERLOAD);
}

static void
end_input(struct h2_stream *stream)
{
	if (stream->in_counts && stream->in_left > 0) {
		fail(stream, h2_malformed(stream->h2));
		return;
	}
	stream->in_ended = true;
	deliver(stream);
	deliver_end(stream);
}

void
h2_stream_end_input(struct h2_stream *stream, const struct http2_head *trailers)
{
	struct header header;

	if (trailers != NULL) {
		if (http2_trailers_read(trailers, &header) != HEAD_FAULT_NONE) {
			fail(stream, h2_malformed(stream->h2));
			return;
		}
		free(stream->in_tail);
		stream->in_tail = h2_tail_new(&header);
		if (stream->in_tail == NULL) {
			fail(stream, REASON_OVERLOAD);
			return;
		}
	}
	end_input(stream);
}

void
h2_stream_pull(struct leg *leg)
{
	struct h2_stream *stream = of(leg);

	deliver(stream);
	deliver_end(stream);
}

/* ---- what goes ---- */

static nghttp2_nv
nv_of(const struct header_field *field)
{
	return (nghttp2_nv){ .name = unconst(field->name.at),
		.value = unconst(field->value.at),
		.namelen = field->name.left,
		.valuelen = field->value.left,
		.flags = NGHTTP2_NV_FLAG_NONE };
}

static size_t
nvs_of(const struct http2_list *list, nghttp2_nv ret[HTTP2_LIST_MAX])
{
	for (size_t i = 0; i < list->count; i++)
		ret[i] = nv_of(&list->fields[i]);
	return list->count;
}

static void
submit_tail(struct h2_stream *stream)
{
	const struct header *trailers = &stream->out_tail->header;
	nghttp2_nv fields[LIMIT_HTTP_FIELDS];

	for (size_t i = 0; i < trailers->count; i++)
		fields[i] = nv_of(&trailers->fields[i]);
	(void)nghttp2_submit_trailer(
	    stream->h2->session, stream->id, fields, trailers->count);
}

/* NOLINTBEGIN(readability-function-size): nghttp2's seven parameters. */
static ssize_t
on_read(nghttp2_session *session, int32_t id, uint8_t *out, size_t size,
    uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct h2_stream *stream = source->ptr;
	struct cursor_writer writer = cursor_writer_of(out, size);

	(void)session;
	(void)id;
	(void)arg;
	while (writer.used < size && stream->out.length > 0) {
		struct cursor bytes = backlog_peek(&stream->out);

		if (bytes.left > size - writer.used)
			bytes.left = size - writer.used;
		cursor_put(&writer, bytes.at, bytes.left);
		backlog_eat(&stream->out, bytes.left);
	}
	if (stream->out_full && stream->out.length <= LIMIT_H2_OUT / 2) {
		stream->out_full = false;
		stream->out_drained = true;
		stream->h2->drained = true;
	}
	if (stream->out.length == 0 && stream->out_ended) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (stream->out_tail != NULL) {
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
			submit_tail(stream);
		}
		return (ssize_t)writer.used;
	}
	stream->out_waits = writer.used == 0;
	return writer.used == 0 ? NGHTTP2_ERR_DEFERRED : (ssize_t)writer.used;
}
/* NOLINTEND(readability-function-size) */

bool
h2_stream_respond(struct h2_stream *stream, const struct http2_list *list,
    bool interim, bool has_body)
{
	nghttp2_data_provider body = { .source.ptr = stream,
		.read_callback = on_read };
	nghttp2_nv fields[HTTP2_LIST_MAX];
	size_t count = nvs_of(list, fields);
	int status;

	if (!cursor_written(&list->out) || stream->closed)
		return false;
	if (interim)
		status = nghttp2_submit_headers(stream->h2->session,
		    NGHTTP2_FLAG_NONE, stream->id, NULL, fields, count, NULL);
	else
		status = nghttp2_submit_response(stream->h2->session,
		    stream->id, fields, count, has_body ? &body : NULL);
	stream->out_begun = stream->out_begun || (!interim && has_body);
	h2_send(stream->h2);
	return status == 0;
}

bool
h2_stream_request(
    struct h2_stream *stream, const struct http2_list *list, bool has_body)
{
	nghttp2_data_provider body = { .source.ptr = stream,
		.read_callback = on_read };
	nghttp2_nv fields[HTTP2_LIST_MAX];
	size_t count = nvs_of(list, fields);

	if (!cursor_written(&list->out))
		return false;
	stream->id = nghttp2_submit_request(stream->h2->session, NULL, fields,
	    count, has_body ? &body : NULL, stream);
	if (stream->id < 0) {
		stream->id = 0;
		return false;
	}
	stream->out_begun = has_body;
	h2_send(stream->h2);
	return true;
}

size_t
h2_stream_room(const struct leg *leg)
{
	size_t length = of(leg)->out.length;

	return length < LIMIT_H2_OUT ? LIMIT_H2_OUT - length : 0;
}

/* nghttp2 looks again at a stream that had nothing. */
static void
wake(struct h2_stream *stream)
{
	if (stream->out_waits)
		(void)nghttp2_session_resume_data(
		    stream->h2->session, stream->id);
	stream->out_waits = false;
}

void
h2_stream_body(struct leg *leg, struct cursor bytes)
{
	struct h2_stream *stream = of(leg);

	if (stream->closed || !stream->out_begun)
		return;
	if (backlog_put(&stream->out, bytes) != STATUS_OK) {
		/* What is not whole must not look so. */
		h2_stream_reset(stream, H2_INTERNAL_ERROR);
		return;
	}
	stream->out_full = stream->out.length >= LIMIT_H2_OUT;
	wake(stream);
	h2_send(stream->h2);
}

void
h2_stream_finish(struct leg *leg, const struct header *trailers)
{
	struct h2_stream *stream = of(leg);

	if (stream->closed || !stream->out_begun)
		return;
	if (trailers != NULL && trailers->count > 0) {
		stream->out_tail = h2_tail_new(trailers);
		if (stream->out_tail == NULL) {
			h2_stream_reset(stream, H2_INTERNAL_ERROR);
			return;
		}
	}
	stream->out_ended = true;
	wake(stream);
	h2_send(stream->h2);
}

void
h2_stream_flush(struct leg *leg)
{
	h2_send(of(leg)->h2);
}

uint64_t
h2_stream_sent(const struct leg *leg)
{
	return of(leg)->sent;
}

uint64_t
h2_stream_received(const struct leg *leg)
{
	return of(leg)->received;
}
