#include "gateway/tls/wire.h"

#include "gateway/net/pool.h"
#include "schema/status.h"

#include <errno.h>
#include <openssl/bio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int
wire_init(struct wire *wire, int fd, struct cursor first, struct pool *pool)
{
	memset(wire, 0, sizeof(*wire));
	wire->fd = -1;
	wire->pool = pool;
	if (first.left > 0) {
		wire->first = malloc(first.left);
		if (wire->first == NULL)
			return STATUS_NO_MEMORY;
		memcpy(wire->first, first.at, first.left);
		wire->first_left = first.left;
	}
	wire->fd = fd;
	return STATUS_OK;
}

static void
wire_empty(struct wire *wire)
{
	if (wire->out != NULL)
		pool_give(wire->pool, STEAL(wire->out));
	wire->out_at = 0;
	wire->out_left = 0;
}

void
wire_done(struct wire *wire)
{
	wire_empty(wire);
	free(STEAL(wire->first));
	wire->first_left = 0;
	if (wire->fd >= 0)
		(void)close(steal_fd(&wire->fd));
}

static ssize_t
wire_read_first(struct wire *wire, void *out, size_t size)
{
	size_t take = wire->first_left < size ? wire->first_left : size;

	memcpy(out, wire->first + wire->first_at, take);
	wire->first_at += take;
	wire->first_left -= take;
	if (wire->first_left == 0)
		free(STEAL(wire->first));
	return (ssize_t)take;
}

ssize_t
wire_read(struct wire *wire, void *out, size_t size)
{
	ssize_t got;

	if (wire->first_left > 0)
		return wire_read_first(wire, out, size);
	do
		got = recv(wire->fd, out, size, 0);
	while (got < 0 && errno == EINTR);
	wire->drained = got > 0 && (size_t)got < size;
	wire->starved = got < 0;
	if (got == 0 && size > 0)
		wire->ended = true;
	if (got < 0 && errno != EAGAIN)
		wire->error = errno;
	return got;
}

bool
wire_is_quiet(struct wire *wire)
{
	char byte;
	ssize_t got;

	wire->drained = false;
	if (wire->first_left > 0)
		return false;
	do
		got = recv(wire->fd, &byte, 1, MSG_PEEK);
	while (got < 0 && errno == EINTR);
	return got < 0 && errno == EAGAIN;
}

ssize_t
wire_send(struct wire *wire, const void *bytes, size_t length)
{
	ssize_t sent;

	do
		sent = send(wire->fd, bytes, length, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent < 0 && errno != EAGAIN)
		wire->error = errno;
	return sent;
}

int
wire_flush(struct wire *wire)
{
	while (wire->out_left > 0) {
		ssize_t sent =
		    wire_send(wire, wire->out + wire->out_at, wire->out_left);

		if (sent < 0 && errno == EAGAIN)
			return STATUS_AGAIN;
		if (sent < 0)
			return STATUS_SYSTEM;
		wire->out_at += (size_t)sent;
		wire->out_left -= (size_t)sent;
	}
	wire_empty(wire);
	return STATUS_OK;
}

/* How much of length is taken; 0 when there is no room, or no memory. */
static size_t
wire_gather(struct wire *wire, const void *bytes, size_t length)
{
	size_t room, end;

	if (wire->out == NULL)
		wire->out = pool_take(wire->pool);
	if (wire->out == NULL)
		return 0;
	end = wire->out_at + wire->out_left;
	room = pool_size(wire->pool) - end;
	if (length > room)
		length = room;
	memcpy(wire->out + end, bytes, length);
	wire->out_left += length;
	return length;
}

static int
on_bio_write(BIO *bio, const char *bytes, size_t length, size_t *ret_put)
{
	BIO_clear_retry_flags(bio);
	*ret_put = wire_gather(BIO_get_data(bio), bytes, length);
	if (*ret_put > 0)
		return 1;
	BIO_set_retry_write(bio);
	return 0;
}

static int
on_bio_read(BIO *bio, char *out, size_t size, size_t *ret_got)
{
	ssize_t got = wire_read(BIO_get_data(bio), out, size);

	BIO_clear_retry_flags(bio);
	if (got > 0) {
		*ret_got = (size_t)got;
		return 1;
	}
	if (got < 0 && errno == EAGAIN)
		BIO_set_retry_read(bio);
	return 0;
}

/* The signature is OpenSSL's. */
static long
on_bio_control(BIO *bio, int command, long number, void *pointer)
{
	const struct wire *wire = BIO_get_data(bio);

	(void)number;
	(void)pointer;
	if (command == BIO_CTRL_EOF)
		return wire->ended;
	/* OpenSSL flushes often; we do it when it has come back. */
	return command == BIO_CTRL_FLUSH;
}

struct bio_method_st *
wire_method_new(void)
{
	BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "wire");

	if (method == NULL)
		return NULL;
	if (BIO_meth_set_write_ex(method, on_bio_write) != 1 ||
	    BIO_meth_set_read_ex(method, on_bio_read) != 1 ||
	    BIO_meth_set_ctrl(method, on_bio_control) != 1) {
		BIO_meth_free(method);
		return NULL;
	}
	return method;
}

struct bio_st *
wire_bio(const struct bio_method_st *method, struct wire *wire)
{
	BIO *bio = BIO_new(method);

	if (bio == NULL)
		return NULL;
	BIO_set_data(bio, wire);
	BIO_set_init(bio, 1);
	return bio;
}
