/* The producers' side, with a test in the place of the writer. */
#include "gateway/audit/sink.h"
#include "gateway/proc/fdpass.h"
#include "gateway/proc/loop.h"
#include "schema/frame.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct stage {
	struct loop *loop;
	struct sink *sink;
	int writer; /* the writer's end */
	int changes;
	bool open; /* what on_change said last */
};

struct test_wait {
	struct sink_wait wait;
	int calls;
	int64_t seq;
};

static void
on_change(bool open, void *arg)
{
	struct stage *stage = arg;

	stage->changes++;
	stage->open = open;
}

static void
on_accepted(struct sink_wait *wait, int64_t seq)
{
	struct test_wait *mine = (struct test_wait *)wait;

	mine->calls++;
	mine->seq = seq;
}

static int
setup(void **state)
{
	struct stage *stage = calloc(1, sizeof(*stage));
	int pair[2];

	if (stage == NULL || fdpass_pair(pair) != STATUS_OK)
		return -1;
	stage->loop = loop_new();
	stage->writer = pair[0];
	stage->sink = sink_new(stage->loop, pair[1]);
	stage->open = true;
	sink_watch(stage->sink, on_change, stage);
	*state = stage;
	return 0;
}

static int
teardown(void **state)
{
	struct stage *stage = *state;

	sink_free(stage->sink);
	loop_free(stage->loop);
	if (stage->writer >= 0)
		(void)close(stage->writer);
	free(stage);
	return 0;
}

/* Everything that is ready, and the end of the tick. */
static void
turn(struct stage *stage)
{
	for (int i = 0; i < 10; i++)
		assert_true(event_base_loop(
				loop_base(stage->loop), EVLOOP_NONBLOCK) >= 0);
}

static struct event
an_event(enum event_wait wait)
{
	struct event event = event_empty();

	event.kind = EVENT_DNS;
	event.verdict = EVENT_ALLOW;
	event.wait = wait;
	event.host = cursor_of_text("a.test");
	return event;
}

static uint64_t
put(struct stage *stage, struct test_wait *wait)
{
	struct event event =
	    an_event(wait == NULL ? EVENT_NO_WAIT : EVENT_WAIT_COMMIT);

	if (wait != NULL)
		*wait = (struct test_wait){ .wait.on_accepted = on_accepted };
	assert_int_equal(
	    sink_put(stage->sink, &event, wait == NULL ? NULL : &wait->wait),
	    STATUS_OK);
	return event.number;
}

/* How many events came in the next frame; 0 when there is none. */
static size_t
receive_events(struct stage *stage)
{
	static unsigned char packet[LIMIT_FRAME];
	struct fdpass fds;
	struct frame frame;
	struct event event;
	size_t length, count = 0;
	int status = fdpass_receive(
	    stage->writer, packet, sizeof(packet), &length, &fds);

	if (status == STATUS_AGAIN)
		return 0;
	assert_int_equal(status, STATUS_OK);
	assert_int_equal(frame_parse(packet, length, &frame), STATUS_OK);
	assert_int_equal(frame.type, FRAME_AUDIT_EVENTS);
	for (; !cursor_is_empty(&frame.body); count++)
		assert_int_equal(event_read(&frame.body, &event), STATUS_OK);
	return count;
}

static void
send_out(struct stage *stage, const struct cursor_writer *out)
{
	assert_true(cursor_written(out));
	assert_int_equal(
	    fdpass_send(stage->writer, out->bytes, out->used, NULL, 0),
	    STATUS_OK);
}

/* Accepts up to number, with a pair for it when seq is not 0. */
static void
accept_up_to(struct stage *stage, uint64_t number, int64_t seq)
{
	unsigned char packet[64];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_ACCEPTED, packet, sizeof(packet));

	event_accepted_begin(number, &out);
	if (seq != 0)
		event_accepted_pair(number, seq, &out);
	send_out(stage, &out);
	turn(stage);
}

