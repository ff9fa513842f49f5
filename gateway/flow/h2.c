#include "gateway/flow/h2.h"

#include "gateway/flow/conduit.h"
#include "gateway/flow/exchange.h"
#include "gateway/flow/h2_session.h"
#include "gateway/flow/h2_stream.h"
#include "gateway/flow/plane.h"
#include "gateway/proc/clock.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>

/* ---- ends ---- */

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

/* ---- what goes ---- */

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
		end(h2, h2->faulty ? h2_malformed(h2) : REASON_NONE);
}

/* ---- what comes ---- */

/* The peer has left; what we have to say of it is said first. */
static void
hear_end(struct h2 *h2)
{
	send_now(h2);
	if (h2->faulty)
		end(h2, h2_malformed(h2));
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
		end(h2, h2_malformed(h2));
		return;
	}
	if (turns > LIMIT_H2_TURNS)
		conduit_kick(h2->conduit);
	if (h2->passed)
		flush_passed(h2);
	h2->side->on_active(h2);
	h2_send(h2);
}

/* ---- the connection ---- */

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
	if (h2->conduit == NULL || h2_session_open(h2) != STATUS_OK)
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
