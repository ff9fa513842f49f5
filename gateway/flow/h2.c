#include "gateway/flow/h2.h"

#include "gateway/flow/conduit.h"
#include "gateway/flow/exchange.h"
#include "gateway/flow/plane.h"
#include "gateway/proc/clock.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>

/* A frame's own head (RFC 9113 section 4.1). */
#define FRAME_HEAD 9

/* A head while its fields come; heads never mix on a connection. */
struct h2_block {
	struct http2_head head;
	unsigned char bytes[LIMIT_HTTP_HEAD];
};

struct h2_tail {
	struct header header;
	unsigned char bytes[];
};

static_assert((int)H2_NO_ERROR == (int)NGHTTP2_NO_ERROR &&
		  (int)H2_PROTOCOL_ERROR == (int)NGHTTP2_PROTOCOL_ERROR &&
		  (int)H2_INTERNAL_ERROR == (int)NGHTTP2_INTERNAL_ERROR &&
		  (int)H2_REFUSED_STREAM == (int)NGHTTP2_REFUSED_STREAM &&
		  (int)H2_CANCEL == (int)NGHTTP2_CANCEL &&
		  (int)H2_ENHANCE_YOUR_CALM == (int)NGHTTP2_ENHANCE_YOUR_CALM,
    "errors have the numbers of RFC 9113");

/* ---- trailers that wait for their body ---- */

static struct h2_tail *
tail_of(const struct header *trailers)
{
	struct cursor_writer out;
	struct h2_tail *tail;
	size_t size = 0;

	for (size_t i = 0; i < trailers->count; i++)
		size += trailers->fields[i].name.left +
			trailers->fields[i].value.left;
	tail = malloc(sizeof(*tail) + size);
	if (tail == NULL)
		return NULL;
	out = cursor_writer_of(tail->bytes, size);
	tail->header.count = trailers->count;
	for (size_t i = 0; i < trailers->count; i++) {
		struct header_field field = trailers->fields[i];
		unsigned char *at = tail->bytes + out.used;

		cursor_put(&out, field.name.at, field.name.left);
		cursor_put(&out, field.value.at, field.value.left);
		tail->header.fields[i] = (struct header_field){
			.name = cursor_of(at, field.name.left),
			.value =
			    cursor_of(at + field.name.left, field.value.left)
		};
	}
	return tail;
}

/* ---- ends ---- */

/* Whose fault it is that what came is no message. */
static enum reason
malformed(const struct h2 *h2)
{
	return h2->side->is_server ? REASON_MALFORMED
				   : REASON_UPSTREAM_MALFORMED;
}

static enum reason
aborted(const struct h2 *h2)
{
	return h2->side->is_server ? REASON_CLIENT_ABORT
				   : REASON_UPSTREAM_RESET;
}

/* The one end of a connection: told once. */
static void
end(struct h2 *h2, enum reason reason)
{
	if (h2->over)
		return;
	h2_stop(h2);
	h2->side->on_over(h2, reason);
}

void
h2_stop(struct h2 *h2)
{
	h2->over = true;
	if (h2->conduit != NULL)
		conduit_want_input(h2->conduit, false);
}

/* Tells the peer why, and ends. */
static void
break_off(struct h2 *h2, enum h2_error error)
{
	(void)nghttp2_session_terminate_session(h2->session, error);
	h2_send(h2);
	h2->settled = true;
}

/* ---- what the peer sends too often ---- */

static bool
is_too_often(struct h2 *h2, unsigned *count, unsigned limit)
{
	int64_t now_us;

	if (++*count <= limit)
		return false;
	now_us = clock_monotonic_us();
	if (now_us - h2->counted_us < LIMIT_H2_COUNT_MS * INT64_C(1000))
		return true;
	h2->counted_us = now_us;
	h2->resets = h2->pings = h2->settings = 0;
	h2->empties = h2->priorities = 0;
	return false;
}