static void
say_state(struct stage *stage, bool available)
{
	unsigned char packet[8];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_STATE, packet, sizeof(packet));

	event_state_write(available, &out);
	send_out(stage, &out);
	turn(stage);
}

static void
events_of_one_tick_leave_in_one_frame(void **state)
{
	struct stage *stage = *state;

	assert_int_equal(put(stage, NULL), 1);
	assert_int_equal(put(stage, NULL), 2);
	assert_int_equal(put(stage, NULL), 3);
	assert_int_equal(receive_events(stage), 0);
	turn(stage);
	assert_int_equal(receive_events(stage), 3);
	assert_int_equal(receive_events(stage), 0);
	assert_int_equal(sink_waiting(stage->sink), 3);
}

static void
full_frame_leaves_before_the_end_of_the_tick(void **state)
{
	struct stage *stage = *state;
	char object[LIMIT_EVENT_OBJECT];
	size_t first, rest;

	memset(object, 'x', sizeof(object));
	for (int i = 0; i < 40; i++) {
		struct event event = an_event(EVENT_NO_WAIT);

		event.object = cursor_of(object, sizeof(object));
		assert_int_equal(
		    sink_put(stage->sink, &event, NULL), STATUS_OK);
	}
	first = receive_events(stage);
	assert_true(first > 20 && first < 40);
	turn(stage);
	rest = receive_events(stage);
	assert_int_equal(first + rest, 40);
}

static void
wait_is_called_once_with_its_row(void **state)
{
	struct stage *stage = *state;
	struct test_wait wait;

	(void)put(stage, NULL);
	(void)put(stage, &wait);
	(void)put(stage, NULL);
	turn(stage);
	accept_up_to(stage, 1, 0);
	assert_int_equal(wait.calls, 0);
	accept_up_to(stage, 2, 77);
	assert_int_equal(wait.calls, 1);
	assert_int_equal(wait.seq, 77);
	accept_up_to(stage, 3, 0);
	assert_int_equal(wait.calls, 1);
	assert_int_equal(sink_waiting(stage->sink), 0);
}

static void
forgotten_wait_is_not_called(void **state)
{
	struct stage *stage = *state;
	struct test_wait first, second, third;

	(void)put(stage, &first);
	(void)put(stage, &second);
	(void)put(stage, &third);
	sink_forget(stage->sink, &second.wait);
	sink_forget(stage->sink, &second.wait);
	turn(stage);
	accept_up_to(stage, 1, 10);
	accept_up_to(stage, 2, 11);
	accept_up_to(stage, 3, 12);
	assert_int_equal(first.seq, 10);
	assert_int_equal(second.calls, 0);
	assert_int_equal(third.seq, 12);
}

static void
writer_that_leaves_ends_every_wait_with_no_row(void **state)
{
	struct stage *stage = *state;
	struct test_wait first, second;
	struct event event = an_event(EVENT_NO_WAIT);

	(void)put(stage, &first);
	(void)put(stage, &second);
	(void)close(stage->writer);
	stage->writer = -1;
	turn(stage);
	assert_int_equal(first.calls, 1);
	assert_int_equal(first.seq, 0);
	assert_int_equal(second.calls, 1);
	assert_false(sink_is_open(stage->sink));
	assert_false(stage->open);
	assert_int_equal(sink_put(stage->sink, &event, NULL), STATUS_CLOSED);
}

/* A15 */
static void
writer_that_cannot_write_closes_the_sink_until_it_can(void **state)
{
	struct stage *stage = *state;

	assert_true(sink_is_open(stage->sink));
	say_state(stage, false);
	assert_false(sink_is_open(stage->sink));
	assert_false(stage->open);
	/* What was under way may still say how it ended. */
	assert_int_equal(put(stage, NULL), 1);
	say_state(stage, true);
	assert_true(stage->open);
	assert_int_equal(stage->changes, 2);
}

