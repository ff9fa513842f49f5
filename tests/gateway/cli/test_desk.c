#include "gateway/cli/desk.h"

#include "gateway/cli/policies.h"
#include "gateway/cli/settings.h"
#include "gateway/cli/task.h"
#include "gateway/proc/channel.h"
#include "gateway/proc/loop.h"
#include "gateway/proc/rundir.h"
#include "schema/approval.h"
#include "schema/order.h"
#include "tests/gateway/net/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[64];
static struct loop *loop;
static struct settings settings = { .user = "somebody" };
static struct task task;
static struct policies policies;
static struct channel *gateway, *audit;
static int gateway_fd, audit_fd; /* their other ends */
static struct desk *desk;

static void
on_frame(struct channel *channel, const struct frame *frame, struct fdpass *fds,
    void *arg)
{
	(void)channel;
	(void)frame;
	(void)fds;
	(void)arg;
}

static void
on_end(struct channel *channel, int status, void *arg)
{
	(void)channel;
	(void)status;
	(void)arg;
}

static const struct channel_events events = {
	.on_frame = on_frame,
	.on_end = on_end,
};

static struct channel *
make_channel(int *ret_other)
{
	int pair[2];
	struct channel *channel;

	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	channel = channel_new(loop, pair[0], &events, NULL);
	assert_non_null(channel);
	*ret_other = pair[1];
	return channel;
}

static int
setup(void **state)
{
	struct desk_order order = { .run = "run-a",
		.task = &task,
		.settings = &settings,
		.policies = &policies };
	struct problem problem = { 0 };

	(void)state;
	memcpy(folder, "/tmp/exeat-desk-XXXXXX", 23);
	assert_non_null(mkdtemp(folder));
	assert_true(snprintf(settings.runs, sizeof(settings.runs), "%s/runs",
			folder) > 0);
	memcpy(task.workspace.path, "/nonexistent", 13);
	loop = loop_new();
	assert_non_null(loop);
	gateway = order.gateway = make_channel(&gateway_fd);
	audit = order.audit = make_channel(&audit_fd);
	order.loop = loop;
	if (desk_new(&order, &desk, &problem) != STATUS_OK)
		fail_msg("%s", problem.text);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	desk_free(desk);
	channel_free(gateway);
	channel_free(audit);
	(void)close(gateway_fd);
	(void)close(audit_fd);
	loop_free(loop);
	return rmdir(folder);
}

static const struct approval_question question = { .id = "abcd-1",
	.rule = "prod",
	.host = "api.test",
	.port = 443,
	.tls = true,
	.method = "POST",
	.target = "/merge",
	.program = "/usr/bin/curl",
	.timeout_s = 300,
	.grant_s = 900,
	.grant_uses = 3 };

static bool
tell_question(const struct approval_question *told)
{
	unsigned char body[LIMIT_FRAME];
	struct cursor_writer out = cursor_writer_of(body, sizeof(body));
	struct frame frame = { .type = FRAME_APPROVAL_ASK };

	approval_question_write(told, &out);
	frame.body = cursor_of(body, out.used);
	return desk_take(desk, &frame);
}

static bool
tell_over(enum approval_end end)
{
	unsigned char body[256];
	struct cursor_writer out = cursor_writer_of(body, sizeof(body));
	struct approval_over over = { .id = "abcd-1", .end = end };
	struct frame frame = { .type = FRAME_APPROVAL_OVER };

	approval_over_write(&over, &out);
	frame.body = cursor_of(body, out.used);
	return desk_take(desk, &frame);
}

static int
call(void)
{
	struct problem problem = { 0 };
	int fd = -1;

	assert_int_equal(
	    rundir_connect(settings.runs, "run-a", &fd, &problem), STATUS_OK);
	return fd;
}

static void
say(int fd, struct cursor_writer *out)
{
	assert_true(cursor_written(out));
	assert_int_equal(send(fd, out->bytes, out->used, 0), out->used);
}

static void
say_empty(int fd, uint16_t type)
{
	unsigned char packet[16];
	struct cursor_writer out = frame_begin(type, packet, sizeof(packet));

	say(fd, &out);
}

static void
say_answer(int fd, const struct approval_answer *answer)
{
	unsigned char packet[512];
	struct cursor_writer out =
	    frame_begin(FRAME_DESK_ANSWER, packet, sizeof(packet));

	approval_answer_write(answer, &out);
	say(fd, &out);
}

/* The next frame that comes from the other end; its body borrows. */
static struct frame
hear(int fd)
{
	static unsigned char packet[LIMIT_FRAME];
	struct frame frame = { .type = 0 };
	ssize_t got;

	peer_run_until_readable(loop_base(loop), fd);
	got = recv(fd, packet, sizeof(packet), 0);
	assert_true(got > 0);
	assert_int_equal(frame_parse(packet, (size_t)got, &frame), STATUS_OK);
	return frame;
}

