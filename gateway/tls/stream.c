#include "gateway/tls/stream.h"

#include "gateway/net/pool.h"
#include "gateway/tls/tlserr.h"
#include "gateway/tls/wire.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <assert.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct stream {
	struct wire wire;
	SSL *ssl; /* NULL in the clear */
	void *own;
	int broken; /* a status that no later call recovers from, or OK */
	bool closing; /* close_notify was made */
};

struct stream *
stream_new(int fd, struct cursor first)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (stream == NULL)
		return NULL;
	if (wire_init(&stream->wire, fd, first, NULL) != STATUS_OK) {
		free(stream);
		return NULL;
	}
	return stream;
}

struct stream *
stream_of_session(const struct stream_order *order)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	BIO *bio;

	if (stream == NULL)
		return NULL;
	assert(pool_size(order->pool) == STREAM_BUFFER);
	bio = wire_bio(order->method, &stream->wire);
	if (bio == NULL || wire_init(&stream->wire, order->fd, order->first,
			       order->pool) != STATUS_OK) {
		BIO_free(bio);
		free(stream);
		return NULL;
	}
	SSL_set_bio(order->ssl, bio, bio);
	stream->ssl = order->ssl;
	stream->own = order->own;
	return stream;
}

void
stream_free(struct stream *stream)
{
	if (stream == NULL)
		return;
	if (stream->ssl != NULL) {
		/*
		 * Without a close_notify OpenSSL would not resume the session
		 * again (SSL_shutdown(3)); a quiet one is not sent.
		 */
		SSL_set_quiet_shutdown(stream->ssl, 1);
		(void)SSL_shutdown(stream->ssl);
		SSL_free(stream->ssl);
		tlserr_clear();
	}
	wire_done(&stream->wire);
	free(stream->own);
	free(stream);
}

void
stream_reset(struct stream *stream)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	if (stream == NULL)
		return;
	(void)setsockopt(
	    stream->wire.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	stream_free(stream);
}

int
stream_fd(const struct stream *stream)
{
	return stream->wire.fd;
}

static int
stream_break(struct stream *stream, int status)
{
	stream->broken = status;
	return status;
}

/* Why a handshake stopped; the alert that says so is on its way. */
static int
stream_handshake_failed(struct stream *stream, struct problem *reterr)
{
	int status = tlserr_session(reterr, stream->ssl);

	if (status == STATUS_REFUSED)
		return stream_break(stream, status);
	if (stream->wire.error != 0) {
		errno = stream->wire.error;
		(void)problem_errno(reterr, "the connection broke");
		status = STATUS_CLOSED;
	} else if (stream->wire.ended) {
		(void)problem_set(
		    reterr, "the other side left during the TLS handshake");
		status = STATUS_CLOSED;
	}
	return stream_break(stream, status);
}

int
stream_handshake(struct stream *stream, struct problem *reterr)
{
	int result, want, flushed;

	if (stream->broken != STATUS_OK) {
		(void)problem_set(reterr, "the connection broke before");
		return stream->broken;
	}
	if (stream->ssl == NULL || SSL_is_init_finished(stream->ssl))
		return STATUS_OK;
	tlserr_clear();
	result = SSL_do_handshake(stream->ssl);
	want = SSL_get_error(stream->ssl, result);
	flushed = wire_flush(&stream->wire);
	if (result == 1)
		return STATUS_OK;
	if (want == SSL_ERROR_WANT_READ || want == SSL_ERROR_WANT_WRITE) {
		if (flushed != STATUS_SYSTEM)
			return STATUS_AGAIN;
	}
	return stream_handshake_failed(stream, reterr);
}

static int
stream_read_clear(struct stream *stream, void *out, size_t size, size_t *ret)
{
	ssize_t got = wire_read(&stream->wire, out, size);

	if (got < 0)
		return errno == EAGAIN ? STATUS_AGAIN : STATUS_SYSTEM;
	if (got == 0)
		return STATUS_CLOSED;
	*ret = (size_t)got;
	return STATUS_OK;
}

/* What a failed SSL_read or SSL_write means. */
static int
stream_status(struct stream *stream, int want)
{
	tlserr_clear();
	switch (want) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return STATUS_AGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return STATUS_CLOSED;
	default:
		break;
	}
	if (stream->wire.error != 0) {
		errno = stream->wire.error;
		return stream_break(stream, STATUS_SYSTEM);
	}
	return stream_break(stream, STATUS_MALFORMED);
}

/* One record, or what is left of it. */
static int
stream_read_record(struct stream *stream, void *out, size_t size, size_t *ret)
{
	size_t got;
	int result, want;

	tlserr_clear();
	result = SSL_read_ex(stream->ssl, out, size, &got);
	want = SSL_get_error(stream->ssl, result);
	/* Reading may have made an answer: to a key update, or an alert. */
	if (stream->wire.out_left > 0) {
		int flushed = wire_flush(&stream->wire);

		if (flushed == STATUS_SYSTEM && result != 1)
			return stream_break(stream, STATUS_SYSTEM);
	}
	if (result != 1)
		return stream_status(stream, want);
	*ret = got;
	return STATUS_OK;
}

/*
 * Whether bytes wait on this side of the socket.  Of a record that OpenSSL has
 * asked in vain for the rest of, nothing can be read.
 */
