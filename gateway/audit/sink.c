#include "gateway/audit/sink.h"

#include "gateway/proc/channel.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/loop.h"
#include "schema/status.h"

#include <event2/event.h>
#include <stdlib.h>
#include <unistd.h>

struct sink {
	struct loop *loop;
	struct channel *channel;
	struct loop_deferred flushing;
	struct event *timer; /* the first wait's deadline */
	uint64_t last, accepted; /* numbers given and taken */
	struct sink_wait *first, **end; /* by rising number */
	void (*on_change)(bool open, void *arg);
	void *arg;
	bool available; /* what the writer says of itself */
	bool stalled; /* a wait ran out, and nothing was accepted since */
	bool gone;
	bool told_open; /* what the owner was told last */
	struct cursor_writer out; /* the frame of this tick */
	unsigned char packet[LIMIT_FRAME];
};

bool
sink_is_open(const struct sink *sink)
{
	return !sink->gone && sink->available && !sink->stalled &&
	       sink_waiting(sink) < LIMIT_EVENTS_WAITING;
}

uint64_t
sink_waiting(const struct sink *sink)
{
	return sink->last - sink->accepted;
}

static void
tell(struct sink *sink)
{
	bool open = sink_is_open(sink);

	if (open == sink->told_open)
		return;
	sink->told_open = open;
	if (sink->on_change != NULL)
		sink->on_change(open, sink->arg);
}

static void
unlink_wait(struct sink *sink, struct sink_wait *wait)
{
	*wait->previous = wait->next;
	if (wait->next != NULL)
		wait->next->previous = wait->previous;
	else
		sink->end = wait->previous;
	wait->previous = NULL;
	wait->next = NULL;
}

static void
finish_wait(struct sink *sink, struct sink_wait *wait, int64_t seq)
{
	unlink_wait(sink, wait);
	wait->on_accepted(wait, seq);
}

static void
arm(struct sink *sink)
{
	int64_t left;
	struct timeval when;

	if (sink->first == NULL) {
		(void)event_del(sink->timer);
		return;
	}
	left = sink->first->deadline_us - clock_monotonic_us();
	if (left < 0)
		left = 0;
	when = (struct timeval){ .tv_sec = left / 1000000,
		.tv_usec = left % 1000000 };
	/* Without a timer nothing would be refused in time. */
	if (event_add(sink->timer, &when) != 0)
		channel_end(sink->channel, STATUS_NO_MEMORY);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct sink *sink = arg;
	int64_t now = clock_monotonic_us();

	(void)fd;
	(void)what;
	while (sink->first != NULL && sink->first->deadline_us <= now) {
		sink->stalled = true;
		finish_wait(sink, sink->first, 0);
	}
	arm(sink);
	tell(sink);
}

/*
 * Everything up to number is a row.  Of those that wait, each has its pair;
 * one without is a mistake of the writer's.
 */
static int
take_accepted(struct sink *sink, struct cursor body)
{
	struct event_accepted accepted;
	uint64_t number;
	int64_t seq;

	if (event_accepted_read(body, &accepted) != STATUS_OK ||
	    accepted.number < sink->accepted || accepted.number > sink->last)
		return STATUS_MALFORMED;
	sink->accepted = accepted.number;
	sink->stalled = false;
	while (event_accepted_next(&accepted, &number, &seq)) {
		if (sink->first == NULL || sink->first->number > number)
			continue; /* it has run out or was forgotten */
		if (sink->first->number < number || seq <= 0 ||
		    number > sink->accepted)
			return STATUS_MALFORMED;
		finish_wait(sink, sink->first, seq);
	}
	if (sink->first != NULL && sink->first->number <= sink->accepted)
		return STATUS_MALFORMED;
	return STATUS_OK;
}

static void
on_frame(struct channel *channel, const struct frame *frame, struct fdpass *fds,
    void *arg)
{
	struct sink *sink = arg;
	int status = STATUS_MALFORMED;

	(void)fds;
	if (frame->type == FRAME_AUDIT_ACCEPTED)
		status = take_accepted(sink, frame->body);
	else if (frame->type == FRAME_AUDIT_STATE)
		status = event_state_read(frame->body, &sink->available);
	if (status != STATUS_OK) {
		channel_end(channel, status);
		return;
	}
	arm(sink);
	tell(sink);
}

