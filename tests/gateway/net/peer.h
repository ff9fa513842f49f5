/*
 * peer - the other ends of sockets under test, and a loop with an end.
 */
#ifndef TESTS_GATEWAY_NET_PEER_H
#define TESTS_GATEWAY_NET_PEER_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "schema/address.h"
#include "schema/status.h"

/* No test waits longer for what must come. */
#define PEER_PATIENCE_MS 30000

static inline int64_t
peer_now_ms(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static inline void
peer_on_patience(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	fail_msg("what was waited for did not come");
}

/* Runs the loop until *done; fails when that takes too long. */
static inline void
peer_run_until(struct event_base *base, const bool *done)
{
	const struct timeval patience = { .tv_sec = PEER_PATIENCE_MS / 1000 };
	struct event *late = event_new(base, -1, 0, peer_on_patience, NULL);

	assert_non_null(late);
	assert_int_equal(event_add(late, &patience), 0);
	while (!*done)
		assert_true(event_base_loop(base, EVLOOP_ONCE) >= 0);
	event_free(late);
}

/* Runs what is ready, waiting for nothing. */
static inline void
peer_run_ready(struct event_base *base)
{
	for (int i = 0; i < 20; i++)
		assert_true(event_base_loop(base, EVLOOP_NONBLOCK) >= 0);
}

static inline void
peer_on_readable(evutil_socket_t fd, short what, void *arg)
{
	bool *done = arg;

	(void)fd;
	(void)what;
	*done = true;
}

/* Runs the loop until something, be it an end, can be read from fd. */
static inline void
peer_run_until_readable(struct event_base *base, int fd)
{
	bool done = false;
	struct event *readable =
	    event_new(base, fd, EV_READ, peer_on_readable, &done);

	assert_non_null(readable);
	assert_int_equal(event_add(readable, NULL), 0);
	peer_run_until(base, &done);
	event_free(readable);
}

static inline struct address
peer_address(const char *text)
{
	struct address address;

	assert_int_equal(
	    address_parse(text, strlen(text), &address), STATUS_OK);
	return address;
}

static inline struct endpoint
peer_own_end(int fd)
{
	struct sockaddr_storage own;
	socklen_t length = sizeof(own);
	struct endpoint endpoint;

	assert_int_equal(getsockname(fd, (struct sockaddr *)&own, &length), 0);
	assert_int_equal(
	    endpoint_from_sockaddr((struct sockaddr *)&own, &endpoint),
	    STATUS_OK);
	return endpoint;
}

/* A bound socket; port 0 takes a free one. */
static inline int
peer_bound(int type, const char *address, uint16_t port)
{
	struct endpoint own = { peer_address(address), port };
	struct sockaddr_storage to;
	socklen_t length = endpoint_to_sockaddr(&own, &to);
	int one = 1;
	int fd = socket(to.ss_family, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, length), 0);
	return fd;
}

static inline int
peer_listening(const char *address, uint16_t port)
{
	int fd = peer_bound(SOCK_STREAM, address, port);

	assert_int_equal(listen(fd, 1024), 0);
	return fd;
}

static inline int
peer_connected(int type, const struct endpoint *to)
{
	struct sockaddr_storage address;
	socklen_t length = endpoint_to_sockaddr(to, &address);
	int fd = socket(address.ss_family, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, length), 0);
	return fd;
}

static inline void
peer_set_nonblocking(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

/* Two ends of one TCP connection, neither of which blocks. */
static inline void
peer_pair(int out[2])
{
	int listening = peer_listening("127.0.0.1", 0);
	struct endpoint to = peer_own_end(listening);

	out[0] = peer_connected(SOCK_STREAM, &to);
	out[1] = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	assert_true(out[1] >= 0);
	peer_set_nonblocking(out[0]);
	peer_set_nonblocking(out[1]);
	(void)close(listening);
}

/* How many descriptors this process has open. */
static inline int
peer_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = -3; /* its own, "." and ".." */

	assert_non_null(directory);
	while (readdir(directory) != NULL)
		count++;
	(void)closedir(directory);
	return count;
}

#endif