static bool
stream_holds(const struct stream *stream)
{
	if (stream->wire.first_left > 0)
		return true;
	return stream->ssl != NULL && !stream->wire.starved &&
	       SSL_has_pending(stream->ssl);
}

/*
 * Most readers ask once more after their last bytes.  What a short read has
 * emptied is not asked again for that: what comes later makes it readable.
 */
static bool
stream_is_drained(struct stream *stream)
{
	if (!stream->wire.drained)
		return false;
	stream->wire.drained = false;
	return !stream_holds(stream);
}

int
stream_read(struct stream *stream, void *out, size_t size, size_t *ret_got)
{
	unsigned char *at = out;
	size_t have = 0, got;
	int status;

	if (stream->broken != STATUS_OK)
		return stream->broken;
	if (stream_is_drained(stream))
		return STATUS_AGAIN;
	if (stream->ssl == NULL)
		return stream_read_clear(stream, out, size, ret_got);
	/* As many records as fit: each would cost its reader a turn. */
	do {
		status =
		    stream_read_record(stream, at + have, size - have, &got);
		if (status == STATUS_OK)
			have += got;
	} while (
	    status == STATUS_OK && have < size && SSL_has_pending(stream->ssl));
	if (have == 0)
		return status;
	*ret_got = have;
	return STATUS_OK;
}

bool
stream_has_pending(const struct stream *stream)
{
	return stream->broken != STATUS_OK || stream_holds(stream);
}

bool
stream_is_quiet(struct stream *stream)
{
	return !stream_has_pending(stream) && wire_is_quiet(&stream->wire);
}

static int
stream_write_clear(
    struct stream *stream, const void *bytes, size_t length, size_t *ret)
{
	ssize_t sent = wire_send(&stream->wire, bytes, length);

	if (sent < 0)
		return errno == EAGAIN ? STATUS_AGAIN : STATUS_SYSTEM;
	*ret = (size_t)sent;
	return STATUS_OK;
}

/* The buffer is empty, and has room for all records of this. */
static int
stream_write_records(
    struct stream *stream, const void *bytes, size_t length, size_t *ret)
{
	size_t put;
	int result, flushed;

	tlserr_clear();
	result = SSL_write_ex(stream->ssl, bytes, length, &put);
	if (result != 1) {
		int want = SSL_get_error(stream->ssl, result);

		/* Nothing but memory for the buffer can be missing. */
		if (want == SSL_ERROR_WANT_WRITE)
			return stream_break(stream, STATUS_NO_MEMORY);
		return stream_status(stream, want);
	}
	flushed = wire_flush(&stream->wire);
	if (flushed == STATUS_SYSTEM)
		return stream_break(stream, STATUS_SYSTEM);
	*ret = put;
	return STATUS_OK;
}

int
stream_write(
    struct stream *stream, const void *bytes, size_t length, size_t *ret_put)
{
	int flushed;

	if (stream->broken != STATUS_OK)
		return stream->broken;
	if (length > STREAM_WRITE_MAX)
		length = STREAM_WRITE_MAX;
	if (length == 0) {
		*ret_put = 0;
		return STATUS_OK;
	}
	if (stream->ssl == NULL)
		return stream_write_clear(stream, bytes, length, ret_put);
	flushed = stream_flush(stream);
	if (flushed != STATUS_OK)
		return flushed;
	return stream_write_records(stream, bytes, length, ret_put);
}

int
stream_flush(struct stream *stream)
{
	int status = wire_flush(&stream->wire);

	if (status == STATUS_SYSTEM)
		return stream_break(stream, status);
	return status;
}

bool
stream_wants_write(const struct stream *stream)
{
	return stream->wire.out_left > 0;
}

int
stream_shutdown(struct stream *stream)
{
	int status;

	if (stream->broken != STATUS_OK)
		return stream->broken;
	if (stream->ssl != NULL && !stream->closing) {
		status = stream_flush(stream);
		if (status != STATUS_OK)
			return status;
		tlserr_clear();
		(void)SSL_shutdown(stream->ssl);
		tlserr_clear();
	}
	stream->closing = true;
	status = stream_flush(stream);
	if (status != STATUS_OK)
		return status;
	if (shutdown(stream->wire.fd, SHUT_WR) < 0)
		return stream_break(stream, STATUS_SYSTEM);
	return STATUS_OK;
}

bool
stream_is_bare(const struct stream *stream)
{
	return stream->ssl == NULL && stream->wire.first_left == 0;
}

int
stream_release(struct stream *stream)
{
	int fd;

	assert(stream_is_bare(stream));
	fd = steal_fd(&stream->wire.fd);
	stream_free(stream);
	return fd;
}

struct cursor
stream_alpn(const struct stream *stream)
{
	const unsigned char *name = NULL;
	unsigned length = 0;

	if (stream->ssl != NULL)
		SSL_get0_alpn_selected(stream->ssl, &name, &length);
	return cursor_of(name, length);
}

unsigned
stream_version(const struct stream *stream)
{
	return stream->ssl == NULL ? 0 : (unsigned)SSL_version(stream->ssl);
}

bool
stream_is_resumed(const struct stream *stream)
{
	return stream->ssl != NULL && SSL_session_reused(stream->ssl) == 1;
}