static void
on_end(struct channel *channel, int status, void *arg)
{
	struct sink *sink = arg;

	(void)channel;
	(void)status;
	sink->gone = true;
	loop_undefer(sink->loop, &sink->flushing);
	while (sink->first != NULL)
		finish_wait(sink, sink->first, 0);
	(void)event_del(sink->timer);
	tell(sink);
}

static const struct channel_events events = {
	.on_frame = on_frame,
	.on_end = on_end,
};

static void
begin_frame(struct sink *sink)
{
	sink->out =
	    frame_begin(FRAME_AUDIT_EVENTS, sink->packet, sizeof(sink->packet));
}

static void
on_flushing(void *arg)
{
	sink_flush(arg);
}

struct sink *
sink_new(struct loop *loop, int fd)
{
	struct sink *sink = calloc(1, sizeof(*sink));

	if (sink == NULL) {
		(void)close(fd);
		return NULL;
	}
	sink->loop = loop;
	sink->flushing =
	    (struct loop_deferred){ .call = on_flushing, .arg = sink };
	sink->end = &sink->first;
	sink->available = true;
	sink->told_open = true;
	begin_frame(sink);
	sink->channel = channel_new(loop, fd, &events, sink);
	sink->timer = evtimer_new(loop_base(loop), on_timer, sink);
	if (sink->channel == NULL || sink->timer == NULL) {
		sink_free(sink);
		return NULL;
	}
	return sink;
}

void
sink_free(struct sink *sink)
{
	if (sink == NULL)
		return;
	loop_undefer(sink->loop, &sink->flushing);
	if (sink->timer != NULL)
		event_free(sink->timer);
	channel_free(sink->channel);
	free(sink);
}

void
sink_watch(
    struct sink *sink, void (*on_change)(bool open, void *arg), void *arg)
{
	sink->on_change = on_change;
	sink->arg = arg;
}

void
sink_flush(struct sink *sink)
{
	int status;

	/* Two bytes are the type alone. */
	if (sink->gone || sink->out.used <= 2)
		return;
	loop_undefer(sink->loop, &sink->flushing);
	status = channel_send(sink->channel, &sink->out, NULL, 0);
	begin_frame(sink);
	/* A frame that cannot leave is lost rows: nothing more may happen. */
	if (status != STATUS_OK)
		channel_end(sink->channel, status);
}

/* Writes the event behind what is gathered; it must read back. */
static int
gather(struct sink *sink, const struct event *event)
{
	struct cursor_writer before = sink->out;
	struct event again;
	struct cursor block;

	event_write(event, &sink->out);
	if (!cursor_written(&sink->out)) {
		sink->out = before;
		return STATUS_TOO_LONG;
	}
	block =
	    cursor_of(sink->packet + before.used, sink->out.used - before.used);
	if (event_read(&block, &again) != STATUS_OK ||
	    !cursor_is_empty(&block)) {
		sink->out = before;
		return STATUS_MALFORMED;
	}
	return STATUS_OK;
}

int
sink_put(struct sink *sink, struct event *event, struct sink_wait *wait)
{
	int status;

	if (sink->gone)
		return STATUS_CLOSED;
	if (sink_waiting(sink) >= LIMIT_EVENTS_HELD)
		return STATUS_FULL;
	event->number = sink->last + 1;
	status = gather(sink, event);
	if (status == STATUS_TOO_LONG && sink->out.used > 2) {
		sink_flush(sink);
		status = gather(sink, event);
	}
	if (status != STATUS_OK)
		return status;
	sink->last++;
	loop_defer(sink->loop, &sink->flushing);
	if (wait != NULL) {
		wait->number = event->number;
		wait->deadline_us =
		    clock_monotonic_us() + LIMIT_AUDIT_WAIT_MS * 1000L;
		wait->next = NULL;
		wait->previous = sink->end;
		*sink->end = wait;
		sink->end = &wait->next;
		if (sink->first == wait)
			arm(sink);
	}
	tell(sink);
	return STATUS_OK;
}

void
sink_forget(struct sink *sink, struct sink_wait *wait)
{
	if (wait->previous == NULL)
		return;
	unlink_wait(sink, wait);
	arm(sink);
}
