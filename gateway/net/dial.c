#include "gateway/net/dial.h"

#include "gateway/net/wait.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct attempt {
	struct dial *dial;
	struct event *writable;
	struct endpoint to;
	int fd;
};

struct dial {
	struct event_base *base;
	dial_call *on_dialed;
	void *arg;
	struct event *next_turn; /* LIMIT_HAPPY_MS after an attempt */
	struct event *end; /* LIMIT_DIAL_MS, or as soon as it is decided */
	size_t count, begun, pending;
	bool datagrams, decided;
	struct dial_result result;
	struct attempt attempts[LIMIT_ADDRESSES];
};

/* Where the names of a sandbox point to; see gateway/run and gateway/dns. */
static const struct cidr synthetic[] = {
	{ { 4, { 198, 18 } }, 15 },
	{ { 16, { 0xfd, 0x65, 0x78, 0x65, 0x61, 0x74 } }, 48 },
};

static bool
address_is_synthetic(const struct address *address)
{
	struct address inner;
	bool found = cidr_contains(&synthetic[0], address) ||
		     cidr_contains(&synthetic[1], address);

	if (address_embedded(address, &inner))
		found = found || cidr_contains(&synthetic[0], &inner);
	return found;
}

bool
dial_never(const struct address *address)
{
	if (!address_is_set(address) || address_is_synthetic(address))
		return true;
	/* 0.0.0.0 and :: connect to this very machine. */
	return address_kind(address) == ADDRESS_UNSPECIFIED;
}

static void dial_go_on(struct dial *dial);

static void
attempt_close(struct attempt *attempt)
{
	if (attempt->fd < 0)
		return;
	if (attempt->writable != NULL)
		event_free(attempt->writable);
	attempt->writable = NULL;
	(void)close(steal_fd(&attempt->fd));
	attempt->dial->pending--;
}

static void
dial_free(struct dial *dial)
{
	for (size_t i = 0; i < dial->begun; i++)
		attempt_close(&dial->attempts[i]);
	if (dial->next_turn != NULL)
		event_free(dial->next_turn);
	if (dial->end != NULL)
		event_free(dial->end);
	if (dial->result.fd >= 0)
		(void)close(dial->result.fd);
	free(dial);
}

/* The call is made by the end event, never by whoever finds it out. */
static void
dial_decide(struct dial *dial, enum reason reason)
{
	if (dial->decided)
		return;
	dial->decided = true;
	dial->result.reason = reason;
	event_active(dial->end, EV_TIMEOUT, 0);
}

static void
on_end(evutil_socket_t fd, short what, void *arg)
{
	struct dial *dial = arg;
	struct dial_result result;
	dial_call *on_dialed = dial->on_dialed;
	void *caller = dial->arg;

	(void)fd;
	(void)what;
	if (!dial->decided)
		dial->result.reason = REASON_UPSTREAM_TIMEOUT;
	result = dial->result;
	dial->result.fd = -1;
	dial_free(dial);
	on_dialed(&result, caller);
}

static void
attempt_succeed(struct attempt *attempt)
{
	struct dial *dial = attempt->dial;

	event_free(STEAL(attempt->writable));
	dial->pending--;
	dial->result.to = attempt->to;
	dial->result.fd = steal_fd(&attempt->fd);
	dial_decide(dial, REASON_NONE);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct attempt *attempt = arg;
	struct dial *dial = attempt->dial;
	int error = 0;
	socklen_t length = sizeof(error);

	(void)what;
	if (dial->decided)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
		error = errno;
	if (error == 0) {
		attempt_succeed(attempt);
		return;
	}
	dial->result.error = error;
	attempt_close(attempt);
	dial_go_on(dial);
}

