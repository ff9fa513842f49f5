#include "gateway/control/lookout.h"

#include "gateway/proc/fdpass.h"
#include "schema/frame.h"
#include "schema/sighting.h"
#include "tests/gateway/net/peer.h"

#include <linux/netlink.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* A lookout that was told where to look: this program's own namespace. */
static int
start(void)
{
	unsigned char packet[16];
	struct cursor_writer out =
	    frame_begin(FRAME_SIGHTING_PLACE, packet, sizeof(packet));
	int fd, diag = socket(
		    AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	assert_true(diag >= 0);
	assert_int_equal(lookout_start(&fd), STATUS_OK);
	assert_int_equal(
	    fdpass_send(fd, packet, out.used, &diag, 1), STATUS_OK);
	(void)close(diag);
	return fd;
}

static void
stop(int fd)
{
	int status;

	(void)close(fd);
	assert_true(wait(&status) > 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int
receive(int fd, unsigned char *packet, size_t size, size_t *length)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	struct fdpass fds = { .count = 0 };

	assert_int_equal(poll(&ready, 1, PEER_PATIENCE_MS), 1);
	return fdpass_receive(fd, packet, size, length, &fds);
}

static struct sighting
ask(int fd, const struct endpoint *from, const struct endpoint *to, bool digest)
{
	unsigned char packet[4096];
	struct cursor_writer out =
	    frame_begin(FRAME_SIGHTING_ASK, packet, sizeof(packet));
	struct sighting_question question = {
		.number = 77, .from = *from, .to = *to, .digest = digest
	};
	struct sighting sighting;
	struct frame frame;
	size_t length;

	sighting_question_write(&question, &out);
	assert_int_equal(fdpass_send(fd, packet, out.used, NULL, 0), STATUS_OK);
	assert_int_equal(
	    receive(fd, packet, sizeof(packet), &length), STATUS_OK);
	assert_int_equal(frame_parse(packet, length, &frame), STATUS_OK);
	assert_int_equal(frame.type, FRAME_SIGHTING_FOUND);
	assert_int_equal(sighting_read(frame.body, &sighting), STATUS_OK);
	assert_int_equal(sighting.number, 77);
	return sighting;
}

/* A connection on loopback; gives its two descriptors and their ends. */
static void
connect_pair(const char *address, int ret[2], struct endpoint ends[2])
{
	int listener = peer_listening(address, 0);
	struct endpoint to = peer_own_end(listener);

	ret[0] = peer_connected(SOCK_STREAM, &to);
	ret[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(ret[1] >= 0);
	(void)close(listener);
	ends[0] = peer_own_end(ret[0]);
	ends[1] = to;
}

static void
finds_program_and_its_digest(const char *address)
{
	int lookout = start(), fds[2];
	struct endpoint ends[2];
	struct sighting sighting;

	connect_pair(address, fds, ends);
	sighting = ask(lookout, &ends[0], &ends[1], false);
	assert_int_equal(sighting.pid, getpid());
	assert_non_null(strstr(sighting.exe, "/test_lookout"));
	assert_non_null(strstr(sighting.argv, "test_lookout"));
	assert_false(sighting.has_digest);
	sighting = ask(lookout, &ends[0], &ends[1], true);
	assert_true(sighting.has_digest);
	(void)close(fds[0]);
	(void)close(fds[1]);
	stop(lookout);
}

static void
program_behind_a_connection_is_found(void **state)
{
	(void)state;
	finds_program_and_its_digest("127.0.0.1");
	finds_program_and_its_digest("::1");
}

/* The child holds the connection alone, among many other descriptors. */
static void
child_that_holds_a_connection_is_found(void **state)
{
	int lookout = start(), fds[2], gate[2];
	struct endpoint ends[2];
	pid_t child;
	char byte = 0;

	(void)state;
	connect_pair("127.0.0.1", fds, ends);
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		for (int i = 0; i < 50; i++)
			(void)!dup(gate[0]);
		(void)close(gate[1]);
		(void)!read(gate[0], &byte, 1);
		_exit(0);
	}
	(void)close(fds[0]);
	for (int i = 0; i < 3; i++)
		assert_int_equal(
		    ask(lookout, &ends[0], &ends[1], false).pid, child);
	(void)close(gate[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(ask(lookout, &ends[0], &ends[1], false).pid, 0);
	(void)close(gate[0]);
	(void)close(fds[1]);
	stop(lookout);
}

static void
connection_that_is_not_there_is_nobodys(void **state)
{
	struct endpoint from = { peer_address("127.0.0.1"), 9 };
	struct endpoint to = { peer_address("127.0.0.1"), 10 };
	struct endpoint other = { peer_address("::1"), 10 };
	int lookout = start();

	(void)state;
	assert_int_equal(ask(lookout, &from, &to, true).pid, 0);
	assert_int_equal(ask(lookout, &from, &other, true).pid, 0);
	stop(lookout);
}

static void
what_is_no_question_ends_it(void **state)
{
	static const unsigned char packets[][3] = { { 0x0a, 0x02, 0 },
		{ 0x0a, 0x01, 0 }, { 0x07, 0x77, 0 } };
	unsigned char packet[64];
	size_t length;

	(void)state;
	for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
		int fd = start();

		assert_int_equal(
		    fdpass_send(fd, packets[i], 3, NULL, 0), STATUS_OK);
		assert_int_equal(receive(fd, packet, sizeof(packet), &length),
		    STATUS_CLOSED);
		stop(fd);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(program_behind_a_connection_is_found),
		cmocka_unit_test(child_that_holds_a_connection_is_found),
		cmocka_unit_test(connection_that_is_not_there_is_nobodys),
		cmocka_unit_test(what_is_no_question_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
