#include "gateway/net/lookup.h"

#include "gateway/net/nameservers.h"
#include "gateway/net/wait.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* The length in front of a message over TCP. */
#define PREFIX 2

struct lookup {
	struct event_base *base;
	struct nameservers *servers;
	struct reply_question question;
	lookup_call *on_reply;
	void *arg;
	struct event *timer; /* one attempt's, and the call's */
	struct event *ready; /* of the socket */
	int fd;
	size_t begin, server; /* of the list */
	unsigned tries, failures;
	bool over;
	struct reply reply; /* the best so far */
	unsigned char *message; /* over TCP, with its prefix */
	size_t have;
};

static void lookup_next(struct lookup *lookup);

static void
lookup_hang_up(struct lookup *lookup)
{
	if (lookup->ready != NULL)
		event_free(STEAL(lookup->ready));
	if (lookup->fd >= 0)
		(void)close(steal_fd(&lookup->fd));
	free(STEAL(lookup->message));
	lookup->have = 0;
}

static void
lookup_free(struct lookup *lookup)
{
	lookup_hang_up(lookup);
	if (lookup->timer != NULL)
		event_free(lookup->timer);
	free(lookup);
}

/* The timer makes the call, never whoever finds it out. */
static void
lookup_finish(struct lookup *lookup)
{
	lookup_hang_up(lookup);
	lookup->over = true;
	event_active(lookup->timer, EV_TIMEOUT, 0);
}

static void
lookup_wait(struct lookup *lookup)
{
	const struct timeval wait = wait_ms(LIMIT_NAMESERVER_MS);

	/* The start made room for it. */
	(void)event_add(lookup->timer, &wait);
}

static int
lookup_send(struct lookup *lookup, bool tcp)
{
	unsigned char bytes[PREFIX + REPLY_QUESTION_MAX];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	if (tcp)
		cursor_put_u16(&out, 0);
	reply_question_write(&lookup->question, &out);
	if (!cursor_written(&out))
		return STATUS_TOO_LONG;
	if (tcp)
		cursor_patch_u16(&out, 0, (uint16_t)(out.used - PREFIX));
	/* It is the first on a fresh socket, and small: it fits or fails. */
	if (send(lookup->fd, bytes, out.used, MSG_NOSIGNAL) !=
	    (ssize_t)out.used)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

static int
lookup_connect(
    struct lookup *lookup, int type, event_callback_fn on_ready, short what)
{
	const struct endpoint *server = &lookup->servers->list[lookup->server];
	struct sockaddr_storage to;
	socklen_t length = endpoint_to_sockaddr(server, &to);

	lookup->fd =
	    socket(to.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (lookup->fd < 0)
		return STATUS_SYSTEM;
	if (connect(lookup->fd, (struct sockaddr *)&to, length) < 0 &&
	    errno != EINPROGRESS)
		return STATUS_SYSTEM;
	lookup->ready =
	    event_new(lookup->base, lookup->fd, what, on_ready, lookup);
	if (lookup->ready == NULL || event_add(lookup->ready, NULL) < 0)
		return STATUS_NO_MEMORY;
	return STATUS_OK;
}

/* This one cannot tell; each of the others is asked once more at the most. */
static void
lookup_fail(struct lookup *lookup)
{
	if (lookup->reply.status != STATUS_OK)
		lookup->reply.status = STATUS_SYSTEM;
	if (++lookup->failures < lookup->servers->count)
		lookup_next(lookup);
	else
		lookup_finish(lookup);
}

static void
lookup_settle(struct lookup *lookup, const struct reply *reply)
{
	if (reply->status == STATUS_SYSTEM) {
		lookup_fail(lookup);
		return;
	}
	lookup->servers->first = lookup->server;
	lookup->reply = *reply;
	lookup_finish(lookup);
}

static void
lookup_read_message(struct lookup *lookup)
{
	struct cursor message = cursor_of(lookup->message, lookup->have), body;
	struct reply reply;

	if (!cursor_block(&message, &body) ||
	    reply_read(body, &lookup->question, &reply) != STATUS_OK) {
		lookup_fail(lookup);
		return;
	}
	lookup_settle(lookup, &reply);
}

static void
on_tcp_readable(evutil_socket_t fd, short what, void *arg)
{
	struct lookup *lookup = arg;
	struct cursor message;
	uint16_t length;
	ssize_t got = recv(fd, lookup->message + lookup->have,
	    PREFIX + UINT16_MAX - lookup->have, 0);

	(void)what;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		lookup_fail(lookup);
		return;
	}
	lookup->have += (size_t)got;
	message = cursor_of(lookup->message, lookup->have);
	if (cursor_u16(&message, &length) && message.left >= length)
		lookup_read_message(lookup);
}

static void
on_tcp_connected(evutil_socket_t fd, short what, void *arg)
{
	struct lookup *lookup = arg;

	(void)what;
	event_free(STEAL(lookup->ready));
	lookup->message = malloc(PREFIX + UINT16_MAX);
	lookup->ready = event_new(
	    lookup->base, fd, EV_READ | EV_PERSIST, on_tcp_readable, lookup);
	if (lookup->message == NULL || lookup->ready == NULL ||
	    event_add(lookup->ready, NULL) < 0 ||
	    lookup_send(lookup, true) != STATUS_OK)
		lookup_fail(lookup);
}

/* What was cut stands if no more is to be had. */
static void
lookup_ask_over_tcp(struct lookup *lookup, const struct reply *cut)
{
	lookup_hang_up(lookup);
	if (cut->status == STATUS_OK)
		lookup->reply = *cut;
	if (lookup_connect(lookup, SOCK_STREAM, on_tcp_connected, EV_WRITE) !=
	    STATUS_OK) {
		lookup_fail(lookup);
		return;
	}
	lookup_wait(lookup);
}

static void
on_udp_readable(evutil_socket_t fd, short what, void *arg)
{
	struct lookup *lookup = arg;
	unsigned char bytes[LIMIT_DNS_MESSAGE];
	struct reply reply;
	ssize_t got = recv(fd, bytes, sizeof(bytes), 0);

	(void)what;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got < 0) {
		/* ICMP: there is nobody at that port. */
		lookup_fail(lookup);
		return;
	}
	/* Forged or late: what we wait for may still come. */
	if (reply_read(cursor_of(bytes, (size_t)got), &lookup->question,
		&reply) != STATUS_OK)
		return;
	if (reply.truncated)
		lookup_ask_over_tcp(lookup, &reply);
	else
		lookup_settle(lookup, &reply);
}

