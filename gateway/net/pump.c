#include "gateway/net/pump.h"

#include "gateway/net/pool.h"
#include "gateway/net/wait.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Events are level-triggered.  Edges would save the changes of interest below,
 * but libevent does not pass EPOLLERR on, and a reset that comes with the last
 * bytes would then be seen by one more read after every short one: a call for
 * each message instead of four for each time a reader falls behind.
 */

/* Full reads of one direction in a tick: other flows want a turn. */
#define ROUNDS 8

/* How often the quiet is looked at before it is too long. */
#define QUIET_CHECKS 4

/* One direction: what comes from one side and goes to the other. */
struct way {
	unsigned char *buffer; /* lent by the pool while left is not 0 */
	size_t at, left;
	bool ended; /* the source has no more */
	bool closed; /* and the other side was told */
	uint64_t bytes;
};

struct pump {
	struct pool *pool;
	int fd[PUMP_SIDES];
	struct event *readable[PUMP_SIDES], *writable[PUMP_SIDES];
	struct way way[PUMP_SIDES]; /* by its source */
	struct event *timer; /* looks for quiet, and tells the end */
	uint64_t seen; /* bytes of both ways when it last looked */
	unsigned quiet;
	bool over;
	struct pump_meter meter;
	struct pump_result result;
	pump_call *on_end;
	void *arg;
};

static enum pump_side
other(enum pump_side side)
{
	return side == PUMP_INSIDE ? PUMP_OUTSIDE : PUMP_INSIDE;
}

/* Closing it will send a reset instead of an end. */
static void
break_off(int fd)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

/* Nothing moves any more; the timer's next call tells the owner. */
static void
pump_finish(
    struct pump *pump, enum pump_end end, enum pump_side side, int error)
{
	pump->over = true;
	pump->result.end = end;
	pump->result.side = side;
	pump->result.error = error;
	for (enum pump_side i = 0; i < PUMP_SIDES; i++) {
		(void)event_del(pump->readable[i]);
		(void)event_del(pump->writable[i]);
		if (end != PUMP_CLEAN)
			break_off(pump->fd[i]);
	}
	event_active(pump->timer, EV_TIMEOUT, 0);
}

static int
pump_fail(struct pump *pump, enum pump_side side, int error)
{
	/* Not connected any more is what shutdown says of a reset. */
	bool reset = error == ECONNRESET || error == EPIPE || error == ENOTCONN;

	pump_finish(pump, reset ? PUMP_RESET : PUMP_FAILED, side, error);
	return STATUS_CLOSED;
}

static void
way_empty(struct pump *pump, struct way *way)
{
	pool_give(pump->pool, STEAL(way->buffer));
	way->at = 0;
	way->left = 0;
}

/* STATUS_OK: all was taken.  STATUS_AGAIN: the rest waits.  Else it is over. */
static int
way_send(struct pump *pump, enum pump_side from)
{
	struct way *way = &pump->way[from];
	enum pump_side to = other(from);
	ssize_t sent =
	    send(pump->fd[to], way->buffer + way->at, way->left, MSG_NOSIGNAL);

	if (sent < 0 && (errno == EAGAIN || errno == EINTR))
		return STATUS_AGAIN;
	if (sent < 0)
		return pump_fail(pump, to, errno);
	way->at += (size_t)sent;
	way->left -= (size_t)sent;
	way->bytes += (uint64_t)sent;
	if (way->left > 0)
		return STATUS_AGAIN;
	way_empty(pump, way);
	return STATUS_OK;
}

/* The source said that it has no more: so do we to the other side. */
static int
way_end(struct pump *pump, enum pump_side from)
{
	struct way *way = &pump->way[from];
	enum pump_side to = other(from);

	way->ended = true;
	(void)event_del(pump->readable[from]);
	if (shutdown(pump->fd[to], SHUT_WR) < 0)
		return pump_fail(pump, to, errno);
	way->closed = true;
	if (pump->way[to].closed)
		pump_finish(pump, PUMP_CLEAN, from, 0);
	return STATUS_CLOSED;
}

