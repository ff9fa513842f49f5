/*
 * nameserver - a server of DNS that answers as a test wants.
 *
 * Names say what is wanted: see nameserver_answer().
 */
#ifndef TESTS_GATEWAY_NET_NAMESERVER_H
#define TESTS_GATEWAY_NET_NAMESERVER_H

#include "tests/gateway/net/peer.h"

#include <stdio.h>
#include <stdlib.h>

#include "schema/cursor.h"

struct nameserver {
	struct event_base *base;
	int fd, tcp;
	struct event *readable, *accepts;
	unsigned asked, asked_tcp;
	bool dead;
	char conf[64]; /* a resolv.conf that names it */
};

/* Whether the question's first label is label. */
static inline bool
nameserver_is(const unsigned char *query, const char *label)
{
	return query[12] == strlen(label) &&
	       strncasecmp((const char *)query + 13, label, query[12]) == 0;
}

static inline void
nameserver_put_record(struct cursor_writer *out, bool six, unsigned which)
{
	cursor_put_u16(out, 0xc00c);
	cursor_put_u16(out, six ? 28 : 1);
	cursor_put_u16(out, 1);
	cursor_put_u32(out, 60);
	cursor_put_u16(out, six ? 16 : 4);
	if (six)
		cursor_put(out, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0", 15);
	else
		cursor_put(out, "\xc0\0\2", 3);
	cursor_put_u8(out, (uint8_t)which);
}

/*
 * v4 and v6 have an address of that family only, missing does not exist, fail
 * is SERVFAIL, many is cut short over UDP, slow6 has IPv4 at once and IPv6
 * never, silent says nothing, ttl0 has a TTL of none; any other name has both.
 * Returns the length, 0 for silence.
 */
static inline size_t
nameserver_answer(const unsigned char *query, size_t length, bool tcp,
    unsigned char *bytes, size_t size)
{
	struct cursor_writer out = cursor_writer_of(bytes, size);
	bool six = query[length - 3] == 28;
	bool cut = nameserver_is(query, "many") && !tcp;
	unsigned count = nameserver_is(query, "many") ? 6 : 1;
	uint16_t flags = 0x8180;

	if (nameserver_is(query, "silent") ||
	    (six && nameserver_is(query, "slow6")))
		return 0;
	if (nameserver_is(query, "missing"))
		flags |= 3;
	if (nameserver_is(query, "fail"))
		flags |= 2;
	if (cut)
		flags |= 0x0200;
	if ((flags & 15) != 0 || cut || nameserver_is(query, six ? "v4" : "v6"))
		count = 0;
	cursor_put(&out, query, 2);
	cursor_put_u16(&out, flags);
	cursor_put_u16(&out, 1);
	cursor_put_u16(&out, (uint16_t)count);
	cursor_put_u32(&out, 0);
	cursor_put(&out, query + 12, length - 12);
	for (unsigned i = 0; i < count; i++)
		nameserver_put_record(&out, six, i + 1);
	assert_true(cursor_written(&out));
	return out.used;
}

static inline void
nameserver_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct nameserver *server = arg;
	unsigned char query[512], bytes[1024];
	struct sockaddr_storage from;
	socklen_t length = sizeof(from);
	ssize_t got = recvfrom(
	    fd, query, sizeof(query), 0, (struct sockaddr *)&from, &length);
	size_t answer;

	(void)what;
	assert_true(got > 16);
	server->asked++;
	if (server->dead)
		return;
	answer =
	    nameserver_answer(query, (size_t)got, false, bytes, sizeof(bytes));
	if (answer > 0)
		assert_int_equal(sendto(fd, bytes, answer, 0,
				     (struct sockaddr *)&from, length),
		    answer);
}

/* A question over TCP comes whole on loopback. */
static inline void
nameserver_on_question(evutil_socket_t fd, short what, void *arg)
{
	struct nameserver *server = arg;
	unsigned char query[512], bytes[1024];
	ssize_t got = recv(fd, query, sizeof(query), 0);
	size_t answer;

	(void)what;
	assert_true(got > 18);
	server->asked_tcp++;
	answer = nameserver_answer(
	    query + 2, (size_t)got - 2, true, bytes + 2, sizeof(bytes) - 2);
	bytes[0] = (unsigned char)(answer >> 8);
	bytes[1] = (unsigned char)answer;
	/* In two pieces, as a network may. */
	assert_int_equal(send(fd, bytes, 5, 0), 5);
	assert_int_equal(send(fd, bytes + 5, answer - 3, 0), answer - 3);
	(void)close(fd);
}

static inline void
nameserver_on_accept(evutil_socket_t fd, short what, void *arg)
{
	struct nameserver *server = arg;
	int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	(void)what;
	assert_true(peer >= 0);
	assert_int_equal(event_base_once(server->base, peer, EV_READ,
			     nameserver_on_question, server, NULL),
	    0);
}

/* A socket for datagrams at that very port, or -1 when it is taken. */
static inline int
nameserver_at(const char *address, uint16_t port)
{
	struct endpoint own = { peer_address(address), port };
	struct sockaddr_storage to;
	socklen_t length = endpoint_to_sockaddr(&own, &to);
	int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (bind(fd, (struct sockaddr *)&to, length) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* Both doors have one number, which other tests may take between the two. */
static inline uint16_t
nameserver_open(struct nameserver *server, const char *address)
{
	for (int i = 0; i < 100; i++) {
		uint16_t port;

		server->tcp = peer_listening(address, 0);
		port = peer_own_end(server->tcp).port;
		server->fd = nameserver_at(address, port);
		if (server->fd >= 0)
			return port;
		(void)close(server->tcp);
	}
	fail_msg("no port is free for both");
	return 0;
}

static inline void
nameserver_init(
    struct nameserver *server, struct event_base *base, const char *address)
{
	uint16_t port;

	memset(server, 0, sizeof(*server));
	server->base = base;
	port = nameserver_open(server, address);
	server->readable = event_new(base, server->fd, EV_READ | EV_PERSIST,
	    nameserver_on_readable, server);
	server->accepts = event_new(base, server->tcp, EV_READ | EV_PERSIST,
	    nameserver_on_accept, server);
	assert_int_equal(event_add(server->readable, NULL), 0);
	assert_int_equal(event_add(server->accepts, NULL), 0);
	assert_true(
	    snprintf(server->conf, sizeof(server->conf),
		"nameserver %s%s%s:%u\n",
		strchr(address, ':') == NULL ? "" : "[", address,
		strchr(address, ':') == NULL ? "" : "]", (unsigned)port) > 0);
}

static inline void
nameserver_done(struct nameserver *server)
{
	event_free(server->readable);
	event_free(server->accepts);
	(void)close(server->fd);
	(void)close(server->tcp);
}

#endif
