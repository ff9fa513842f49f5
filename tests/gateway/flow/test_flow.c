/* The state of a flow and the table of all: a machine of the test's own. */
#include "gateway/flow/flow.h"

#include "gateway/flow/machine.h"
#include "gateway/flow/table.h"
#include "gateway/proc/loop.h"
#include "gateway/run/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct scene {
	struct loop *loop;
	struct run run;
	struct plane plane;
	int entered[FLOW_STATE_COUNT], left[FLOW_STATE_COUNT];
	int rooms; /* on_room calls */
};

/* Callbacks of a machine have no argument of their own. */
static struct scene *scene;

#define MAY(state) (1U << FLOW_##state)

static void
on_enter(struct flow *flow)
{
	scene->entered[flow->state]++;
}

static void
on_leave(struct flow *flow)
{
	scene->left[flow->state]++;
}

static void
closing_enter(struct flow *flow)
{
	on_enter(flow);
	flow_enter(flow, FLOW_CLOSED);
}

static void
closed_enter(struct flow *flow)
{
	on_enter(flow);
	table_drop(flow->plane->table, flow);
}

static const struct flow_row rows[FLOW_STATE_COUNT] = {
	[FLOW_ACCEPTED] = { .name = "accepted",
	    .enter = on_enter,
	    .followers = MAY(JUDGING) | MAY(CLOSING) },
	[FLOW_JUDGING] = { .name = "judging",
	    .enter = on_enter,
	    .leave = on_leave,
	    .deadline_ms = 1,
	    .late = FLOW_REFUSING,
	    .late_reason = REASON_CLIENT_TIMEOUT,
	    .followers = MAY(REFUSING) | MAY(CLOSING) },
	[FLOW_REFUSING] = { .name = "refusing",
	    .enter = on_enter,
	    .leave = on_leave,
	    .followers = MAY(CLOSING) },
	[FLOW_CLOSING] = { .name = "closing",
	    .enter = closing_enter,
	    .followers = MAY(CLOSED) },
	[FLOW_CLOSED] = { .name = "closed", .enter = closed_enter },
};

static int
setup(void **state)
{
	(void)state;
	scene = calloc(1, sizeof(*scene));
	assert_non_null(scene);
	scene->loop = loop_new_sole();
	scene->plane.loop = scene->loop;
	scene->plane.run = &scene->run;
	scene->plane.table = table_new(2);
	assert_non_null(scene->plane.table);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	table_free(scene->plane.table);
	loop_free(scene->loop);
	free(scene);
	scene = NULL;
	return 0;
}

/* A flow in the table; *ret_fd is the client's end. */
static struct flow *
new_flow(int *ret_fd)
{
	static const struct endpoint nowhere;
	struct flow *flow;
	int pair[2];

	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	flow = flow_new(&scene->plane, rows, pair[0], &nowhere, &nowhere);
	assert_non_null(flow);
	table_add(scene->plane.table, flow);
	*ret_fd = pair[1];
	return flow;
}