/* How many bytes may be read now. */
static size_t
way_room(const struct pump *pump, enum pump_side from)
{
	uint64_t left = LIMIT_RELAY_BYTES;

	if (pump->meter.left != NULL)
		left = pump->meter.left(from, pump->meter.arg);
	return left < LIMIT_RELAY_BYTES ? (size_t)left : LIMIT_RELAY_BYTES;
}

/*
 * One read.  STATUS_OK: the buffer is full, so more may follow at once.
 * STATUS_AGAIN: that was all for now.
 */
static int
way_read(struct pump *pump, enum pump_side from)
{
	struct way *way = &pump->way[from];
	size_t room = way_room(pump, from);
	ssize_t got;
	int error;

	if (room == 0) {
		pump_finish(pump, PUMP_SPENT, from, 0);
		return STATUS_CLOSED;
	}
	way->buffer = pool_take(pump->pool);
	if (way->buffer == NULL)
		return pump_fail(pump, from, ENOMEM);
	got = recv(pump->fd[from], way->buffer, room, 0);
	error = errno;
	if (got > 0) {
		way->left = (size_t)got;
		if (pump->meter.left != NULL)
			pump->meter.spend(from, (size_t)got, pump->meter.arg);
		return (size_t)got == room ? STATUS_OK : STATUS_AGAIN;
	}
	way_empty(pump, way);
	if (got == 0)
		return way_end(pump, from);
	if (error == EAGAIN || error == EINTR)
		return STATUS_AGAIN;
	return pump_fail(pump, from, error);
}

/* Nothing more is read from a source whose bytes nobody takes. */
static void
way_wait(struct pump *pump, enum pump_side from)
{
	(void)event_del(pump->readable[from]);
	if (event_add(pump->writable[other(from)], NULL) < 0)
		(void)pump_fail(pump, other(from), ENOMEM);
}

static void
way_move(struct pump *pump, enum pump_side from)
{
	struct way *way = &pump->way[from];

	for (int i = 0; i < ROUNDS; i++) {
		int more = way_read(pump, from);
		int sent = way->left > 0 ? way_send(pump, from) : STATUS_OK;

		if (sent == STATUS_AGAIN)
			way_wait(pump, from);
		if (sent != STATUS_OK || more != STATUS_OK)
			return;
	}
}

static void
on_inside_readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	way_move(arg, PUMP_INSIDE);
}

static void
on_outside_readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	way_move(arg, PUMP_OUTSIDE);
}

/* The side that fell behind takes bytes again. */
static void
way_resume(struct pump *pump, enum pump_side from)
{
	int sent = way_send(pump, from);

	if (sent == STATUS_AGAIN)
		way_wait(pump, from);
	if (sent != STATUS_OK)
		return;
	if (event_add(pump->readable[from], NULL) < 0)
		(void)pump_fail(pump, from, ENOMEM);
}

static void
on_inside_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	way_resume(arg, PUMP_OUTSIDE);
}

static void
on_outside_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	way_resume(arg, PUMP_INSIDE);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct pump *pump = arg;
	uint64_t bytes =
	    pump->way[PUMP_INSIDE].bytes + pump->way[PUMP_OUTSIDE].bytes;

	(void)fd;
	(void)what;
	if (pump->over) {
		(void)event_del(pump->timer);
		pump->on_end(&pump->result, pump->arg);
		return;
	}
	pump->quiet = bytes == pump->seen ? pump->quiet + 1 : 0;
	pump->seen = bytes;
	if (pump->quiet >= QUIET_CHECKS)
		pump_finish(pump, PUMP_IDLE, PUMP_INSIDE, 0);
}

static int
pump_make_events(
    struct pump *pump, struct event_base *base, const struct pump_order *order)
{
	const event_callback_fn on_readable[] = { on_inside_readable,
		on_outside_readable };
	const event_callback_fn on_writable[] = { on_inside_writable,
		on_outside_writable };

