#include "gateway/net/listener.h"

#include "gateway/net/wait.h"
#include "schema/address.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct listener {
	int fd;
	struct event *readable, *ease;
	listener_call *on_accept;
	void *arg;
	bool paused; /* by its owner */
	bool easing; /* by ourselves, until the timer */
	bool *freed; /* where on_readable() wants to be told */
};

/*
 * What the kernel says about a connection that broke before we took it: the
 * next one may be well (accept(2), "Error handling").
 */
static bool
accept_concerns_one(int error)
{
	switch (error) {
	case EINTR:
	case ECONNABORTED:
	case EPROTO:
	case ENETDOWN:
	case ENOPROTOOPT:
	case EHOSTDOWN:
	case ENONET:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EOPNOTSUPP:
	case ETIMEDOUT:
		return true;
	default:
		return false;
	}
}

static void
listener_watch(struct listener *listener)
{
	bool wanted = !listener->paused && !listener->easing;

	/* Neither fails: the event exists, and epoll has had this socket. */
	if (wanted)
		(void)event_add(listener->readable, NULL);
	else
		(void)event_del(listener->readable);
}

static void
on_ease(evutil_socket_t fd, short what, void *arg)
{
	struct listener *listener = arg;

	(void)fd;
	(void)what;
	listener->easing = false;
	listener_watch(listener);
}

static void
listener_ease_off(struct listener *listener)
{
	const struct timeval pause = wait_ms(LIMIT_EASE_MS);

	listener->easing = event_add(listener->ease, &pause) == 0;
	listener_watch(listener);
}

/* Takes fd. */
static void
listener_hand_on(
    struct listener *listener, int fd, const struct sockaddr_storage *peer)
{
	struct sockaddr_storage own;
	socklen_t length = sizeof(own);
	struct endpoint meant, from;

	if (getsockname(fd, (struct sockaddr *)&own, &length) < 0 ||
	    endpoint_from_sockaddr((const struct sockaddr *)&own, &meant) !=
		STATUS_OK ||
	    endpoint_from_sockaddr((const struct sockaddr *)peer, &from) !=
		STATUS_OK) {
		(void)close(fd);
		return;
	}
	listener->on_accept(fd, &meant, &from, listener->arg);
}

/* False when there is nothing more to accept now. */
static bool
listener_accept(struct listener *listener)
{
	struct sockaddr_storage peer;
	socklen_t length = sizeof(peer);
	int fd = accept4(listener->fd, (struct sockaddr *)&peer, &length,
	    SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		listener_hand_on(listener, fd, &peer);
		return true;
	}
	if (errno == EAGAIN)
		return false;
	if (accept_concerns_one(errno))
		return true;
	/* EMFILE, ENFILE, ENOMEM: it would be readable for ever. */
	listener_ease_off(listener);
	return false;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct listener *listener = arg;
	bool freed = false;

	(void)fd;
	(void)what;
	listener->freed = &freed;
	for (int i = 0; i < LIMIT_ACCEPTS; i++) {
		bool more = listener_accept(listener);

		if (freed)
			return;
		if (!more || listener->paused)
			break;
	}
	listener->freed = NULL;
}

/* What accepted sockets inherit, so that no call is spent on each. */
static int
listener_prepare(int fd)
{
	int one = 1, flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return STATUS_SYSTEM;
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

struct listener *
listener_new(
    struct event_base *base, int fd, listener_call *on_accept, void *arg)
{
	struct listener *listener;

	if (listener_prepare(fd) != STATUS_OK)
		return NULL;
	listener = calloc(1, sizeof(*listener));
	if (listener == NULL)
		return NULL;
	listener->fd = -1;
	listener->on_accept = on_accept;
	listener->arg = arg;
	listener->readable =
	    event_new(base, fd, EV_READ | EV_PERSIST, on_readable, listener);
	listener->ease = event_new(base, -1, 0, on_ease, listener);
	if (listener->readable == NULL || listener->ease == NULL)
		goto fail;
	if (event_add(listener->readable, NULL) < 0)
		goto fail;
	listener->fd = fd;
	return listener;
fail:
	listener_free(listener);
	return NULL;
}

void
listener_free(struct listener *listener)
{
	if (listener == NULL)
		return;
	if (listener->freed != NULL)
		*listener->freed = true;
	if (listener->readable != NULL)
		event_free(listener->readable);
	if (listener->ease != NULL)
		event_free(listener->ease);
	if (listener->fd >= 0)
		(void)close(listener->fd);
	free(listener);
}

void
listener_pause(struct listener *listener)
{
	listener->paused = true;
	listener_watch(listener);
}

void
listener_resume(struct listener *listener)
{
	listener->paused = false;
	listener_watch(listener);
}