static int
lookup_ask(struct lookup *lookup)
{
	if (getrandom(&lookup->question.id, sizeof(lookup->question.id), 0) !=
	    sizeof(lookup->question.id))
		return STATUS_SYSTEM;
	if (lookup_connect(lookup, SOCK_DGRAM, on_udp_readable,
		EV_READ | EV_PERSIST) != STATUS_OK)
		return STATUS_SYSTEM;
	return lookup_send(lookup, false);
}

/* The next nameserver that can be asked; without one, it is over. */
static void
lookup_next(struct lookup *lookup)
{
	while (lookup->tries < LIMIT_LOOKUP_TRIES) {
		lookup_hang_up(lookup);
		lookup->server =
		    (lookup->begin + lookup->tries++) % lookup->servers->count;
		if (lookup_ask(lookup) == STATUS_OK) {
			lookup_wait(lookup);
			return;
		}
		if (lookup->reply.status == STATUS_TIMEOUT)
			lookup->reply.status = STATUS_SYSTEM;
	}
	lookup_finish(lookup);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct lookup *lookup = arg;
	lookup_call *on_reply = lookup->on_reply;
	void *caller = lookup->arg;
	struct reply reply;

	(void)fd;
	(void)what;
	if (!lookup->over) {
		lookup_next(lookup);
		return;
	}
	reply = lookup->reply;
	lookup_free(lookup);
	on_reply(&reply, caller);
}

struct lookup *
lookup_start(struct event_base *base, struct nameservers *servers,
    const struct reply_question *question, lookup_call *on_reply, void *arg)
{
	const struct timeval wait = wait_ms(LIMIT_NAMESERVER_MS);
	struct lookup *lookup = calloc(1, sizeof(*lookup));

	if (lookup == NULL)
		return NULL;
	lookup->base = base;
	lookup->servers = servers;
	lookup->question = *question;
	lookup->on_reply = on_reply;
	lookup->arg = arg;
	lookup->fd = -1;
	lookup->begin = servers->first;
	lookup->reply.status = STATUS_TIMEOUT;
	lookup->timer = event_new(base, -1, 0, on_timer, lookup);
	if (lookup->timer == NULL || event_add(lookup->timer, &wait) < 0) {
		lookup_free(lookup);
		return NULL;
	}
	lookup_next(lookup);
	return lookup;
}

void
lookup_cancel(struct lookup *lookup)
{
	if (lookup != NULL)
		lookup_free(lookup);
}
