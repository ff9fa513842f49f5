#include "gateway/dns/port53.h"

#include "gateway/dns/stub.h"
#include "gateway/net/datagram.h"
#include "gateway/proc/log.h"
#include "gateway/proc/loop.h"
#include "schema/limits.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

/* A message and its length in front. */
#define MESSAGE_ROOM (LIMIT_DNS_MESSAGE + 2)

struct dns_stream {
	LIST_ENTRY(dns_stream) next;
	struct port53 *port53;
	struct event *readable;
	int fd;
	size_t length;
	unsigned char bytes[MESSAGE_ROOM];
};

struct port53 {
	struct loop *loop;
	struct stub *stub;
	struct datagram *udp[2];
	LIST_HEAD(, dns_stream) streams;
	size_t count;
};

static void
answer_datagram(struct port53 *port53, struct datagram *udp,
    struct cursor bytes, const struct endpoint *from,
    const struct endpoint *meant)
{
	unsigned char room[MESSAGE_ROOM];
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));

	if (!stub_answer(port53->stub, bytes, DNS_UDP, &out))
		return;
	/* What does not get away was a datagram: it will be asked again. */
	if (datagram_answer(udp, cursor_of(out.bytes, out.used), from, meant) !=
	    STATUS_OK)
		log_debug("an answer could not be sent");
}

static void
on_message4(struct cursor bytes, const struct endpoint *from,
    const struct endpoint *meant, void *arg)
{
	struct port53 *port53 = arg;

	answer_datagram(port53, port53->udp[0], bytes, from, meant);
}

static void
on_message6(struct cursor bytes, const struct endpoint *from,
    const struct endpoint *meant, void *arg)
{
	struct port53 *port53 = arg;

	answer_datagram(port53, port53->udp[1], bytes, from, meant);
}

static void
close_stream(struct dns_stream *stream)
{
	LIST_REMOVE(stream, next);
	stream->port53->count--;
	if (stream->readable != NULL)
		event_free(stream->readable);
	(void)close(stream->fd);
	free(stream);
}

/* Answers every whole message; false when the stream must be closed. */
static bool
answer_messages(struct dns_stream *stream)
{
	struct cursor rest = cursor_of(stream->bytes, stream->length), message;
	unsigned char room[MESSAGE_ROOM];
	enum parse_result result;

	while ((result = dns_stream_take(&rest, &message)) == PARSE_OK) {
		struct cursor_writer out = cursor_writer_of(room, sizeof(room));

		if (!stub_answer(stream->port53->stub, message, DNS_TCP, &out))
			return false;
		/* A client that does not read its answers gets no more. */
		if (send(stream->fd, out.bytes, out.used,
			MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)out.used)
			return false;
	}
	memmove(stream->bytes, rest.at, rest.left);
	stream->length = rest.left;
	return result == PARSE_MORE;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct dns_stream *stream = arg;
	ssize_t got;

	if ((what & EV_TIMEOUT) != 0) {
		close_stream(stream);
		return;
	}
	got = recv(fd, stream->bytes + stream->length,
	    sizeof(stream->bytes) - stream->length, 0);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		close_stream(stream);
		return;
	}
	stream->length += (size_t)got;
	if (!answer_messages(stream))
		close_stream(stream);
}

void
port53_accept(struct port53 *port53, int fd)
{
	static const struct timeval idle = { .tv_sec = LIMIT_HELLO_MS / 1000 };
	struct dns_stream *stream;

	if (port53->count >= LIMIT_DNS_CONNECTIONS) {
		(void)close(fd);
		return;
	}
	stream = calloc(1, sizeof(*stream));
	if (stream == NULL) {
		(void)close(fd);
		return;
	}
	stream->port53 = port53;
	stream->fd = fd;
	LIST_INSERT_HEAD(&port53->streams, stream, next);
	port53->count++;
	stream->readable = event_new(loop_base(port53->loop), fd,
	    EV_READ | EV_PERSIST, on_readable, stream);
	if (stream->readable == NULL || event_add(stream->readable, &idle) != 0)
		close_stream(stream);
}

struct port53 *
port53_new(struct loop *loop, struct stub *stub, int udp4, int udp6,
    struct problem *reterr)
{
	struct port53 *port53 = calloc(1, sizeof(*port53));
	struct event_base *base = loop_base(loop);

	if (port53 == NULL)
		goto fail;
	port53->loop = loop;
	port53->stub = stub;
	LIST_INIT(&port53->streams);
	port53->udp[0] =
	    datagram_new(base, udp4, LIMIT_DNS_MESSAGE, on_message4, port53);
	if (port53->udp[0] == NULL)
		goto fail;
	udp4 = -1;
	port53->udp[1] =
	    datagram_new(base, udp6, LIMIT_DNS_MESSAGE, on_message6, port53);
	if (port53->udp[1] == NULL)
		goto fail;
	return port53;
fail:
	(void)problem_errno(reterr, "cannot answer names in the sandbox");
	if (udp4 >= 0)
		(void)close(udp4);
	(void)close(udp6);
	port53_free(port53);
	return NULL;
}

void
port53_free(struct port53 *port53)
{
	struct dns_stream *stream;

	if (port53 == NULL)
		return;
	while ((stream = LIST_FIRST(&port53->streams)) != NULL)
		close_stream(stream);
	datagram_free(port53->udp[0]);
	datagram_free(port53->udp[1]);
	free(port53);
}
