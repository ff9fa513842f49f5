#include "gateway/proc/channel.h"

#include "gateway/proc/loop.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* One channel under test; the test itself holds the other end. */
struct bench {
	struct loop *loop;
	struct channel *channel;
	int peer;
	int frames, ends, drains, status;
	uint16_t type;
	bool free_in_callback;
};

static void
on_frame(struct channel *channel, const struct frame *frame, struct fdpass *fds,
    void *arg)
{
	struct bench *bench = arg;

	(void)fds;
	bench->frames++;
	bench->type = frame->type;
	if (bench->free_in_callback) {
		channel_free(channel);
		bench->channel = NULL;
	}
	loop_stop(bench->loop);
}

static void
on_end(struct channel *channel, int status, void *arg)
{
	struct bench *bench = arg;

	(void)channel;
	bench->ends++;
	bench->status = status;
	loop_stop(bench->loop);
}

static void
on_drained(struct channel *channel, void *arg)
{
	struct bench *bench = arg;

	(void)channel;
	bench->drains++;
	loop_stop(bench->loop);
}

static const struct channel_events events = {
	.on_frame = on_frame,
	.on_end = on_end,
	.on_drained = on_drained,
};

static int
set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	int pair[2];

	assert_non_null(bench);
	bench->loop = loop_new();
	assert_non_null(bench->loop);
	assert_int_equal(fdpass_pair(pair), STATUS_OK);
	bench->peer = pair[0];
	bench->channel = channel_new(bench->loop, pair[1], &events, bench);
	assert_non_null(bench->channel);
	*state = bench;
	return 0;
}

static int
tear_down(void **state)
{
	struct bench *bench = *state;

	channel_free(bench->channel);
	if (bench->peer >= 0)
		(void)close(bench->peer);
	loop_free(bench->loop);
	free(bench);
	return 0;
}

/* Every callback ends the round. */
static void
turn(struct bench *bench)
{
	assert_int_equal(loop_run(bench->loop), STATUS_OK);
}

static void
send_raw(const struct bench *bench, const char *packet, size_t length,
    size_t descriptors)
{
	int fds[LIMIT_FRAME_FDS] = { 0 };

	assert_int_equal(
	    fdpass_send(bench->peer, packet, length, fds, descriptors),
	    STATUS_OK);
}

static void
frame_of_a_known_type_arrives(void **state)
{
	struct bench *bench = *state;

	send_raw(bench, "\x01\x03", 2, 0);
	turn(bench);
	assert_int_equal(bench->frames, 1);
	assert_int_equal(bench->type, FRAME_ORDER_STOP);
	assert_int_equal(bench->ends, 0);
}

static void
bad_frame_ends_the_channel_once(void **state)
{
	static const struct {
		const char *packet;
		size_t length, descriptors;
	} bad[] = {
		{ "\x07\x77", 2, 0 }, /* no such type */
		{ "\x01", 1, 0 }, /* no type at all */
		{ "\x01\x03", 2, 1 }, /* a descriptor it has not */
		{ "\x01\x01", 2, 0 }, /* none where one belongs */
		{ "\x01\x01", 2, 2 }, /* one too many */
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct bench *bench = *state;

		send_raw(
		    bench, bad[i].packet, bad[i].length, bad[i].descriptors);
		/* What stands behind a bad frame is not read any more. */
		send_raw(bench, "\x01\x03", 2, 0);
		turn(bench);
		assert_int_equal(bench->frames, 0);
		assert_int_equal(bench->ends, 1);
		assert_int_equal(bench->status, STATUS_MALFORMED);
		(void)tear_down(state);
		(void)set_up(state);
	}
}

static void
peer_that_leaves_is_told_once_and_nothing_is_sent_after(void **state)
{
	struct bench *bench = *state;
	unsigned char packet[8];
	struct cursor_writer out =
	    frame_begin(FRAME_ORDER_STOP, packet, sizeof(packet));

	(void)close(bench->peer);
	bench->peer = -1;
	turn(bench);
	assert_int_equal(bench->ends, 1);
	assert_int_equal(bench->status, STATUS_CLOSED);
	assert_int_equal(
	    channel_send(bench->channel, &out, NULL, 0), STATUS_CLOSED);
	channel_end(bench->channel, STATUS_MALFORMED);
	assert_int_equal(bench->ends, 1);
}

static void
channel_may_be_freed_by_its_own_callback(void **state)
{
	struct bench *bench = *state;

	bench->free_in_callback = true;
	send_raw(bench, "\x01\x03", 2, 0);
	send_raw(bench, "\x01\x03", 2, 0);
	turn(bench);
	assert_int_equal(bench->frames, 1);
}

static void
frames_wait_for_a_slow_peer_and_arrive_in_order(void **state)
{
	struct bench *bench = *state;
	unsigned char packet[4096] = { 0 };
	unsigned sent = 0, read = 0;

	while (channel_is_drained(bench->channel)) {
		struct cursor_writer out =
		    frame_begin(FRAME_AUDIT_EVENTS, packet, sizeof(packet));

		cursor_put_u32(&out, sent++);
		out.used = sizeof(packet);
		assert_int_equal(
		    channel_send(bench->channel, &out, NULL, 0), STATUS_OK);
	}
	while (read < sent) {
		struct fdpass fds;
		size_t length;
		int status = fdpass_receive(
		    bench->peer, packet, sizeof(packet), &length, &fds);
		uint32_t number = 0;
		struct cursor body = cursor_of(packet + 2, 4);

		if (status == STATUS_AGAIN) {
			turn(bench);
			continue;
		}
		assert_int_equal(status, STATUS_OK);
		assert_true(cursor_u32(&body, &number));
		assert_int_equal(number, read++);
	}
	assert_true(channel_is_drained(bench->channel));
}

static void
full_queue_is_told_and_keeps_what_it_has(void **state)
{
	struct bench *bench = *state;
	unsigned char packet[64];
	int status = STATUS_OK, sent = 0;

	while (status == STATUS_OK) {
		struct cursor_writer out =
		    frame_begin(FRAME_ORDER_STOP, packet, sizeof(packet));

		status = channel_send(bench->channel, &out, NULL, 0);
		sent++;
	}
	assert_int_equal(status, STATUS_FULL);
	assert_true(sent > LIMIT_CHANNEL_QUEUE);
	assert_int_equal(bench->ends, 0);
}

static void
frame_that_overflowed_is_not_sent(void **state)
{
	struct bench *bench = *state;
	unsigned char packet[3];
	struct cursor_writer out =
	    frame_begin(FRAME_ORDER_STOP, packet, sizeof(packet));

	cursor_put_u64(&out, 1);
	assert_int_equal(
	    channel_send(bench->channel, &out, NULL, 0), STATUS_TOO_LONG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    frame_of_a_known_type_arrives, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    bad_frame_ends_the_channel_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    peer_that_leaves_is_told_once_and_nothing_is_sent_after,
		    set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    channel_may_be_freed_by_its_own_callback, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(
		    frames_wait_for_a_slow_peer_and_arrive_in_order, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(
		    full_queue_is_told_and_keeps_what_it_has, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(
		    frame_that_overflowed_is_not_sent, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