static bool
is_flood(struct h2 *h2, const nghttp2_frame *frame)
{
	switch (frame->hd.type) {
	case NGHTTP2_RST_STREAM:
		return is_too_often(h2, &h2->resets, LIMIT_H2_RESETS);
	case NGHTTP2_PING:
		return is_too_often(h2, &h2->pings, LIMIT_H2_PINGS);
	case NGHTTP2_SETTINGS:
		return is_too_often(h2, &h2->settings, LIMIT_H2_SETTINGS);
	case NGHTTP2_PRIORITY:
		return is_too_often(h2, &h2->priorities, LIMIT_H2_PRIORITIES);
	case NGHTTP2_DATA:
		return frame->hd.length == 0 &&
		       (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0 &&
		       is_too_often(h2, &h2->empties, LIMIT_H2_EMPTIES);
	default:
		return false;
	}
}

/* ---- what comes ---- */

static struct h2_stream *
stream_of(struct h2 *h2, int32_t id)
{
	return nghttp2_session_get_stream_user_data(h2->session, id);
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
	    leg->exchange == NULL || !exchange_is_relaying(leg->exchange))
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

/* The signatures are nghttp2's from here on. */
static int
on_data(nghttp2_session *session, uint8_t flags, int32_t id,
    const uint8_t *bytes, size_t length, void *arg)
{
	struct h2 *h2 = arg;
	struct h2_stream *stream = stream_of(h2, id);
	struct cursor rest = cursor_of(bytes, length);

	(void)flags;
	/* No stream waits for another. */
	(void)nghttp2_session_consume_connection(session, length);
	if (stream == NULL || h2->over || h2->settled)
		return 0;
	if (stream->in_counts && stream->in_left < length) {
		fail(stream, malformed(h2));
		return 0;
	}
	stream->in_left -= stream->in_counts ? length : 0;
	deliver(stream);
	if (stream->leg.exchange == NULL)
		return 0;
	if (stream->in.length == 0) {
		size_t room = exchange_room(stream->leg.exchange, &stream->leg);

		rest.left = room < length ? room : length;
		if (rest.left > 0)
			exchange_body(stream->leg.exchange, &stream->leg, rest);
		stream->in_passed = h2->passed = true;
		consume(stream, rest.left);
		rest = cursor_of(bytes + rest.left, length - rest.left);
	}
	if (backlog_put(&stream->in, rest) != STATUS_OK)
		fail(stream, REASON_OVERLOAD);
	return 0;
}

static int
on_begin_headers(
    nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2 *h2 = arg;

	(void)session;
	(void)frame;
	if (h2->over || h2->settled)
		return 0;
	if (h2->block == NULL)
		h2->block = malloc(sizeof(*h2->block));
	if (h2->block == NULL)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	http2_head_init(
	    &h2->block->head, h2->block->bytes, sizeof(h2->block->bytes));
	return 0;
}

/* NOLINTBEGIN(readability-function-size): nghttp2's eight parameters. */
static int
on_header(nghttp2_session *session, const nghttp2_frame *frame,
    const uint8_t *name, size_t name_length, const uint8_t *value,
    size_t value_length, uint8_t flags, void *arg)
{
	struct h2 *h2 = arg;

	(void)session;
	(void)frame;
	(void)flags;
	if (h2->block != NULL)
		http2_head_add(&h2->block->head, cursor_of(name, name_length),
		    cursor_of(value, value_length));
	return 0;
}
/* NOLINTEND(readability-function-size) */

static void
end_input(struct h2_stream *stream)
{
	if (stream->in_counts && stream->in_left > 0) {
		fail(stream, malformed(stream->h2));
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
			fail(stream, malformed(stream->h2));
			return;
		}
		free(stream->in_tail);
		stream->in_tail = tail_of(&header);
		if (stream->in_tail == NULL) {
			fail(stream, REASON_OVERLOAD);
			return;
		}
	}
	end_input(stream);
}

static int
on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2 *h2 = arg;
	struct h2_stream *stream;
	bool ended = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;

	(void)session;
	if (h2->over || h2->settled)
		return 0;
	if (is_flood(h2, frame)) {
		break_off(h2, H2_ENHANCE_YOUR_CALM);
		return 0;
	}
	/* We said that we want none. */
	if (frame->hd.type == NGHTTP2_PUSH_PROMISE) {
		break_off(h2, H2_PROTOCOL_ERROR);
		return 0;
	}
	if (frame->hd.stream_id == 0)
		return 0;
	stream = stream_of(h2, frame->hd.stream_id);
	if (stream != NULL)
		stream->received += FRAME_HEAD + frame->hd.length;
	if (frame->hd.type == NGHTTP2_DATA && stream != NULL && ended)
		end_input(stream);
	if (frame->hd.type == NGHTTP2_HEADERS && h2->block != NULL) {
		struct h2_block *block = STEAL(h2->block);

		h2->side->on_head(
		    h2, stream, frame->hd.stream_id, &block->head, ended);
		free(block);
	}
	return 0;
}