/* A13: nothing is dropped; the producer pauses instead. */
static void
writer_that_is_behind_closes_the_sink_and_nothing_is_dropped(void **state)
{
	struct stage *stage = *state;
	struct event event = an_event(EVENT_NO_WAIT);
	size_t count, total = 0;

	for (int i = 0; i < LIMIT_EVENTS_WAITING; i++) {
		assert_true(sink_is_open(stage->sink));
		(void)put(stage, NULL);
	}
	assert_false(sink_is_open(stage->sink));
	for (int i = LIMIT_EVENTS_WAITING; i < LIMIT_EVENTS_HELD; i++)
		(void)put(stage, NULL);
	assert_int_equal(sink_put(stage->sink, &event, NULL), STATUS_FULL);
	while (total < LIMIT_EVENTS_HELD) {
		turn(stage);
		count = receive_events(stage);
		assert_int_not_equal(count, 0);
		total += count;
	}
	accept_up_to(stage, LIMIT_EVENTS_HELD, 0);
	assert_true(sink_is_open(stage->sink));
}

static void
writer_that_does_not_answer_in_time_is_no_acceptance(void **state)
{
	struct stage *stage = *state;
	struct test_wait wait;

	(void)put(stage, &wait);
	while (wait.calls == 0)
		assert_true(
		    event_base_loop(loop_base(stage->loop), EVLOOP_ONCE) >= 0);
	assert_int_equal(wait.seq, 0);
	assert_false(sink_is_open(stage->sink));
	/* Late is not too late for what comes after. */
	accept_up_to(stage, 1, 5);
	assert_int_equal(wait.calls, 1);
	assert_true(sink_is_open(stage->sink));
}

static void
acceptance_that_cannot_be_ends_the_channel(void **state)
{
	struct stage *stage = *state;
	struct test_wait wait;

	(void)put(stage, &wait);
	turn(stage);
	accept_up_to(stage, 2, 0);
	assert_false(sink_is_open(stage->sink));
	assert_int_equal(wait.calls, 1);
	assert_int_equal(wait.seq, 0);
}

static void
acceptance_without_the_row_that_is_waited_for_ends_the_channel(void **state)
{
	struct stage *stage = *state;
	struct test_wait wait;

	(void)put(stage, &wait);
	turn(stage);
	accept_up_to(stage, 1, 0);
	assert_false(sink_is_open(stage->sink));
	assert_int_equal(wait.seq, 0);
}

static void
event_that_the_writer_would_not_take_is_refused_here(void **state)
{
	struct stage *stage = *state;
	struct event event = an_event(EVENT_NO_WAIT);
	char host[LIMIT_HOST + 1];

	memset(host, 'x', sizeof(host));
	event.host = cursor_of(host, sizeof(host));
	assert_int_equal(sink_put(stage->sink, &event, NULL), STATUS_MALFORMED);
	event = an_event(EVENT_NO_WAIT);
	event.detail = cursor_of_text("not an object");
	assert_int_equal(sink_put(stage->sink, &event, NULL), STATUS_MALFORMED);
	assert_int_equal(put(stage, NULL), 1);
	turn(stage);
	assert_int_equal(receive_events(stage), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events_of_one_tick_leave_in_one_frame),
		TEST(full_frame_leaves_before_the_end_of_the_tick),
		TEST(wait_is_called_once_with_its_row),
		TEST(forgotten_wait_is_not_called),
		TEST(writer_that_leaves_ends_every_wait_with_no_row),
		TEST(writer_that_cannot_write_closes_the_sink_until_it_can),
		TEST(
		    writer_that_is_behind_closes_the_sink_and_nothing_is_dropped),
		TEST(writer_that_does_not_answer_in_time_is_no_acceptance),
		TEST(acceptance_that_cannot_be_ends_the_channel),
		TEST(
		    acceptance_without_the_row_that_is_waited_for_ends_the_channel),
		TEST(event_that_the_writer_would_not_take_is_refused_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
