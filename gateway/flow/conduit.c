#include "gateway/flow/conduit.h"

#include "gateway/flow/plane.h"
#include "gateway/net/pool.h"
#include "gateway/proc/loop.h"
#include "gateway/tls/stream.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
	unsigned char *bytes; /* from the pool; NULL while empty */
	size_t start, end;
};

struct conduit {
	struct plane *plane;
	struct stream *stream;
	conduit_call *on_ready;
	void *arg;
	/*
	 * Kicks have an event of their own: libevent does not watch the
	 * socket of one that is added while it is active.
	 */
	struct event *readable, *writable, *kicked;
	struct buffer in, out;
	uint64_t sent, received;
	bool ended, said_end, pinned, wants_input, waits_to_write;
};

static void
on_event(evutil_socket_t fd, short what, void *arg)
{
	struct conduit *conduit = arg;

	(void)fd;
	(void)what;
	conduit->on_ready(conduit->arg);
}

struct conduit *
conduit_new(struct plane *plane, struct stream *stream, conduit_call *on_ready,
    void *arg)
{
	struct conduit *conduit = calloc(1, sizeof(*conduit));
	struct event_base *base = loop_base(plane->loop);

	if (conduit == NULL) {
		stream_free(stream);
		return NULL;
	}
	*conduit = (struct conduit){ .plane = plane,
		.stream = stream,
		.on_ready = on_ready,
		.arg = arg };
	conduit->readable = event_new(
	    base, stream_fd(stream), EV_READ | EV_PERSIST, on_event, conduit);
	conduit->writable = event_new(
	    base, stream_fd(stream), EV_WRITE | EV_PERSIST, on_event, conduit);
	conduit->kicked = event_new(base, -1, 0, on_event, conduit);
	if (conduit->readable == NULL || conduit->writable == NULL ||
	    conduit->kicked == NULL) {
		conduit_free(conduit);
		return NULL;
	}
	return conduit;
}

static void
release(struct conduit *conduit)
{
	if (conduit->readable != NULL)
		event_free(conduit->readable);
	if (conduit->writable != NULL)
		event_free(conduit->writable);
	if (conduit->kicked != NULL)
		event_free(conduit->kicked);
	pool_give(conduit->plane->buffers, conduit->in.bytes);
	pool_give(conduit->plane->buffers, conduit->out.bytes);
	free(conduit);
}

void
conduit_free(struct conduit *conduit)
{
	if (conduit == NULL)
		return;
	stream_free(conduit->stream);
	release(conduit);
}

void
conduit_reset(struct conduit *conduit)
{
	if (conduit == NULL)
		return;
	stream_reset(conduit->stream);
	release(conduit);
}

/* Gives an empty buffer back. */
static void
trim(struct conduit *conduit, struct buffer *buffer)
{
	if (buffer->start < buffer->end)
		return;
	pool_give(conduit->plane->buffers, buffer->bytes);
	*buffer = (struct buffer){ 0 };
}

static bool
hold(struct conduit *conduit, struct buffer *buffer)
{
	if (buffer->bytes == NULL)
		buffer->bytes = pool_take(conduit->plane->buffers);
	return buffer->bytes != NULL;
}

static void
move_down(struct buffer *buffer)
{
	if (buffer->start == 0)
		return;
	memmove(buffer->bytes, buffer->bytes + buffer->start,
	    buffer->end - buffer->start);
	buffer->end -= buffer->start;
	buffer->start = 0;
}

int
conduit_fill(struct conduit *conduit)
{
	size_t got;
	int status;

	if (conduit->ended)
		return STATUS_CLOSED;
	if (!hold(conduit, &conduit->in))
		return STATUS_NO_MEMORY;
	if (conduit->in.end == LIMIT_RELAY_BYTES && !conduit->pinned)
		move_down(&conduit->in);
	if (conduit->in.end == LIMIT_RELAY_BYTES)
		return STATUS_FULL;
	status =
	    stream_read(conduit->stream, conduit->in.bytes + conduit->in.end,
		LIMIT_RELAY_BYTES - conduit->in.end, &got);
	if (status == STATUS_OK) {
		conduit->in.end += got;
		conduit->received += got;
		return STATUS_OK;
	}
	trim(conduit, &conduit->in);
	if (status == STATUS_CLOSED)
		conduit->ended = true;
	return status;
}