static bool
peer_has_left(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static void
refusal_closes_once_and_frees_at_the_end_of_the_tick(void **state)
{
	int fd;
	struct flow *flow = new_flow(&fd);

	(void)state;
	flow_enter(flow, FLOW_JUDGING);
	assert_false(flow_is_condemned(flow));
	flow_refuse(flow, REASON_NO_RULE);
	assert_int_equal(flow->state, FLOW_REFUSING);
	assert_true(flow_is_condemned(flow));
	/* The first reason stands. */
	flow_close(flow, REASON_CLIENT_ABORT);
	assert_int_equal(flow->reason, REASON_NO_RULE);
	assert_true(flow_is_closing(flow));
	/* Whatever comes now comes too late. */
	flow_close(flow, REASON_OVERLOAD);
	flow_refuse(flow, REASON_OVERLOAD);
	assert_int_equal(scene->entered[FLOW_CLOSING], 1);
	assert_int_equal(scene->left[FLOW_JUDGING], 1);
	assert_int_equal(scene->left[FLOW_REFUSING], 1);
	assert_false(peer_has_left(fd));
	loop_settle(scene->loop);
	assert_true(peer_has_left(fd));
	assert_int_equal(table_count(scene->plane.table), 0);
	(void)close(fd);
}

static void
deadline_leads_where_its_row_says(void **state)
{
	int fd;
	struct flow *flow = new_flow(&fd);

	(void)state;
	flow_enter(flow, FLOW_JUDGING);
	while (flow->state == FLOW_JUDGING)
		assert_true(
		    event_base_loop(loop_base(scene->loop), EVLOOP_ONCE) >= 0);
	assert_int_equal(flow->state, FLOW_REFUSING);
	assert_int_equal(flow->reason, REASON_CLIENT_TIMEOUT);
	(void)close(fd);
}

static void
on_room(void *arg)
{
	struct scene *mine = arg;

	mine->rooms++;
}

static void
table_tells_when_there_is_room_again(void **state)
{
	int fds[2];
	struct flow *first = new_flow(&fds[0]), *second;
	struct table *table = scene->plane.table;

	(void)state;
	table_watch(table, on_room, scene);
	assert_true(table_has_room(table));
	second = new_flow(&fds[1]);
	assert_false(table_has_room(table));
	flow_close(first, REASON_NONE);
	assert_int_equal(scene->rooms, 0);
	loop_settle(scene->loop);
	assert_int_equal(scene->rooms, 1);
	assert_true(table_has_room(table));
	flow_close(second, REASON_NONE);
	loop_settle(scene->loop);
	/* There was room already. */
	assert_int_equal(scene->rooms, 1);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void
all_flows_end_with_the_reason_given(void **state)
{
	int fds[2];
	struct flow *first = new_flow(&fds[0]), *second = new_flow(&fds[1]);

	(void)state;
	flow_enter(second, FLOW_JUDGING);
	table_close_all(scene->plane.table, REASON_STOPPING);
	assert_int_equal(first->reason, REASON_STOPPING);
	assert_int_equal(second->reason, REASON_STOPPING);
	loop_settle(scene->loop);
	assert_int_equal(table_count(scene->plane.table), 0);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void
table_frees_what_is_left_and_what_was_about_to_be_freed(void **state)
{
	int fds[2];
	struct flow *first = new_flow(&fds[0]);

	(void)state;
	(void)new_flow(&fds[1]);
	flow_close(first, REASON_NONE);
	table_free(scene->plane.table);
	scene->plane.table = table_new(2);
	loop_settle(scene->loop);
	assert_true(peer_has_left(fds[0]));
	assert_true(peer_has_left(fds[1]));
	(void)close(fds[0]);
	(void)close(fds[1]);
}

/* Whether a step that the machine does not know ends the process. */
static bool
step_aborts(enum flow_state from, enum flow_state to)
{
	pid_t pid = fork();
	int status, fd;

	assert_true(pid >= 0);
	if (pid == 0) {
		const struct rlimit none = { 0, 0 };
		const struct sigaction usual = { .sa_handler = SIG_DFL };
		int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
		struct flow *flow = new_flow(&fd);

		(void)setrlimit(RLIMIT_CORE, &none);
		(void)sigaction(SIGABRT, &usual, NULL);
		(void)dup2(quiet, STDERR_FILENO);
		flow->rows = machine_rows();
		flow->state = from;
		flow_enter(flow, to);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void
step_that_is_not_in_the_table_is_our_mistake_and_aborts(void **state)
{
	static const struct step {
		enum flow_state from, to;
	} steps[] = {
		{ FLOW_ACCEPTED, FLOW_EXCHANGING },
		{ FLOW_JUDGING, FLOW_TUNNELING },
		{ FLOW_SNIFFING, FLOW_TUNNELING },
		{ FLOW_REFUSING, FLOW_DIALING },
		{ FLOW_REFUSING, FLOW_TUNNELING },
		{ FLOW_INTERCEPTING, FLOW_TUNNELING },
		{ FLOW_EXCHANGING, FLOW_TUNNELING },
		{ FLOW_CLOSING, FLOW_JUDGING },
		{ FLOW_CLOSED, FLOW_CLOSING },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		assert_true(step_aborts(steps[i].from, steps[i].to));
}

static void
no_state_reaches_the_world_without_dialling(void **state)
{
	const struct flow_row *real = machine_rows();

	(void)state;
	for (unsigned i = 0; i < FLOW_STATE_COUNT; i++) {
		bool to_tunnel = (real[i].followers & MAY(TUNNELING)) != 0;

		assert_true(!to_tunnel || i == FLOW_DIALING);
		/* A refused flow is told so and closed, and never dialled. */
		if (i == FLOW_REFUSING)
			assert_int_equal(
			    real[i].followers & (MAY(DIALING) | MAY(JUDGING)),
			    0);
		/* Whatever happens, it can be closed. */
		if (i != FLOW_CLOSING && i != FLOW_CLOSED)
			assert_true((real[i].followers & MAY(CLOSING)) != 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(refusal_closes_once_and_frees_at_the_end_of_the_tick),
		TEST(deadline_leads_where_its_row_says),
		TEST(table_tells_when_there_is_room_again),
		TEST(all_flows_end_with_the_reason_given),
		TEST(table_frees_what_is_left_and_what_was_about_to_be_freed),
		TEST(step_that_is_not_in_the_table_is_our_mistake_and_aborts),
		TEST(no_state_reaches_the_world_without_dialling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
