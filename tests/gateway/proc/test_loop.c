#include "gateway/proc/loop.h"

#include "schema/status.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <event2/event.h>
#include <sys/socket.h>
#include <unistd.h>

struct bench {
	struct loop *loop;
	struct loop_deferred first, second;
	int calls;
	struct loop_deferred *freed; /* frees itself */
};

static void
count_and_stop(void *arg)
{
	struct bench *bench = arg;

	bench->calls++;
	loop_stop(bench->loop);
}

static void
put_off_the_second(void *arg)
{
	struct bench *bench = arg;

	bench->calls++;
	loop_defer(bench->loop, &bench->second);
}

static void
free_itself(void *arg)
{
	struct bench *bench = arg;

	free(bench->freed);
	bench->freed = NULL;
	loop_stop(bench->loop);
}

static void
what_is_put_off_is_called_once(void **state)
{
	struct bench bench = { .loop = loop_new() };

	(void)state;
	assert_non_null(bench.loop);
	bench.first.call = count_and_stop;
	bench.first.arg = &bench;
	loop_defer(bench.loop, &bench.first);
	loop_defer(bench.loop, &bench.first);
	assert_int_equal(loop_run(bench.loop), STATUS_OK);
	assert_int_equal(bench.calls, 1);
	loop_free(bench.loop);
}

static void
what_is_put_off_while_it_runs_waits_for_the_next_turn(void **state)
{
	struct bench bench = { .loop = loop_new() };

	(void)state;
	bench.first.call = put_off_the_second;
	bench.second.call = count_and_stop;
	bench.first.arg = bench.second.arg = &bench;
	loop_defer(bench.loop, &bench.first);
	assert_int_equal(loop_run(bench.loop), STATUS_OK);
	assert_int_equal(bench.calls, 2);
	loop_free(bench.loop);
}

static void
what_is_taken_off_again_is_not_called(void **state)
{
	struct bench bench = { .loop = loop_new() };

	(void)state;
	bench.first.call = put_off_the_second;
	bench.second.call = count_and_stop;
	bench.first.arg = bench.second.arg = &bench;
	loop_defer(bench.loop, &bench.first);
	loop_defer(bench.loop, &bench.second);
	loop_undefer(bench.loop, &bench.first);
	loop_undefer(bench.loop, &bench.first);
	assert_int_equal(loop_run(bench.loop), STATUS_OK);
	assert_int_equal(bench.calls, 1);
	loop_free(bench.loop);
}

static void
an_item_may_be_freed_by_its_own_call(void **state)
{
	struct bench bench = { .loop = loop_new() };

	(void)state;
	bench.freed = calloc(1, sizeof(*bench.freed));
	assert_non_null(bench.freed);
	bench.freed->call = free_itself;
	bench.freed->arg = &bench;
	loop_defer(bench.loop, bench.freed);
	assert_int_equal(loop_run(bench.loop), STATUS_OK);
	assert_null(bench.freed);
	loop_free(bench.loop);
}

static void
a_signal_arrives_as_a_call(void **state)
{
	struct bench bench = { .loop = loop_new() };
	struct loop_signal *wanted;

	(void)state;
	wanted = loop_signal_new(bench.loop, SIGUSR1, count_and_stop, &bench);
	assert_non_null(wanted);
	assert_int_equal(raise(SIGUSR1), 0);
	assert_int_equal(loop_run(bench.loop), STATUS_OK);
	assert_int_equal(bench.calls, 1);
	loop_signal_free(wanted);
	loop_free(bench.loop);
}

struct swap {
	struct loop *loop;
	struct event *event;
	int near, far, number; /* number: the socket that was closed */
};

static void
join_sockets(struct swap *swap, event_callback_fn call)
{
	int pair[2];

	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	swap->near = pair[0];
	swap->far = pair[1];
	swap->event = event_new(loop_base(swap->loop), swap->near,
	    EV_READ | EV_PERSIST, call, swap);
	assert_non_null(swap->event);
	assert_int_equal(event_add(swap->event, NULL), 0);
	assert_int_equal(write(swap->far, "x", 1), 1);
}

static void
part_sockets(struct swap *swap)
{
	event_free(swap->event);
	assert_int_equal(close(swap->near), 0);
	assert_int_equal(close(swap->far), 0);
}

static void
on_heir(evutil_socket_t fd, short what, void *arg)
{
	struct swap *swap = arg;

	(void)what;
	assert_int_equal(fd, swap->number);
	loop_stop(swap->loop);
}

static void
on_closing(evutil_socket_t fd, short what, void *arg)
{
	struct swap *swap = arg;

	(void)what;
	swap->number = fd;
	part_sockets(swap);
	join_sockets(swap, on_heir);
	assert_int_equal(swap->near, swap->number);
}

static void
a_socket_that_takes_the_number_of_a_closed_one_is_watched(void **state)
{
	struct swap swap = { .loop = loop_new_sole() };

	(void)state;
	assert_non_null(swap.loop);
	join_sockets(&swap, on_closing);
	assert_int_equal(loop_run(swap.loop), STATUS_OK);
	part_sockets(&swap);
	loop_free(swap.loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_off_is_called_once),
		cmocka_unit_test(
		    what_is_put_off_while_it_runs_waits_for_the_next_turn),
		cmocka_unit_test(what_is_taken_off_again_is_not_called),
		cmocka_unit_test(an_item_may_be_freed_by_its_own_call),
		cmocka_unit_test(a_signal_arrives_as_a_call),
		cmocka_unit_test(
		    a_socket_that_takes_the_number_of_a_closed_one_is_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