static int
on_stream_close(nghttp2_session *session, int32_t id, uint32_t error, void *arg)
{
	struct h2 *h2 = arg;
	struct h2_stream *stream = stream_of(h2, id);

	(void)session;
	if (stream == NULL || h2->over)
		return 0;
	stream->closed = true;
	h2->side->on_close(stream, error);
	return 0;
}

static int
on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2 *h2 = arg;
	struct h2_stream *stream;

	if (frame->hd.type == NGHTTP2_GOAWAY &&
	    frame->goaway.error_code != NGHTTP2_NO_ERROR)
		h2->faulty = true;
	if (frame->hd.stream_id == 0)
		return 0;
	stream = stream_of(h2, frame->hd.stream_id);
	if (stream == NULL)
		return 0;
	stream->sent += FRAME_HEAD + frame->hd.length;
	/* RFC 9113 section 8.1: it need not send what nobody will read. */
	if (stream->cut && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
	    nghttp2_session_get_stream_remote_close(session, stream->id) == 0)
		h2_stream_reset(stream, H2_NO_ERROR);
	return 0;
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

/* Moves frames into the conduit while there is room; whether any were. */
static bool
gather(struct h2 *h2)
{
	bool any = false;

	while (conduit_room(h2->conduit) > 0) {
		struct cursor piece = h2->unsent;
		struct cursor_writer out;
		const uint8_t *bytes;
		ssize_t length;

		if (piece.left == 0) {
			length = nghttp2_session_mem_send(h2->session, &bytes);
			if (length <= 0)
				return any;
			piece = cursor_of(bytes, (size_t)length);
		}
		h2->unsent = piece;
		out = conduit_writer(h2->conduit);
		if (piece.left > out.size)
			piece.left = out.size;
		cursor_put(&out, piece.at, piece.left);
		/* Without a buffer a frame would be missing. */
		if (piece.left == 0 || !cursor_written(&out)) {
			h2->starved = true;
			return false;
		}
		conduit_wrote(h2->conduit, &out);
		h2->unsent.at += piece.left;
		h2->unsent.left -= piece.left;
		any = true;
	}
	return any;
}

static void
send_now(void *arg)
{
	struct h2 *h2 = arg;
	int status = STATUS_OK, turns = 0;
	bool more = true;

	if (h2->over)
		return;
	while (more && status == STATUS_OK && turns++ < LIMIT_H2_TURNS) {
		more = gather(h2);
		status = conduit_flush(h2->conduit);
	}
	if (h2->starved || (status != STATUS_OK && status != STATUS_AGAIN)) {
		end(h2, aborted(h2));
		return;
	}
	/* Others want a turn, and those whose bytes have left are told. */
	if (h2->drained || (more && status == STATUS_OK))
		conduit_kick(h2->conduit);
	if (nghttp2_session_want_read(h2->session) == 0 &&
	    nghttp2_session_want_write(h2->session) == 0 &&
	    conduit_is_flushed(h2->conduit))
		end(h2, h2->faulty ? malformed(h2) : REASON_NONE);
}

void
h2_send(struct h2 *h2)
{
	if (!h2->over)
		loop_defer(h2->plane->loop, &h2->sending);
}

/* ---- the connection ---- */

/* The peer has left; what we have to say of it is said first. */
static void
hear_end(struct h2 *h2)
{
	send_now(h2);
	if (h2->faulty)
		end(h2, malformed(h2));
	/* Between messages many leave without another word. */
	end(h2, h2->count == 0 ? REASON_NONE : aborted(h2));
}