/* The kernel's refusal of a socket is our shortage, not the peer's doing. */
static int
attempt_socket(struct attempt *attempt)
{
	int family = attempt->to.address.length == 4 ? AF_INET : AF_INET6;
	int type = attempt->dial->datagrams ? SOCK_DGRAM : SOCK_STREAM;
	int one = 1;

	attempt->fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (attempt->fd < 0)
		return STATUS_SYSTEM;
	attempt->dial->pending++;
	/* It saves time, and costs nothing but that when it fails. */
	if (type == SOCK_STREAM)
		(void)setsockopt(
		    attempt->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	attempt->writable = event_new(
	    attempt->dial->base, attempt->fd, EV_WRITE, on_writable, attempt);
	return attempt->writable == NULL ? STATUS_NO_MEMORY : STATUS_OK;
}

/* STATUS_OK: under way.  Otherwise the dial's error says why it is not. */
static int
attempt_begin(struct attempt *attempt)
{
	struct sockaddr_storage to;
	socklen_t length = endpoint_to_sockaddr(&attempt->to, &to);

	if (attempt_socket(attempt) != STATUS_OK)
		goto fail;
	if (connect(attempt->fd, (struct sockaddr *)&to, length) < 0 &&
	    errno != EINPROGRESS)
		goto fail;
	if (event_add(attempt->writable, NULL) < 0)
		goto fail;
	return STATUS_OK;
fail:
	attempt->dial->result.error = errno;
	attempt_close(attempt);
	return STATUS_SYSTEM;
}

static enum reason
reason_of_error(int error)
{
	switch (error) {
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ENOBUFS:
		return REASON_OVERLOAD;
	case ETIMEDOUT:
		return REASON_UPSTREAM_TIMEOUT;
	default:
		return REASON_UPSTREAM_REFUSED;
	}
}

/* Begins the next address that can be begun; without one, it is over. */
static void
dial_go_on(struct dial *dial)
{
	const struct timeval wait = wait_ms(LIMIT_HAPPY_MS);

	while (dial->begun < dial->count) {
		struct attempt *attempt = &dial->attempts[dial->begun++];

		if (attempt_begin(attempt) != STATUS_OK)
			continue;
		/* Without the timer the next one waits for this one to fail. */
		(void)event_add(dial->next_turn, &wait);
		return;
	}
	(void)event_del(dial->next_turn);
	if (dial->pending == 0)
		dial_decide(dial, reason_of_error(dial->result.error));
}

static void
on_next_turn(evutil_socket_t fd, short what, void *arg)
{
	struct dial *dial = arg;

	(void)fd;
	(void)what;
	if (!dial->decided && dial->begun < dial->count)
		dial_go_on(dial);
}

/* The next address at or behind *at of the wanted family. */
static const struct address *
order_next(const struct dial_order *order, bool v6, size_t *at)
{
	while (*at < order->count) {
		const struct address *address = &order->list[(*at)++];

		if ((address->length == 16) == v6)
			return address;
	}
	return NULL;
}

static void
dial_put(struct dial *dial, const struct dial_order *order,
    const struct address *address)
{
	struct attempt *attempt = &dial->attempts[dial->count];

	if (dial->count == LIMIT_ADDRESSES || dial_never(address) ||
	    !order->may_dial(address, order->arg))
		return;
	attempt->dial = dial;
	attempt->fd = -1;
	attempt->to.address = *address;
	attempt->to.port = order->port;
	dial->count++;
}

/* RFC 8305 section 4: families alternate; within one, the order given. */
static void
dial_line_up(struct dial *dial, const struct dial_order *order)
{
	const struct address *six, *four;
	size_t at6 = 0, at4 = 0;

	do {
		six = order_next(order, true, &at6);
		four = order_next(order, false, &at4);
		if (six != NULL)
			dial_put(dial, order, six);
		if (four != NULL)
			dial_put(dial, order, four);
	} while (six != NULL || four != NULL);
}

static void
dial_begin(struct dial *dial, const struct dial_order *order)
{
	dial_line_up(dial, order);
	if (order->count == 0)
		dial_decide(dial, REASON_UPSTREAM_UNRESOLVED);
	else if (dial->count == 0)
		dial_decide(dial, REASON_SPECIAL_ADDRESS);
	else
		dial_go_on(dial);
}

struct dial *
dial_start(struct event_base *base, const struct dial_order *order,
    dial_call *on_dialed, void *arg)
{
	const struct timeval wait = wait_ms(LIMIT_DIAL_MS);
	struct dial *dial = calloc(1, sizeof(*dial));

	if (dial == NULL)
		return NULL;
	dial->base = base;
	dial->on_dialed = on_dialed;
	dial->arg = arg;
	dial->result.fd = -1;
	dial->datagrams = order->datagrams;
	dial->next_turn = event_new(base, -1, 0, on_next_turn, dial);
	dial->end = event_new(base, -1, 0, on_end, dial);
	if (dial->next_turn == NULL || dial->end == NULL ||
	    event_add(dial->end, &wait) < 0) {
		dial_free(dial);
		return NULL;
	}
	dial_begin(dial, order);
	return dial;
}

void
dial_cancel(struct dial *dial)
{
	if (dial != NULL)
		dial_free(dial);
}
