#include "gateway/tls/stream.h"

#include "tests/gateway/tls/pair.h"

static const struct cursor nothing = { NULL, 0 };

static void
bytes_read_before_come_first_and_then_the_sockets(void **state)
{
	int fd[2];
	struct stream *stream;
	char got[8];
	size_t length;

	(void)state;
	peer_pair(fd);
	stream = stream_new(fd[0], cursor_of_text("GET "));
	assert_non_null(stream);
	assert_false(stream_is_bare(stream));
	assert_true(stream_has_pending(stream));
	assert_int_equal(send(fd[1], "/", 1, 0), 1);
	assert_int_equal(stream_read(stream, got, 3, &length), STATUS_OK);
	assert_int_equal(length, 3);
	assert_memory_equal(got, "GET", 3);
	pair_expect(stream, " ");
	assert_false(stream_has_pending(stream));
	pair_expect(stream, "/");
	assert_int_equal(
	    stream_read(stream, got, sizeof(got), &length), STATUS_AGAIN);
	stream_free(stream);
	(void)close(fd[1]);
}

static void
clear_stream_tells_an_end_from_a_reset(void **state)
{
	const struct linger now = { .l_onoff = 1 };
	int fd[2];
	struct stream *stream;

	(void)state;
	peer_pair(fd);
	stream = stream_new(fd[0], nothing);
	assert_int_equal(shutdown(fd[1], SHUT_WR), 0);
	assert_int_equal(pair_next_status(stream), STATUS_CLOSED);
	assert_int_equal(
	    setsockopt(fd[1], SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	(void)close(fd[1]);
	stream_free(stream);
	peer_pair(fd);
	stream = stream_new(fd[0], nothing);
	assert_int_equal(
	    setsockopt(fd[1], SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	(void)close(fd[1]);
	assert_int_equal(pair_next_status(stream), STATUS_SYSTEM);
	stream_free(stream);
}

static void
reset_stream_is_no_end_to_its_peer(void **state)
{
	int fd[2];
	char byte;

	(void)state;
	peer_pair(fd);
	stream_reset(stream_new(fd[0], nothing));
	assert_int_equal(recv(fd[1], &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	(void)close(fd[1]);
	stream_reset(NULL);
	stream_free(NULL);
}

static void
bare_stream_gives_its_socket_away(void **state)
{
	int fd[2], given;
	struct stream *stream;

	(void)state;
	peer_pair(fd);
	stream = stream_new(fd[0], cursor_of_text("x"));
	pair_expect(stream, "x");
	assert_true(stream_is_bare(stream));
	given = stream_release(stream);
	assert_int_equal(given, fd[0]);
	assert_int_equal(send(given, "y", 1, 0), 1);
	(void)close(given);
	(void)close(fd[1]);
}

static void
clear_stream_needs_no_handshake(void **state)
{
	int fd[2];
	struct stream *stream;
	struct problem problem;

	(void)state;
	peer_pair(fd);
	stream = stream_new(fd[0], nothing);
	assert_int_equal(stream_handshake(stream, &problem), STATUS_OK);
	assert_int_equal(stream_version(stream), 0);
	assert_int_equal(stream_alpn(stream).left, 0);
	assert_false(stream_is_resumed(stream));
	stream_free(stream);
	(void)close(fd[1]);
}

static void
bytes_go_both_ways_through_tls(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair);
	pair_connect(&pair, "api.test", "api.test");
	assert_int_equal(pair.client_status, STATUS_OK);
	assert_int_equal(pair.server_status, STATUS_OK);
	assert_int_equal(stream_version(pair.client), TLS1_3_VERSION);
	assert_false(stream_is_bare(pair.client));
	pair_say(pair.client, "ask");
	pair_expect(pair.server, "ask");
	pair_say(pair.server, "answer");
	pair_expect(pair.client, "answer");
	pair_done(&pair);
}

static void
end_of_one_direction_leaves_the_other_open(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair);
	pair_connect(&pair, "api.test", "api.test");
	pair_say(pair.client, "last");
	assert_int_equal(stream_shutdown(pair.client), STATUS_OK);
	pair_expect(pair.server, "last");
	assert_int_equal(pair_next_status(pair.server), STATUS_CLOSED);
	pair_say(pair.server, "late");
	assert_int_equal(stream_shutdown(pair.server), STATUS_OK);
	pair_expect(pair.client, "late");
	assert_int_equal(pair_next_status(pair.client), STATUS_CLOSED);
	assert_int_equal(pair_next_status(pair.client), STATUS_CLOSED);
	pair_done(&pair);
}

/* Case S13: whoever cuts the connection may have cut the message. */
static void
cut_connection_is_no_end(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair);
	pair_connect(&pair, "api.test", "api.test");
	pair_say(pair.server, "half a mess");
	/* The tickets are read, so that closing sends no reset. */
	stream_free(STEAL(pair.server));
	pair_expect(pair.client, "half a mess");
	assert_int_equal(pair_next_status(pair.client), STATUS_MALFORMED);
	assert_int_equal(pair_next_status(pair.client), STATUS_MALFORMED);
	pair_done(&pair);
}

/* One byte of a record is turned on its way. */
static void
forged_record_breaks_the_stream_for_good(void **state)
{
	struct pair pair;
	unsigned char record[512];
	ssize_t length;
	size_t put;
	int between[2], last[2];

	(void)state;
	pair_init(&pair);
	pair_connect(&pair, "api.test", "api.test");
	/* The last flight is read, then the socket is replaced. */
	assert_int_equal(
	    stream_read(pair.client, record, 1, &put), STATUS_AGAIN);
	peer_pair(between);
	last[0] = dup(stream_fd(pair.server));
	assert_int_equal(
	    dup2(between[0], stream_fd(pair.server)), stream_fd(pair.server));
	pair_say(pair.server, "pay 10");
	length = recv(between[1], record, sizeof(record), 0);
	assert_true(length > 6);
	record[length - 1] ^= 1;
	assert_int_equal(send(last[0], record, (size_t)length, 0), length);
	assert_int_equal(pair_next_status(pair.client), STATUS_MALFORMED);
	assert_int_equal(
	    stream_write(pair.client, "x", 1, &put), STATUS_MALFORMED);
	assert_int_equal(stream_shutdown(pair.client), STATUS_MALFORMED);
	(void)close(last[0]);
	(void)close(between[0]);
	(void)close(between[1]);
	pair_done(&pair);
}

/* Half a record must not look like something to read, or its reader spins. */
static void
half_a_record_is_nothing_to_read(void **state)
{
	struct pair pair;
	unsigned char record[512];
	char got[16];
	ssize_t length;
	size_t put;
	int between[2], last;

	(void)state;
	pair_init(&pair);
	pair_connect(&pair, "api.test", "api.test");
	/* The tickets go first. */
	pair_say(pair.server, "first");
	pair_expect(pair.client, "first");
	peer_pair(between);
	last = dup(stream_fd(pair.server));
	assert_int_equal(
	    dup2(between[0], stream_fd(pair.server)), stream_fd(pair.server));
	pair_say(pair.server, "whole");
	length = recv(between[1], record, sizeof(record), 0);
	assert_true(length > 6);
	assert_int_equal(send(last, record, 6, 0), 6);
	pair_wait(pair.client, true);
	/* The first may be answered without a look. */
	for (int i = 0; i < 2; i++)
		assert_int_equal(
		    stream_read(pair.client, got, sizeof(got), &put),
		    STATUS_AGAIN);
	assert_false(stream_has_pending(pair.client));
	assert_int_equal(
	    send(last, record + 6, (size_t)length - 6, 0), length - 6);
	pair_expect(pair.client, "whole");
	(void)close(last);
	(void)close(between[0]);
	(void)close(between[1]);
	pair_done(&pair);
}

static void
quiet_stream_has_neither_bytes_nor_an_end(void **state)
{
	int fd[2];
	struct stream *stream;
	char got[4];
	size_t length;

	(void)state;
	peer_pair(fd);
	stream = stream_new(fd[0], nothing);
	assert_true(stream_is_quiet(stream));
	assert_int_equal(send(fd[1], "x", 1, 0), 1);
	pair_wait(stream, true);
	assert_false(stream_is_quiet(stream));
	/* The look took nothing, and does not stand for a read. */
	assert_int_equal(
	    stream_read(stream, got, sizeof(got), &length), STATUS_OK);
	assert_int_equal(length, 1);
	assert_true(stream_is_quiet(stream));
	assert_int_equal(shutdown(fd[1], SHUT_WR), 0);
	pair_wait(stream, true);
	assert_false(stream_is_quiet(stream));
	assert_int_equal(
	    stream_read(stream, got, sizeof(got), &length), STATUS_CLOSED);
	stream_free(stream);
	(void)close(fd[1]);
}

/* Writes until nothing more is taken. */
static size_t
fill(struct stream *stream)
{
	static unsigned char block[STREAM_WRITE_MAX];
	size_t sent = 0, put;

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (unsigned char)(i * 13);
	while (stream_write(stream, block, sizeof(block), &put) == STATUS_OK) {
		assert_int_equal(put, sizeof(block));
		sent += put;
		assert_true(sent < 1024UL * 1024 * 1024);
	}
	return sent;
}

static void
slow_reader_stops_the_writer_and_loses_nothing(void **state)
{
	static unsigned char got[STREAM_WRITE_MAX];
	struct pair pair;
	size_t sent, read = 0, length;

	(void)state;
	pair_init(&pair);
	pair_connect(&pair, "api.test", "api.test");
	sent = fill(pair.server);
	assert_true(stream_wants_write(pair.server));
	assert_int_equal(
	    stream_write(pair.server, "x", 1, &length), STATUS_AGAIN);
	while (read < sent) {
		int status =
		    stream_read(pair.client, got, sizeof(got), &length);

		int flushed = stream_flush(pair.server);

		assert_true(flushed == STATUS_OK || flushed == STATUS_AGAIN);
		if (status == STATUS_AGAIN) {
			pair_wait(pair.client, true);
			continue;
		}
		assert_int_equal(status, STATUS_OK);
		for (size_t i = 0; i < length; i++)
			assert_int_equal(
			    got[i], (unsigned char)((read + i) % 65536 * 13));
		read += length;
	}
	assert_int_equal(read, sent);
	assert_false(stream_wants_write(pair.server));
	pair_done(&pair);
}

/* A peer that asks for new keys without end and reads no answer. */
static void
flood_of_key_updates_is_bounded(void **state)
{
	struct pair pair;
	char byte;
	size_t got;
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *ssl = SSL_new(context);
	int fd[2], status = STATUS_AGAIN;
	struct problem problem;

	(void)state;
	pair_init(&pair);
	peer_pair(fd);
	pair_accept(&pair, fd[1], "api.test", NULL, nothing);
	assert_int_equal(SSL_set_fd(ssl, fd[0]), 1);
	for (int i = 0; i < 50 && status == STATUS_AGAIN; i++) {
		(void)SSL_connect(ssl);
		pair_settle(fd[0], fd[1]);
		status = stream_handshake(pair.server, &problem);
	}
	assert_int_equal(status, STATUS_OK);
	for (int i = 0; i < 20000; i++) {
		if (SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) != 1 ||
		    SSL_do_handshake(ssl) != 1)
			break;
		status = stream_read(pair.server, &byte, 1, &got);
		if (status != STATUS_AGAIN)
			break;
	}
	/* It waits or gave up; the pool lent one buffer, of one size. */
	assert_true(status != STATUS_OK);
	SSL_free(ssl);
	SSL_CTX_free(context);
	(void)close(fd[0]);
	pair_done(&pair);
}

static void
thousand_connections_leave_no_descriptor(void **state)
{
	struct pair pair;
	int before;

	(void)state;
	pair_init(&pair);
	before = peer_descriptors();
	for (int i = 0; i < 1000; i++) {
		pair_connect(&pair, "api.test", "api.test");
		assert_int_equal(pair.client_status, STATUS_OK);
		pair_disconnect(&pair);
	}
	assert_int_equal(peer_descriptors(), before);
	pair_done(&pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    bytes_read_before_come_first_and_then_the_sockets),
		cmocka_unit_test(clear_stream_tells_an_end_from_a_reset),
		cmocka_unit_test(reset_stream_is_no_end_to_its_peer),
		cmocka_unit_test(bare_stream_gives_its_socket_away),
		cmocka_unit_test(clear_stream_needs_no_handshake),
		cmocka_unit_test(bytes_go_both_ways_through_tls),
		cmocka_unit_test(end_of_one_direction_leaves_the_other_open),
		cmocka_unit_test(cut_connection_is_no_end),
		cmocka_unit_test(forged_record_breaks_the_stream_for_good),
		cmocka_unit_test(half_a_record_is_nothing_to_read),
		cmocka_unit_test(quiet_stream_has_neither_bytes_nor_an_end),
		cmocka_unit_test(
		    slow_reader_stops_the_writer_and_loses_nothing),
		cmocka_unit_test(flood_of_key_updates_is_bounded),
		cmocka_unit_test(thousand_connections_leave_no_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