bool
conduit_is_quiet(const struct conduit *conduit)
{
	return !conduit->ended && stream_is_quiet(conduit->stream);
}

struct cursor
conduit_input(const struct conduit *conduit)
{
	return cursor_of(conduit->in.bytes + conduit->in.start,
	    conduit->in.end - conduit->in.start);
}

void
conduit_pin(struct conduit *conduit, bool pinned)
{
	conduit->pinned = pinned;
}

void
conduit_eat(struct conduit *conduit, size_t length)
{
	conduit->in.start += length;
	trim(conduit, &conduit->in);
}

size_t
conduit_room(const struct conduit *conduit)
{
	return LIMIT_RELAY_BYTES - (conduit->out.end - conduit->out.start);
}

struct cursor_writer
conduit_writer(struct conduit *conduit)
{
	if (!hold(conduit, &conduit->out))
		return (struct cursor_writer){ .overflow = true };
	move_down(&conduit->out);
	return cursor_writer_of(conduit->out.bytes + conduit->out.end,
	    LIMIT_RELAY_BYTES - conduit->out.end);
}

void
conduit_wrote(struct conduit *conduit, const struct cursor_writer *out)
{
	conduit->out.end += out->used;
}

void
conduit_put(struct conduit *conduit, struct cursor bytes)
{
	struct cursor_writer out = conduit_writer(conduit);

	cursor_put(&out, bytes.at, bytes.left);
	conduit_wrote(conduit, &out);
}

/* Watches for the socket to become writable only while something waits. */
static void
wait_to_write(struct conduit *conduit, bool wanted)
{
	if (conduit->waits_to_write == wanted)
		return;
	conduit->waits_to_write = wanted;
	if (wanted)
		(void)event_add(conduit->writable, NULL);
	else
		(void)event_del(conduit->writable);
}

int
conduit_flush(struct conduit *conduit)
{
	int status = stream_flush(conduit->stream);

	while (status == STATUS_OK && conduit->out.start < conduit->out.end) {
		size_t put;

		status = stream_write(conduit->stream,
		    conduit->out.bytes + conduit->out.start,
		    conduit->out.end - conduit->out.start, &put);
		if (status != STATUS_OK)
			break;
		conduit->out.start += put;
		conduit->sent += put;
	}
	trim(conduit, &conduit->out);
	if (status == STATUS_OK && stream_wants_write(conduit->stream))
		status = STATUS_AGAIN;
	wait_to_write(conduit, status == STATUS_AGAIN);
	return status;
}

bool
conduit_is_flushed(const struct conduit *conduit)
{
	return conduit->out.start == conduit->out.end &&
	       !stream_wants_write(conduit->stream);
}

int
conduit_shutdown(struct conduit *conduit)
{
	int status = conduit_flush(conduit);

	/* Said twice, it would fail once the peer has left. */
	if (status != STATUS_OK || conduit->said_end)
		return status;
	status = stream_shutdown(conduit->stream);
	conduit->said_end = status == STATUS_OK;
	wait_to_write(conduit, status == STATUS_AGAIN);
	return status;
}

void
conduit_want_input(struct conduit *conduit, bool wanted)
{
	if (wanted && stream_has_pending(conduit->stream))
		event_active(conduit->kicked, EV_TIMEOUT, 0);
	if (conduit->wants_input == wanted)
		return;
	conduit->wants_input = wanted;
	if (wanted)
		(void)event_add(conduit->readable, NULL);
	else
		(void)event_del(conduit->readable);
}

void
conduit_kick(struct conduit *conduit)
{
	event_active(conduit->kicked, EV_TIMEOUT, 0);
}

uint64_t
conduit_sent(const struct conduit *conduit)
{
	return conduit->sent;
}

uint64_t
conduit_received(const struct conduit *conduit)
{
	return conduit->received;
}