/* Whether more may come in this tick. */
static bool
receive(struct h2 *h2)
{
	int status = conduit_fill(h2->conduit);
	struct cursor input;
	ssize_t taken;

	if (status == STATUS_AGAIN)
		return false;
	if (status != STATUS_OK) {
		hear_end(h2);
		return false;
	}
	input = conduit_input(h2->conduit);
	taken = nghttp2_session_mem_recv(h2->session, input.at, input.left);
	if (taken < 0) {
		(void)nghttp2_session_terminate_session(h2->session,
		    taken == NGHTTP2_ERR_FLOODED ? NGHTTP2_ENHANCE_YOUR_CALM
						 : NGHTTP2_PROTOCOL_ERROR);
		h2->settled = true;
		conduit_eat(h2->conduit, input.left);
		return false;
	}
	conduit_eat(h2->conduit, (size_t)taken);
	return true;
}

static void
tell_drained(struct h2 *h2)
{
	struct h2_stream *stream, *next;

	h2->drained = false;
	for (stream = TAILQ_FIRST(&h2->streams); stream != NULL;
	     stream = next) {
		next = TAILQ_NEXT(stream, next);
		if (!stream->out_drained)
			continue;
		stream->out_drained = false;
		if (stream->leg.exchange != NULL)
			exchange_drained(stream->leg.exchange, &stream->leg);
	}
}

/* Sides of HTTP/1 send what they were given when they are told to. */
static void
flush_passed(struct h2 *h2)
{
	struct h2_stream *stream, *next;

	h2->passed = false;
	for (stream = TAILQ_FIRST(&h2->streams); stream != NULL;
	     stream = next) {
		next = TAILQ_NEXT(stream, next);
		if (!stream->in_passed)
			continue;
		stream->in_passed = false;
		if (stream->leg.exchange != NULL)
			exchange_flush(stream->leg.exchange);
	}
}

static void
on_ready(void *arg)
{
	struct h2 *h2 = arg;
	int turns = 0;

	if (h2->over)
		return;
	if (h2->drained)
		tell_drained(h2);
	while (!h2->over && !h2->settled && turns++ < LIMIT_H2_TURNS)
		if (!receive(h2))
			break;
	if (h2->over)
		return;
	if (h2->settled) {
		/* Nothing it says matters any more; our last word does. */
		conduit_want_input(h2->conduit, false);
		send_now(h2);
		end(h2, malformed(h2));
		return;
	}
	if (turns > LIMIT_H2_TURNS)
		conduit_kick(h2->conduit);
	if (h2->passed)
		flush_passed(h2);
	h2->side->on_active(h2);
	h2_send(h2);
}

static int
make_callbacks(nghttp2_session_callbacks **ret)
{
	nghttp2_session_callbacks *calls;

	if (nghttp2_session_callbacks_new(&calls) != 0)
		return STATUS_NO_MEMORY;
	nghttp2_session_callbacks_set_on_begin_headers_callback(
	    calls, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(calls, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(calls, on_frame);
	nghttp2_session_callbacks_set_on_frame_send_callback(
	    calls, on_frame_sent);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
	    calls, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(
	    calls, on_stream_close);
	*ret = calls;
	return STATUS_OK;
}

/* Windows open as we say, and heads are read by proto/http2 alone. */
static int
make_option(nghttp2_option **ret)
{
	nghttp2_option *option;

	if (nghttp2_option_new(&option) != 0)
		return STATUS_NO_MEMORY;
	nghttp2_option_set_no_auto_window_update(option, 1);
	nghttp2_option_set_no_http_messaging(option, 1);
	nghttp2_option_set_no_closed_streams(option, 1);
	nghttp2_option_set_peer_max_concurrent_streams(
	    option, LIMIT_H2_STREAMS);
	*ret = option;
	return STATUS_OK;
}

static int
make_session(struct h2 *h2)
{
	nghttp2_session_callbacks *calls = NULL;
	nghttp2_option *option = NULL;
	int status = STATUS_NO_MEMORY;

	if (make_callbacks(&calls) == STATUS_OK &&
	    make_option(&option) == STATUS_OK) {
		int made = h2->side->is_server
			       ? nghttp2_session_server_new2(
				     &h2->session, calls, h2, option)
			       : nghttp2_session_client_new2(
				     &h2->session, calls, h2, option);

		status = made == 0 ? STATUS_OK : STATUS_NO_MEMORY;
	}
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(calls);
	return status;
}

static int
submit_settings(struct h2 *h2)
{
	static const nghttp2_settings_entry server[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, LIMIT_H2_STREAMS },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
		    LIMIT_H2_WINDOW_INSIDE },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMIT_HTTP_HEAD },
		{ NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1 },
	};
	static const nghttp2_settings_entry client[] = {
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
		    LIMIT_H2_WINDOW_OUTSIDE },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMIT_HTTP_HEAD },
	};
	bool ours = h2->side->is_server;
	const nghttp2_settings_entry *entries = ours ? server : client;
	size_t count = ours ? sizeof(server) / sizeof(server[0])
			    : sizeof(client) / sizeof(client[0]);

	if (nghttp2_submit_settings(
		h2->session, NGHTTP2_FLAG_NONE, entries, count) != 0 ||
	    nghttp2_session_set_local_window_size(
		h2->session, NGHTTP2_FLAG_NONE, 0, LIMIT_H2_WINDOW_ALL) != 0)
		return STATUS_NO_MEMORY;
	return STATUS_OK;
}

