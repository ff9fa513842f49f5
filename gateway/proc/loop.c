#include "gateway/proc/loop.h"

#include "schema/status.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Callbacks run at priority 0, what was put off at priority 1. */
enum {
	PRIORITY_COUNT = 2
};

struct loop {
	struct event_base *base;
	struct event *turn; /* the end of the tick */
	struct loop_deferred *first, **last;
};

struct loop_signal {
	struct event *event;
	loop_call *call;
	void *arg;
};

static void
on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct loop *loop = arg;
	struct loop_deferred *item = loop->first;

	(void)fd;
	(void)what;
	/* What is put off from here on waits for the next turn. */
	loop->first = NULL;
	loop->last = &loop->first;
	while (item != NULL) {
		struct loop_deferred *next = item->next;

		item->next = NULL;
		item->waiting = 0;
		/* The item may be freed by its own call. */
		item->call(item->arg);
		item = next;
	}
}

/* The base that is told of every change at once, or of a tick's together. */
static struct event_base *
base_new(bool together)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;
	int flag = together ? EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST : 0;

	if (config == NULL)
		return NULL;
	if (event_config_set_flag(config, flag) == 0)
		base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

static struct loop *
new_loop(bool together)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (loop == NULL)
		return NULL;
	loop->last = &loop->first;
	loop->base = base_new(together);
	if (loop->base == NULL ||
	    event_base_priority_init(loop->base, PRIORITY_COUNT) != 0)
		goto fail;
	loop->turn = event_new(loop->base, -1, 0, on_turn, loop);
	if (loop->turn == NULL || event_priority_set(loop->turn, 1) != 0)
		goto fail;
	return loop;
fail:
	loop_free(loop);
	return NULL;
}

struct loop *
loop_new(void)
{
	return new_loop(false);
}

struct loop *
loop_new_sole(void)
{
	return new_loop(true);
}

void
loop_free(struct loop *loop)
{
	if (loop == NULL)
		return;
	if (loop->turn != NULL)
		event_free(loop->turn);
	if (loop->base != NULL)
		event_base_free(loop->base);
	free(loop);
}

struct event_base *
loop_base(struct loop *loop)
{
	return loop->base;
}

void
loop_defer(struct loop *loop, struct loop_deferred *item)
{
	if (item->waiting)
		return;
	item->waiting = 1;
	item->next = NULL;
	*loop->last = item;
	loop->last = &item->next;
	event_active(loop->turn, EV_TIMEOUT, 0);
}

void
loop_undefer(struct loop *loop, struct loop_deferred *item)
{
	struct loop_deferred **at = &loop->first;

	if (!item->waiting)
		return;
	while (*at != NULL && *at != item)
		at = &(*at)->next;
	if (*at == NULL)
		return;
	*at = item->next;
	if (loop->last == &item->next)
		loop->last = at;
	item->waiting = 0;
}

void
loop_settle(struct loop *loop)
{
	while (loop->first != NULL)
		on_turn(-1, 0, loop);
}

static void
on_signal(evutil_socket_t number, short what, void *arg)
{
	struct loop_signal *signal = arg;

	(void)number;
	(void)what;
	signal->call(signal->arg);
}

struct loop_signal *
loop_signal_new(struct loop *loop, int number, loop_call *call, void *arg)
{
	struct loop_signal *signal = calloc(1, sizeof(*signal));

	if (signal == NULL)
		return NULL;
	signal->call = call;
	signal->arg = arg;
	signal->event = evsignal_new(loop->base, number, on_signal, signal);
	if (signal->event == NULL || event_add(signal->event, NULL) != 0) {
		loop_signal_free(signal);
		return NULL;
	}
	return signal;
}

void
loop_signal_free(struct loop_signal *signal)
{
	if (signal == NULL)
		return;
	if (signal->event != NULL)
		event_free(signal->event);
	free(signal);
}

int
loop_run(struct loop *loop)
{
	return event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY) < 0
		   ? STATUS_SYSTEM
		   : STATUS_OK;
}

void
loop_stop(struct loop *loop)
{
	(void)event_base_loopbreak(loop->base);
}
