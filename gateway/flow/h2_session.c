#include "gateway/flow/h2_session.h"

#include "gateway/flow/h2_state.h"
#include "gateway/flow/h2_stream.h"
#include "gateway/proc/clock.h"
#include "gateway/proto/http2.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>

/* A frame's own head (RFC 9113 section 4.1). */
#define FRAME_HEAD 9

/* A head while its fields come; heads never mix on a connection. */
struct h2_block {
	struct http2_head head;
	unsigned char bytes[LIMIT_HTTP_HEAD];
};

static_assert((int)H2_NO_ERROR == (int)NGHTTP2_NO_ERROR &&
		  (int)H2_PROTOCOL_ERROR == (int)NGHTTP2_PROTOCOL_ERROR &&
		  (int)H2_INTERNAL_ERROR == (int)NGHTTP2_INTERNAL_ERROR &&
		  (int)H2_REFUSED_STREAM == (int)NGHTTP2_REFUSED_STREAM &&
		  (int)H2_CANCEL == (int)NGHTTP2_CANCEL &&
		  (int)H2_ENHANCE_YOUR_CALM == (int)NGHTTP2_ENHANCE_YOUR_CALM,
    "errors have the numbers of RFC 9113");

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

/* ---- what comes; the signatures are nghttp2's ---- */

/* Tells the peer why, and ends. */
static void
break_off(struct h2 *h2, enum h2_error error)
{
	(void)nghttp2_session_terminate_session(h2->session, error);
	h2_send(h2);
	h2->settled = true;
}

static struct h2_stream *
stream_of(struct h2 *h2, int32_t id)
{
	return nghttp2_session_get_stream_user_data(h2->session, id);
}

static int
on_data(nghttp2_session *session, uint8_t flags, int32_t id,
    const uint8_t *bytes, size_t length, void *arg)
{
	struct h2 *h2 = arg;
	struct h2_stream *stream = stream_of(h2, id);

	(void)flags;
	/* No stream waits for another. */
	(void)nghttp2_session_consume_connection(session, length);
	if (stream != NULL && !h2->over && !h2->settled)
		h2_stream_take(stream, cursor_of(bytes, length));
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
		h2_stream_end_input(stream, NULL);
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

/* ---- what both sides are made of ---- */

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
h2_session_open(struct h2 *h2)
{
	int status = make_session(h2);

	return status == STATUS_OK ? submit_settings(h2) : status;
}