	for (enum pump_side i = 0; i < PUMP_SIDES; i++) {
		pump->readable[i] = event_new(base, order->fd[i],
		    EV_READ | EV_PERSIST, on_readable[i], pump);
		pump->writable[i] = event_new(
		    base, order->fd[i], EV_WRITE, on_writable[i], pump);
		if (pump->readable[i] == NULL || pump->writable[i] == NULL)
			return STATUS_NO_MEMORY;
	}
	pump->timer = event_new(base, -1, EV_PERSIST, on_timer, pump);
	return pump->timer == NULL ? STATUS_NO_MEMORY : STATUS_OK;
}

static int
pump_start_timer(struct pump *pump, unsigned idle_ms)
{
	const struct timeval wait = wait_ms(idle_ms / QUIET_CHECKS);

	return event_add(pump->timer, &wait) < 0 ? STATUS_NO_MEMORY : STATUS_OK;
}

static int
way_load(struct pump *pump, enum pump_side from, struct cursor first)
{
	struct way *way = &pump->way[from];

	assert(first.left <= LIMIT_RELAY_BYTES);
	if (first.left == 0)
		return STATUS_OK;
	way->buffer = pool_take(pump->pool);
	if (way->buffer == NULL)
		return STATUS_NO_MEMORY;
	memcpy(way->buffer, first.at, first.left);
	way->left = first.left;
	return STATUS_OK;
}

/* What came before goes first, and at once. */
static int
way_begin(struct pump *pump, enum pump_side from)
{
	int sent = STATUS_OK;

	if (event_add(pump->readable[from], NULL) < 0)
		return STATUS_NO_MEMORY;
	if (pump->way[from].left > 0)
		sent = way_send(pump, from);
	if (sent == STATUS_AGAIN)
		way_wait(pump, from);
	return STATUS_OK;
}

struct pump *
pump_start(struct event_base *base, struct pool *pool,
    const struct pump_order *order, pump_call *on_end, void *arg)
{
	struct pump *pump = calloc(1, sizeof(*pump));

	if (pump == NULL)
		return NULL;
	assert(pool_size(pool) == LIMIT_RELAY_BYTES);
	pump->pool = pool;
	pump->on_end = on_end;
	pump->arg = arg;
	pump->meter = order->meter;
	pump->fd[PUMP_INSIDE] = -1;
	pump->fd[PUMP_OUTSIDE] = -1;
	if (pump_make_events(pump, base, order) != STATUS_OK ||
	    pump_start_timer(pump, order->idle_ms) != STATUS_OK)
		goto fail;
	for (enum pump_side i = 0; i < PUMP_SIDES; i++) {
		if (way_load(pump, i, order->first[i]) != STATUS_OK)
			goto fail;
	}
	pump->fd[PUMP_INSIDE] = order->fd[PUMP_INSIDE];
	pump->fd[PUMP_OUTSIDE] = order->fd[PUMP_OUTSIDE];
	for (enum pump_side i = 0; i < PUMP_SIDES && !pump->over; i++) {
		if (way_begin(pump, i) != STATUS_OK)
			(void)pump_fail(pump, i, ENOMEM);
	}
	return pump;
fail:
	pump_free(pump);
	return NULL;
}

void
pump_free(struct pump *pump)
{
	if (pump == NULL)
		return;
	for (enum pump_side i = 0; i < PUMP_SIDES; i++) {
		if (pump->readable[i] != NULL)
			event_free(pump->readable[i]);
		if (pump->writable[i] != NULL)
			event_free(pump->writable[i]);
		if (!pump->over && pump->fd[i] >= 0)
			break_off(pump->fd[i]);
		if (pump->fd[i] >= 0)
			(void)close(pump->fd[i]);
		pool_give(pump->pool, pump->way[i].buffer);
	}
	if (pump->timer != NULL)
		event_free(pump->timer);
	free(pump);
}

uint64_t
pump_bytes(const struct pump *pump, enum pump_side from)
{
	return pump->way[from].bytes;
}
