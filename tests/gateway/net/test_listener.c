#include "gateway/net/listener.h"

#include "tests/gateway/net/peer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

struct seen {
	int fd[64], count;
	struct endpoint meant, from;
	bool any;
	struct listener *pause, *free;
};

static void
on_accept(int fd, const struct endpoint *meant, const struct endpoint *from,
    void *arg)
{
	struct seen *seen = arg;

	seen->fd[seen->count++] = fd;
	seen->meant = *meant;
	seen->from = *from;
	seen->any = true;
	if (seen->pause != NULL)
		listener_pause(seen->pause);
	if (seen->free != NULL)
		listener_free(seen->free);
}

static void
seen_close(struct seen *seen)
{
	while (seen->count > 0)
		(void)close(seen->fd[--seen->count]);
}

static void
connection_comes_with_both_of_its_ends(void **state)
{
	struct event_base *base = event_base_new();
	struct seen seen = { 0 };
	int fd = peer_listening("127.0.0.7", 0), client, nodelay = 0;
	struct endpoint to = peer_own_end(fd), own;
	socklen_t length = sizeof(nodelay);
	struct listener *listener = listener_new(base, fd, on_accept, &seen);

	(void)state;
	assert_non_null(listener);
	client = peer_connected(SOCK_STREAM, &to);
	own = peer_own_end(client);
	peer_run_until(base, &seen.any);
	assert_true(endpoint_equals(&seen.meant, &to));
	assert_true(endpoint_equals(&seen.from, &own));
	assert_int_equal(
	    getsockopt(seen.fd[0], IPPROTO_TCP, TCP_NODELAY, &nodelay, &length),
	    0);
	assert_int_not_equal(nodelay, 0);
	assert_true((fcntl(seen.fd[0], F_GETFL) & O_NONBLOCK) != 0);
	assert_true((fcntl(seen.fd[0], F_GETFD) & FD_CLOEXEC) != 0);
	seen_close(&seen);
	(void)close(client);
	listener_free(listener);
	event_base_free(base);
}

/* A wildcard listener behind a local route catches any address. */
static void
meant_address_is_the_one_the_program_asked_for(void **state)
{
	static const char *const asked[] = { "127.1.2.3", "127.200.0.9" };
	struct event_base *base = event_base_new();
	int fd = peer_listening("0.0.0.0", 0);
	uint16_t port = peer_own_end(fd).port;
	struct seen seen = { 0 };
	struct listener *listener = listener_new(base, fd, on_accept, &seen);

	(void)state;
	assert_non_null(listener);
	for (int i = 0; i < 2; i++) {
		struct endpoint to = { peer_address(asked[i]), port };
		int client = peer_connected(SOCK_STREAM, &to);

		seen.any = false;
		peer_run_until(base, &seen.any);
		assert_true(endpoint_equals(&seen.meant, &to));
		(void)close(client);
	}
	seen_close(&seen);
	listener_free(listener);
	event_base_free(base);
}

static void
paused_listener_leaves_connections_in_the_backlog(void **state)
{
	struct event_base *base = event_base_new();
	int fd = peer_listening("127.0.0.1", 0), client[3];
	struct endpoint to = peer_own_end(fd);
	struct seen seen = { 0 };
	struct listener *listener = listener_new(base, fd, on_accept, &seen);

	(void)state;
	assert_non_null(listener);
	seen.pause = listener;
	for (int i = 0; i < 3; i++)
		client[i] = peer_connected(SOCK_STREAM, &to);
	peer_run_ready(base);
	assert_int_equal(seen.count, 1);
	seen.pause = NULL;
	listener_resume(listener);
	peer_run_ready(base);
	assert_int_equal(seen.count, 3);
	for (int i = 0; i < 3; i++)
		(void)close(client[i]);
	seen_close(&seen);
	listener_free(listener);
	event_base_free(base);
}

/* It would be readable for ever: each turn of the loop must wait instead. */
static void
shortage_of_descriptors_does_not_spin(void **state)
{
	struct event_base *base = event_base_new();
	int fd = peer_listening("127.0.0.1", 0), client, turns = 0;
	struct endpoint to = peer_own_end(fd);
	struct seen seen = { 0 };
	struct listener *listener = listener_new(base, fd, on_accept, &seen);
	struct rlimit before, low;

	(void)state;
	assert_non_null(listener);
	client = peer_connected(SOCK_STREAM, &to);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	/* The first turn finds none, and the second waits for the timer. */
	assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
	assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	while (!seen.any) {
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
		assert_true(++turns < 4);
	}
	(void)close(client);
	seen_close(&seen);
	listener_free(listener);
	event_base_free(base);
}

static void
listener_may_be_freed_while_it_accepts(void **state)
{
	struct event_base *base = event_base_new();
	int fd = peer_listening("127.0.0.1", 0), client[2];
	struct endpoint to = peer_own_end(fd);
	struct seen seen = { 0 };

	(void)state;
	seen.free = listener_new(base, fd, on_accept, &seen);
	assert_non_null(seen.free);
	client[0] = peer_connected(SOCK_STREAM, &to);
	client[1] = peer_connected(SOCK_STREAM, &to);
	peer_run_until(base, &seen.any);
	assert_int_equal(seen.count, 1);
	(void)close(client[0]);
	(void)close(client[1]);
	seen_close(&seen);
	event_base_free(base);
}

static void
socket_stays_the_callers_when_there_is_no_listener(void **state)
{
	struct event_base *base = event_base_new();
	int pipes[2];

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_null(listener_new(base, pipes[0], on_accept, NULL));
	assert_int_equal(close(pipes[0]), 0);
	assert_int_equal(close(pipes[1]), 0);
	event_base_free(base);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connection_comes_with_both_of_its_ends),
		cmocka_unit_test(
		    meant_address_is_the_one_the_program_asked_for),
		cmocka_unit_test(
		    paused_listener_leaves_connections_in_the_backlog),
		cmocka_unit_test(shortage_of_descriptors_does_not_spin),
		cmocka_unit_test(listener_may_be_freed_while_it_accepts),
		cmocka_unit_test(
		    socket_stays_the_callers_when_there_is_no_listener),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