static void
hear_done(int fd, const char *words)
{
	struct frame frame = hear(fd);
	struct problem problem = { 0 };

	assert_int_equal(frame.type, FRAME_DESK_DONE);
	assert_int_equal(order_failed_read(frame.body, &problem), STATUS_OK);
	if (words == NULL)
		assert_string_equal(problem.text, "");
	else if (strstr(problem.text, words) == NULL)
		fail_msg("%s", problem.text);
}

static void
open_questions_are_listed_until_they_are_over(void **state)
{
	int fd = call();
	struct approval_question read;
	struct frame frame;

	(void)state;
	assert_true(tell_question(&question));
	say_empty(fd, FRAME_DESK_LIST);
	frame = hear(fd);
	assert_int_equal(frame.type, FRAME_DESK_QUESTION);
	assert_int_equal(approval_question_read(frame.body, &read), STATUS_OK);
	assert_true(approval_is_same(&read, &question));
	assert_string_equal(read.program, question.program);
	assert_true(read.timeout_s <= 300);
	hear_done(fd, NULL);
	assert_true(tell_over(APPROVAL_EXPIRED));
	say_empty(fd, FRAME_DESK_LIST);
	hear_done(fd, NULL);
	(void)close(fd);
}

static void
answer_goes_to_the_gateway_with_our_word_for_who_gave_it(void **state)
{
	int fd = call();
	struct approval_answer answer = {
		.id = "abcd-1", .yes = true, .grant_uses = 1, .by = "the pope"
	};
	struct approval_answer read;
	struct frame frame;

	(void)state;
	assert_true(tell_question(&question));
	say_answer(fd, &answer);
	frame = hear(gateway_fd);
	assert_int_equal(frame.type, FRAME_APPROVAL_ANSWER);
	assert_int_equal(approval_answer_read(frame.body, &read), STATUS_OK);
	assert_true(read.yes);
	assert_int_equal(read.grant_uses, 1);
	assert_string_equal(read.by, "somebody, exeat approve");
	/* The caller hears it from the gateway, and not before. */
	assert_true(tell_over(APPROVAL_GRANTED));
	hear_done(fd, NULL);
	say_answer(fd, &answer);
	hear_done(fd, "not open any more");
	(void)close(fd);
}

/* P12 */
static void
late_wide_and_unknown_answers_are_told_so_and_go_nowhere(void **state)
{
	int fd = call();
	struct approval_answer wide = {
		.id = "abcd-1", .yes = true, .grant_s = 901
	};
	struct approval_answer many = {
		.id = "abcd-1", .yes = true, .grant_uses = 4
	};
	struct approval_answer other = { .id = "abcd-2", .yes = true };
	struct approval_answer late = { .id = "abcd-1", .yes = true };

	(void)state;
	assert_true(tell_question(&question));
	say_answer(fd, &wide);
	hear_done(fd, "900 s at most");
	say_answer(fd, &many);
	hear_done(fd, "3 times at most");
	say_answer(fd, &other);
	hear_done(fd, "not open any more");
	say_answer(fd, &late);
	assert_int_equal(hear(gateway_fd).type, FRAME_APPROVAL_ANSWER);
	/* Somebody else was faster, or its time was over. */
	assert_true(tell_over(APPROVAL_EXPIRED));
	hear_done(fd, "not open any more");
	(void)close(fd);
}

static void
a_caller_that_says_what_it_may_not_is_cut_off(void **state)
{
	static const uint16_t types[] = { FRAME_APPROVAL_ASK,
		FRAME_ORDER_STOP };
	char letter;

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		int fd = call();

		say_empty(fd, types[i]);
		peer_run_until_readable(loop_base(loop), fd);
		assert_int_equal(recv(fd, &letter, 1, 0), 0);
		(void)close(fd);
	}
	/* Others are served all the same. */
	int fd = call();

	say_empty(fd, FRAME_DESK_LIST);
	hear_done(fd, NULL);
	(void)close(fd);
}

static void
a_gateway_that_asks_the_same_twice_or_too_much_is_not_believed(void **state)
{
	struct approval_question many = question;

	(void)state;
	assert_true(tell_question(&question));
	assert_false(tell_question(&question));
	for (int i = 2; i <= LIMIT_QUESTIONS; i++) {
		assert_true(
		    snprintf(many.id, sizeof(many.id), "abcd-%d", i) > 0);
		assert_true(tell_question(&many));
	}
	memcpy(many.id, "more-1", 7);
	assert_false(tell_question(&many));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(open_questions_are_listed_until_they_are_over),
		TEST(answer_goes_to_the_gateway_with_our_word_for_who_gave_it),
		TEST(late_wide_and_unknown_answers_are_told_so_and_go_nowhere),
		TEST(a_caller_that_says_what_it_may_not_is_cut_off),
		TEST(
		    a_gateway_that_asks_the_same_twice_or_too_much_is_not_believed),
	};

	/* Without a terminal nobody is asked at one. */
	(void)setsid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