int
h2_init(struct h2 *h2, const struct h2_side *side, struct plane *plane,
    struct stream *stream)
{
	h2->side = side;
	h2->plane = plane;
	h2->counted_us = clock_monotonic_us();
	h2->sending = (struct loop_deferred){ .call = send_now, .arg = h2 };
	TAILQ_INIT(&h2->streams);
	h2->conduit = conduit_new(plane, stream, on_ready, h2);
	if (h2->conduit == NULL || make_session(h2) != STATUS_OK ||
	    submit_settings(h2) != STATUS_OK)
		return STATUS_NO_MEMORY;
	conduit_want_input(h2->conduit, true);
	h2_send(h2);
	return STATUS_OK;
}

/* What can be said at once is; nobody waits for the rest. */
static void
say_goodbye(struct h2 *h2)
{
	if (h2->session == NULL || h2->conduit == NULL)
		return;
	if (!h2->settled)
		(void)nghttp2_session_terminate_session(
		    h2->session, NGHTTP2_NO_ERROR);
	(void)gather(h2);
	if (conduit_flush(h2->conduit) == STATUS_OK)
		(void)!conduit_shutdown(h2->conduit);
}

void
h2_done(struct h2 *h2)
{
	struct h2_stream *stream;

	loop_undefer(h2->plane->loop, &h2->sending);
	h2->over = true;
	say_goodbye(h2);
	while ((stream = TAILQ_FIRST(&h2->streams)) != NULL)
		h2_stream_free(stream);
	nghttp2_session_del(h2->session);
	conduit_free(h2->conduit);
	free(h2->block);
}

void
h2_drain(struct h2 *h2)
{
	(void)nghttp2_submit_goaway(h2->session, NGHTTP2_FLAG_NONE,
	    nghttp2_session_get_last_proc_stream_id(h2->session),
	    NGHTTP2_NO_ERROR, NULL, 0);
	h2_send(h2);
}

bool
h2_is_reading_head(const struct h2 *h2)
{
	return h2->block != NULL;
}

bool
h2_has_room(const struct h2 *h2)
{
	uint32_t theirs = nghttp2_session_get_remote_settings(
	    h2->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);

	return !h2->over && h2->count < theirs &&
	       h2->count < LIMIT_H2_STREAMS &&
	       nghttp2_session_check_request_allowed(h2->session) != 0;
}

bool
h2_takes_connect(const struct h2 *h2)
{
	return nghttp2_session_get_remote_settings(
		   h2->session, NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL) == 1;
}

/* ---- streams ---- */

struct h2_stream *
h2_stream_new(struct h2 *h2, size_t size, const struct leg_ops *ops)
{
	struct h2_stream *stream = calloc(1, size);

	if (stream == NULL)
		return NULL;
	stream->leg.ops = ops;
	stream->h2 = h2;
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

static struct h2_stream *
of(const struct leg *leg)
{
	return unconst(leg);
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
		stream->out_tail = tail_of(trailers);
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
h2_stream_pull(struct leg *leg)
{
	struct h2_stream *stream = of(leg);

	deliver(stream);
	deliver_end(stream);
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
