#include "gateway/net/via.h"

#include "gateway/net/wait.h"
#include "gateway/proto/http1.h"
#include "schema/limits.h"
#include "schema/secret.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
	STATUS_UNAUTHORIZED = 401, /* what some say to a wrong login */
	STATUS_LOGIN = 407,
	STATUS_TARGET_TIMEOUT = 504
};

struct via {
	int fd;
	via_call *on_done;
	void *arg;
	struct event *writable, *readable, *late;
	struct secret *head; /* to be sent; it may hold a password */
	size_t sent;
	/* What was read, and behind it what was only looked at. */
	unsigned char answer[LIMIT_VIA_ANSWER];
	size_t got;
	char cause[128];
};

static void
release(struct via *via)
{
	struct event *const events[] = { via->writable, via->readable,
		via->late };

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (events[i] != NULL)
			event_free(events[i]);
	secret_free(via->head);
	free(via);
}

void
via_cancel(struct via *via)
{
	if (via != NULL)
		release(via);
}

/* The one way out: tells, from a copy, and releases first. */
static void
finish(struct via *via, enum reason reason, const char *cause)
{
	via_call *on_done = via->on_done;
	void *arg = via->arg;
	char words[sizeof(via->cause)];

	if (snprintf(words, sizeof(words), "%s", cause) < 0)
		words[0] = '\0';
	release(via);
	on_done(reason, words, arg);
}

static void
on_late(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	finish(arg, REASON_UPSTREAM_TIMEOUT,
	    "the proxy between does not answer CONNECT");
}

static void
fail_of_error(struct via *via, int error)
{
	const char *words = strerrordesc_np(error);

	if (snprintf(via->cause, sizeof(via->cause), "the proxy between: %s",
		words == NULL ? "it failed" : words) < 0)
		via->cause[0] = '\0';
	finish(via, REASON_UPSTREAM_RESET, via->cause);
}

/* ---- the answer ---- */

/* Its own phrase is somebody else's text; the usual one says as much. */
static void
judge(struct via *via, const struct response *response)
{
	const char *login = "";

	if (response->status / 100 == 2) {
		finish(via, REASON_NONE, "");
		return;
	}
	if (response->status == STATUS_LOGIN ||
	    response->status == STATUS_UNAUTHORIZED)
		login = ": it wants another --via-credential";
	if (snprintf(via->cause, sizeof(via->cause),
		"the proxy between answers CONNECT with %u %s%s",
		(unsigned)response->status, response_phrase(response->status),
		login) < 0)
		via->cause[0] = '\0';
	finish(via,
	    response->status == STATUS_TARGET_TIMEOUT ? REASON_UPSTREAM_TIMEOUT
						      : REASON_UPSTREAM_REFUSED,
	    via->cause);
}

/*
 * Takes exactly so many of the bytes that were looked at.  They are in the
 * socket's queue, so that less than all of them is a peer that broke off.
 */
static bool
consume(struct via *via, size_t count)
{
	ssize_t n = recv(via->fd, via->answer + via->got, count, 0);

	if (n < 0 || (size_t)n != count)
		return false;
	via->got += count;
	return true;
}

static void
read_answer(struct via *via, size_t looked)
{
	struct cursor bytes = cursor_of(via->answer, via->got + looked);
	enum head_fault fault = HEAD_FAULT_NONE;
	struct response response;

	switch (http1_response_parse(bytes, "CONNECT", &response, &fault)) {
	case PARSE_OK:
		if (!consume(via, response.length - via->got))
			finish(via, REASON_UPSTREAM_RESET,
			    "the proxy between broke off");
		else
			judge(via, &response);
		break;
	case PARSE_MORE:
		if (!consume(via, looked))
			finish(via, REASON_UPSTREAM_RESET,
			    "the proxy between broke off");
		else if (via->got == sizeof(via->answer))
			finish(via, REASON_UPSTREAM_MALFORMED,
			    "the proxy's answer to CONNECT does not end");
		break;
	case PARSE_BAD:
		if (snprintf(via->cause, sizeof(via->cause),
			"the proxy's answer to CONNECT: %s",
			head_fault_words(fault)) < 0)
			via->cause[0] = '\0';
		finish(via, REASON_UPSTREAM_MALFORMED, via->cause);
		break;
	}
}

/* Looks before it takes: what stands behind the head is the target's. */
static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct via *via = arg;
	ssize_t n;

	(void)what;
	n = recv(fd, via->answer + via->got, sizeof(via->answer) - via->got,
	    MSG_PEEK);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		fail_of_error(via, errno);
	else if (n == 0)
		finish(via, REASON_UPSTREAM_RESET,
		    "the proxy between ends the connection");
	else
		read_answer(via, (size_t)n);
}

/* ---- the question ---- */

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct via *via = arg;
	struct cursor head = secret_bytes(via->head);
	ssize_t n =
	    send(fd, head.at + via->sent, head.left - via->sent, MSG_NOSIGNAL);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		fail_of_error(via, errno);
		return;
	}
	via->sent += (size_t)n;
	if (via->sent < head.left)
		return;
	(void)event_del(via->writable);
	secret_free(STEAL(via->head));
}

/* Both forms of the target are the same (RFC 9112 section 3.2.3). */
static struct secret *
write_head(const struct via_order *order)
{
	static const char login[] = "\r\nProxy-Authorization: ";
	struct cursor_writer out;
	struct secret *head = secret_room(
	    2 * order->target.left + order->login.left + sizeof(login) + 64);

	if (head == NULL)
		return NULL;
	out = cursor_writer_of(secret_fill(head), secret_bytes(head).left);
	cursor_put_text(&out, "CONNECT ");
	cursor_put(&out, order->target.at, order->target.left);
	cursor_put_text(&out, " HTTP/1.1\r\nHost: ");
	cursor_put(&out, order->target.at, order->target.left);
	if (order->login.left > 0) {
		cursor_put_text(&out, login);
		cursor_put(&out, order->login.at, order->login.left);
	}
	cursor_put_text(&out, "\r\n\r\n");
	secret_shorten(head, out.used);
	return head;
}

struct via *
via_start(struct event_base *base, const struct via_order *order,
    via_call *on_done, void *arg)
{
	const struct timeval wait = wait_ms(LIMIT_VIA_MS);
	struct via *via = calloc(1, sizeof(*via));

	if (via == NULL)
		return NULL;
	via->fd = order->fd;
	via->on_done = on_done;
	via->arg = arg;
	via->head = write_head(order);
	via->writable =
	    event_new(base, order->fd, EV_WRITE | EV_PERSIST, on_writable, via);
	via->readable =
	    event_new(base, order->fd, EV_READ | EV_PERSIST, on_readable, via);
	via->late = event_new(base, -1, 0, on_late, via);
	if (via->head == NULL || via->writable == NULL ||
	    via->readable == NULL || via->late == NULL ||
	    event_add(via->writable, NULL) < 0 ||
	    event_add(via->readable, NULL) < 0 ||
	    event_add(via->late, &wait) < 0) {
		release(via);
		return NULL;
	}
	return via;
}
