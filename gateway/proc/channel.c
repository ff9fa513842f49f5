#include "gateway/proc/channel.h"

#include "gateway/proc/loop.h"
#include "schema/status.h"

#include <assert.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

/* Packets read in one go, so that one peer cannot keep the loop to itself. */
enum {
	PACKETS_PER_TICK = 64
};

struct waiting {
	STAILQ_ENTRY(waiting) next;
	struct fdpass fds;
	size_t length;
	unsigned char bytes[];
};

struct channel {
	struct loop *loop;
	const struct channel_events *events;
	void *arg;
	struct event *readable, *writable;
	struct loop_deferred ending;
	STAILQ_HEAD(, waiting) queue;
	size_t queued;
	int fd;
	int status; /* of the end; STATUS_OK while it lives */
	bool told;
	bool in_callback, freed;
};

/* What carried a secret keeps nothing of it. */
static void
wipe(unsigned char *packet, size_t length)
{
	struct frame frame;

	if (frame_parse(packet, length, &frame) == STATUS_OK &&
	    frame_is_secret(frame.type))
		explicit_bzero(packet, length);
}

static void
free_waiting(struct waiting *waiting)
{
	fdpass_done(&waiting->fds);
	wipe(waiting->bytes, waiting->length);
	free(waiting);
}

static void
drop_queue(struct channel *channel)
{
	struct waiting *waiting = STAILQ_FIRST(&channel->queue);

	while (waiting != NULL) {
		struct waiting *next = STAILQ_NEXT(waiting, next);

		free_waiting(waiting);
		waiting = next;
	}
	STAILQ_INIT(&channel->queue);
	channel->queued = 0;
}

static void
on_ending(void *arg)
{
	struct channel *channel = arg;

	if (channel->told)
		return;
	channel->told = true;
	channel->events->on_end(channel, channel->status, channel->arg);
}

void
channel_end(struct channel *channel, int status)
{
	if (channel->status != STATUS_OK)
		return;
	channel->status = status == STATUS_OK ? STATUS_CLOSED : status;
	(void)event_del(channel->readable);
	(void)event_del(channel->writable);
	drop_queue(channel);
	(void)close(steal_fd(&channel->fd));
	loop_defer(channel->loop, &channel->ending);
}

static void
release(struct channel *channel)
{
	loop_undefer(channel->loop, &channel->ending);
	if (channel->readable != NULL)
		event_free(channel->readable);
	if (channel->writable != NULL)
		event_free(channel->writable);
	drop_queue(channel);
	if (channel->fd >= 0)
		(void)close(channel->fd);
	free(channel);
}

void
channel_free(struct channel *channel)
{
	if (channel == NULL)
		return;
	if (channel->in_callback) {
		channel->freed = true;
		return;
	}
	release(channel);
}

/* Hands one packet to the owner. */
static void
deliver(struct channel *channel, const unsigned char *packet, size_t length,
    struct fdpass *fds)
{
	struct frame frame;

	if (frame_parse(packet, length, &frame) != STATUS_OK ||
	    frame_descriptors(frame.type) != (int)fds->count) {
		fdpass_done(fds);
		channel_end(channel, STATUS_MALFORMED);
		return;
	}
	channel->in_callback = true;
	channel->events->on_frame(channel, &frame, fds, channel->arg);
	channel->in_callback = false;
	fdpass_done(fds);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	static unsigned char packet[LIMIT_FRAME];
	struct channel *channel = arg;

	(void)what;
	for (int i = 0; i < PACKETS_PER_TICK; i++) {
		struct fdpass fds;
		size_t length;
		int status =
		    fdpass_receive(fd, packet, sizeof(packet), &length, &fds);

		if (status == STATUS_AGAIN)
			return;
		if (status != STATUS_OK) {
			channel_end(channel, status);
			return;
		}
		deliver(channel, packet, length, &fds);
		wipe(packet, length);
		if (channel->freed) {
			release(channel);
			return;
		}
		if (channel->status != STATUS_OK)
			return;
	}
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct channel *channel = arg;

	(void)what;
	while (channel->queued > 0) {
		struct waiting *waiting = STAILQ_FIRST(&channel->queue);
		int status = fdpass_send(fd, waiting->bytes, waiting->length,
		    waiting->fds.fds, waiting->fds.count);

		if (status == STATUS_AGAIN)
			return;
		if (status != STATUS_OK) {
			channel_end(channel, status);
			return;
		}
		STAILQ_REMOVE_HEAD(&channel->queue, next);
		channel->queued--;
		free_waiting(waiting);
	}
	(void)event_del(channel->writable);
	if (channel->events->on_drained == NULL)
		return;
	channel->in_callback = true;
	channel->events->on_drained(channel, channel->arg);
	channel->in_callback = false;
	if (channel->freed)
		release(channel);
}

struct channel *
channel_new(
    struct loop *loop, int fd, const struct channel_events *events, void *arg)
{
	struct channel *channel = calloc(1, sizeof(*channel));
	int flags;

	if (channel == NULL) {
		(void)close(fd);
		return NULL;
	}
	*channel = (struct channel){ .loop = loop,
		.events = events,
		.arg = arg,
		.fd = fd,
		.ending = { .call = on_ending, .arg = channel } };
	STAILQ_INIT(&channel->queue);
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
		goto fail;
	channel->readable = event_new(
	    loop_base(loop), fd, EV_READ | EV_PERSIST, on_readable, channel);
	channel->writable = event_new(
	    loop_base(loop), fd, EV_WRITE | EV_PERSIST, on_writable, channel);
	if (channel->readable == NULL || channel->writable == NULL ||
	    event_add(channel->readable, NULL) != 0)
		goto fail;
	return channel;
fail:
	release(channel);
	return NULL;
}

/* Keeps a packet until the socket takes it. */
static int
enqueue(struct channel *channel, const struct cursor_writer *out,
    const int *fds, size_t count)
{
	struct waiting *waiting;

	if (channel->queued >= LIMIT_CHANNEL_QUEUE)
		return STATUS_FULL;
	waiting = calloc(1, sizeof(*waiting) + out->used);
	if (waiting == NULL)
		return STATUS_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		int copy = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);

		if (copy < 0) {
			fdpass_done(&waiting->fds);
			free(waiting);
			return STATUS_SYSTEM;
		}
		waiting->fds.fds[waiting->fds.count++] = copy;
	}
	waiting->length = out->used;
	memcpy(waiting->bytes, out->bytes, out->used);
	STAILQ_INSERT_TAIL(&channel->queue, waiting, next);
	channel->queued++;
	if (channel->queued == 1)
		(void)event_add(channel->writable, NULL);
	return STATUS_OK;
}

int
channel_send(struct channel *channel, const struct cursor_writer *out,
    const int *fds, size_t count)
{
	int status;

	if (channel->status != STATUS_OK)
		return STATUS_CLOSED;
	if (!cursor_written(out) || out->used > LIMIT_FRAME ||
	    count > LIMIT_FRAME_FDS)
		return STATUS_TOO_LONG;
	if (channel->queued > 0)
		return enqueue(channel, out, fds, count);
	status = fdpass_send(channel->fd, out->bytes, out->used, fds, count);
	if (status == STATUS_AGAIN)
		return enqueue(channel, out, fds, count);
	if (status != STATUS_OK) {
		channel_end(channel, status);
		return STATUS_CLOSED;
	}
	return STATUS_OK;
}

bool
channel_is_drained(const struct channel *channel)
{
	return channel->queued == 0;
}
