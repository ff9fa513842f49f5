#include "gateway/proc/fdpass.h"

#include "schema/status.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static int
count_fds(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			count++;
	return count;
}

static void
packet_arrives_whole_with_its_descriptors(void **state)
{
	struct fdpass fds = { .count = 0 };
	char out[16];
	size_t length = 0;
	int pair[2], pipes[2];

	(void)state;
	assert_int_equal(fdpass_pair(pair), STATUS_OK);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(fdpass_send(pair[1], "frame", 5, pipes, 2), STATUS_OK);
	assert_int_equal(
	    fdpass_receive(pair[0], out, sizeof(out), &length, &fds),
	    STATUS_OK);
	assert_int_equal(length, 5);
	assert_memory_equal(out, "frame", 5);
	assert_int_equal(fds.count, 2);
	/* They are the same pipe, closed at the next exec. */
	assert_int_equal(write(fds.fds[1], "x", 1), 1);
	assert_int_equal(read(pipes[0], out, 1), 1);
	assert_true((fcntl(fds.fds[0], F_GETFD) & FD_CLOEXEC) != 0);
	fdpass_done(&fds);
	for (int i = 0; i < 2; i++) {
		(void)close(pair[i]);
		(void)close(pipes[i]);
	}
}

static void
taken_descriptor_is_the_callers(void **state)
{
	struct fdpass fds = { .fds = { dup(0), dup(0) }, .count = 2 };
	int taken;

	(void)state;
	taken = fdpass_take(&fds, 1);
	assert_true(taken >= 0);
	assert_int_equal(fdpass_take(&fds, 1), -1);
	assert_int_equal(fdpass_take(&fds, 2), -1);
	fdpass_done(&fds);
	assert_true(fcntl(taken, F_GETFD) >= 0);
	(void)close(taken);
}

static void
cut_packet_is_refused_and_its_descriptors_closed(void **state)
{
	struct fdpass fds = { .count = 77 };
	char out[4];
	size_t length = 77;
	int pair[2], before, one = 0;

	(void)state;
	assert_int_equal(fdpass_pair(pair), STATUS_OK);
	before = count_fds();
	assert_int_equal(fdpass_send(pair[1], "longer", 6, &one, 1), STATUS_OK);
	assert_int_equal(
	    fdpass_receive(pair[0], out, sizeof(out), &length, &fds),
	    STATUS_MALFORMED);
	assert_int_equal(length, 77);
	assert_int_equal(fds.count, 77);
	assert_int_equal(count_fds(), before);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void
more_descriptors_than_a_frame_has_are_refused(void **state)
{
	int many[LIMIT_FRAME_FDS + 1] = { 0 };
	union {
		char bytes[CMSG_SPACE(sizeof(many))];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	char byte = 'x', out[4];
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	struct fdpass fds;
	size_t length;
	int pair[2], before;

	(void)state;
	assert_int_equal(fdpass_pair(pair), STATUS_OK);
	assert_int_equal(
	    fdpass_send(pair[1], "x", 1, many, LIMIT_FRAME_FDS + 1),
	    STATUS_TOO_LONG);
	/* A peer need not send by our function. */
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(many));
	memcpy(CMSG_DATA(header), many, sizeof(many));
	before = count_fds();
	assert_int_equal(sendmsg(pair[1], &message, 0), 1);
	assert_int_equal(
	    fdpass_receive(pair[0], out, sizeof(out), &length, &fds),
	    STATUS_MALFORMED);
	assert_int_equal(count_fds(), before);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void
nothing_there_and_nobody_there_are_told_apart(void **state)
{
	struct fdpass fds;
	char out[4];
	size_t length;
	int pair[2];

	(void)state;
	assert_int_equal(fdpass_pair(pair), STATUS_OK);
	assert_int_equal(
	    fdpass_receive(pair[0], out, sizeof(out), &length, &fds),
	    STATUS_AGAIN);
	(void)close(pair[1]);
	assert_int_equal(
	    fdpass_receive(pair[0], out, sizeof(out), &length, &fds),
	    STATUS_CLOSED);
	assert_int_equal(fdpass_send(pair[0], "x", 1, NULL, 0), STATUS_CLOSED);
	(void)close(pair[0]);
}

static void
last_words_are_heard_of_a_peer_that_did_not_listen(void **state)
{
	struct fdpass fds = { .count = 0 };
	char out[16];
	size_t length = 0;
	int pair[2];

	(void)state;
	assert_int_equal(fdpass_pair(pair), STATUS_OK);
	assert_int_equal(fdpass_send(pair[0], "unread", 6, NULL, 0), STATUS_OK);
	assert_int_equal(fdpass_send(pair[1], "last", 4, NULL, 0), STATUS_OK);
	(void)close(pair[1]);
	assert_int_equal(
	    fdpass_receive(pair[0], out, sizeof(out), &length, &fds),
	    STATUS_OK);
	assert_int_equal(length, 4);
	assert_int_equal(
	    fdpass_receive(pair[0], out, sizeof(out), &length, &fds),
	    STATUS_CLOSED);
	(void)close(pair[0]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packet_arrives_whole_with_its_descriptors),
		cmocka_unit_test(taken_descriptor_is_the_callers),
		cmocka_unit_test(
		    cut_packet_is_refused_and_its_descriptors_closed),
		cmocka_unit_test(more_descriptors_than_a_frame_has_are_refused),
		cmocka_unit_test(nothing_there_and_nobody_there_are_told_apart),
		cmocka_unit_test(
		    last_words_are_heard_of_a_peer_that_did_not_listen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
