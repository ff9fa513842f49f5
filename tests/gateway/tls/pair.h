/*
 * pair - our two ends of TLS joined by one connection, and what certifies.
 */
#ifndef TESTS_GATEWAY_TLS_PAIR_H
#define TESTS_GATEWAY_TLS_PAIR_H

#include "tests/gateway/net/peer.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/net/pool.h"
#include "gateway/tls/inside.h"
#include "gateway/tls/leaf.h"
#include "gateway/tls/leaf_cache.h"
#include "gateway/tls/outside.h"
#include "gateway/tls/run_ca.h"
#include "gateway/tls/stream.h"
#include "schema/problem.h"

static inline int64_t
pair_wall_us(void)
{
	return time(NULL) * 1000000LL;
}

struct pair {
	struct pool *pool;
	struct run_ca *ca;
	struct leaf_cache *leaves;
	struct inside *inside;
	struct outside *outside;
	struct stream *server, *client;
	int server_status, client_status;
	struct problem server_problem, client_problem;
};

static inline void
pair_init(struct pair *pair)
{
	struct problem problem;

	memset(pair, 0, sizeof(*pair));
	pair->pool = pool_new(STREAM_BUFFER, 4);
	assert_non_null(pair->pool);
	pair->ca = run_ca_new("test", pair_wall_us(), &problem);
	assert_non_null(pair->ca);
	pair->leaves = leaf_cache_new(pair->ca, &problem);
	assert_non_null(pair->leaves);
	pair->inside = inside_new(pair->pool, &problem);
	assert_non_null(pair->inside);
	pair->outside = outside_new(run_ca_pem(pair->ca), pair->pool, &problem);
	assert_non_null(pair->outside);
}

static inline void
pair_disconnect(struct pair *pair)
{
	stream_free(STEAL(pair->server));
	stream_free(STEAL(pair->client));
}

static inline void
pair_done(struct pair *pair)
{
	pair_disconnect(pair);
	inside_free(pair->inside);
	outside_free(pair->outside);
	leaf_cache_free(pair->leaves);
	run_ca_free(pair->ca);
	pool_free(pair->pool);
}

/* A connection whose server shows a leaf for host. */
static inline void
pair_accept(struct pair *pair, int fd, const char *host,
    const char *const *alpn, struct cursor first)
{
	struct inside_order order = { .alpn = alpn, .fd = fd, .first = first };
	struct problem problem;

	assert_int_equal(leaf_cache_get(pair->leaves, host, pair_wall_us(),
			     &order.leaf, &problem),
	    STATUS_OK);
	pair->server = inside_accept(pair->inside, &order, &problem);
	assert_non_null(pair->server);
}

static inline void
pair_dial(struct pair *pair, int fd, const char *host, const char *const *alpn)
{
	struct outside_order order = {
		.host = host, .port = 443, .alpn = alpn, .fd = fd
	};
	struct problem problem;

	pair->client = outside_connect(pair->outside, &order, &problem);
	assert_non_null(pair->client);
}

/* Lets both ends of a connection see what is under way. */
static inline void
pair_settle(int one, int other)
{
	struct pollfd wait[] = { { one, POLLIN, 0 }, { other, POLLIN, 0 } };

	/* Bytes on loopback are there at once, unless the machine is busy. */
	(void)poll(wait, 2, 50);
}

/* Steps both ends until each is done or has failed. */
static inline void
pair_shake(struct pair *pair)
{
	pair->server_status = STATUS_AGAIN;
	pair->client_status = STATUS_AGAIN;
	for (int i = 0; i < 100; i++) {
		if (pair->client_status == STATUS_AGAIN)
			pair->client_status = stream_handshake(
			    pair->client, &pair->client_problem);
		if (pair->server_status == STATUS_AGAIN)
			pair->server_status = stream_handshake(
			    pair->server, &pair->server_problem);
		if (pair->client_status != STATUS_AGAIN &&
		    pair->server_status != STATUS_AGAIN)
			return;
		pair_settle(stream_fd(pair->client), stream_fd(pair->server));
	}
}

static inline void
pair_connect(struct pair *pair, const char *asked, const char *shown)
{
	int fd[2];

	peer_pair(fd);
	pair_accept(pair, fd[1], shown, NULL, cursor_of(NULL, 0));
	pair_dial(pair, fd[0], asked, NULL);
	pair_shake(pair);
}

/* Waits until the stream's socket lets it go on. */
static inline void
pair_wait(const struct stream *stream, bool to_read)
{
	struct pollfd wait = { .fd = stream_fd(stream) };

	wait.events = (short)((to_read ? POLLIN : 0) |
			      (stream_wants_write(stream) ? POLLOUT : 0));
	assert_true(poll(&wait, 1, PEER_PATIENCE_MS) > 0);
}

/* Reads until the text has come. */
static inline void
pair_expect(struct stream *stream, const char *text)
{
	char got[256];
	size_t have = 0, more;

	while (have < strlen(text)) {
		int status =
		    stream_read(stream, got + have, sizeof(got) - have, &more);

		if (status == STATUS_AGAIN) {
			pair_wait(stream, true);
			continue;
		}
		assert_int_equal(status, STATUS_OK);
		have += more;
	}
	assert_int_equal(have, strlen(text));
	assert_memory_equal(got, text, have);
}

static inline void
pair_say(struct stream *stream, const char *text)
{
	size_t put;

	assert_int_equal(
	    stream_write(stream, text, strlen(text), &put), STATUS_OK);
	assert_int_equal(put, strlen(text));
	while (stream_flush(stream) == STATUS_AGAIN)
		pair_wait(stream, false);
}

/* What the next read says, once there is something to say. */
static inline int
pair_next_status(struct stream *stream)
{
	char byte;
	size_t got;
	int status = stream_read(stream, &byte, 1, &got);

	while (status == STATUS_AGAIN) {
		pair_wait(stream, true);
		status = stream_read(stream, &byte, 1, &got);
	}
	return status;
}

/* One byte by plain OpenSSL, after the tickets that come before it. */
static inline void
pair_read_plain(SSL *ssl)
{
	struct pollfd wait = { SSL_get_fd(ssl), POLLIN, 0 };
	char byte;
	int result;

	while ((result = SSL_read(ssl, &byte, 1)) != 1) {
		assert_int_equal(
		    SSL_get_error(ssl, result), SSL_ERROR_WANT_READ);
		assert_true(poll(&wait, 1, PEER_PATIENCE_MS) > 0);
	}
}

/*
 * Runs a program of the system with out as its output; the caller waits.
 * -1 when the machine does not have it.
 */
static inline pid_t
pair_spawn(char *const arguments[], int in, int out)
{
	pid_t child;

	if (access(arguments[0], X_OK) != 0)
		return -1;
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
			_exit(126);
		execv(arguments[0], arguments);
		_exit(127);
	}
	return child;
}

#endif
