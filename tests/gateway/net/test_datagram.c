#include "gateway/net/datagram.h"

#include "schema/limits.h"
#include "tests/gateway/net/peer.h"

struct echo {
	struct datagram *datagram;
	int count;
	struct endpoint meant;
	size_t length;
};

/* Answers with what it got, from the address that was asked. */
static void
on_message(struct cursor bytes, const struct endpoint *from,
    const struct endpoint *meant, void *arg)
{
	struct echo *echo = arg;

	echo->count++;
	echo->meant = *meant;
	echo->length = bytes.left;
	assert_int_equal(
	    datagram_answer(echo->datagram, bytes, from, meant), STATUS_OK);
}

/* A connected socket takes nothing from another address than it asked. */
static void
ask_at(struct event_base *base, struct echo *echo, const struct endpoint *to)
{
	int client = peer_connected(SOCK_DGRAM, to);
	char answer[8];

	assert_int_equal(send(client, "hello", 5, 0), 5);
	peer_run_until_readable(base, client);
	assert_int_equal(recv(client, answer, sizeof(answer), MSG_DONTWAIT), 5);
	assert_memory_equal(answer, "hello", 5);
	assert_true(endpoint_equals(&echo->meant, to));
	(void)close(client);
}

static void
answer_at(const char *wildcard, const char *const asked[2])
{
	struct event_base *base = event_base_new();
	struct echo echo = { 0 };
	int fd = peer_bound(SOCK_DGRAM, wildcard, 0);
	uint16_t port = peer_own_end(fd).port;

	echo.datagram =
	    datagram_new(base, fd, LIMIT_DNS_MESSAGE, on_message, &echo);
	assert_non_null(echo.datagram);
	for (int i = 0; i < 2; i++) {
		struct endpoint to = { peer_address(asked[i]), port };

		ask_at(base, &echo, &to);
	}
	datagram_free(echo.datagram);
	event_base_free(base);
}

static void
answer_leaves_from_the_v4_address_that_was_asked(void **state)
{
	const char *const asked[] = { "127.0.0.53", "127.9.9.9" };

	(void)state;
	answer_at("0.0.0.0", asked);
}

static void
answer_leaves_from_the_v6_address_that_was_asked(void **state)
{
	const char *const asked[] = { "::1", "::1" };

	(void)state;
	answer_at("::", asked);
}

/* More than a batch, so that some are answered in a later turn. */
static void
every_message_of_a_burst_is_answered(void **state)
{
	struct event_base *base = event_base_new();
	struct echo echo = { 0 };
	int fd = peer_bound(SOCK_DGRAM, "127.0.0.1", 0), client;
	struct endpoint to = peer_own_end(fd);
	char answer[8];

	(void)state;
	echo.datagram =
	    datagram_new(base, fd, LIMIT_DNS_MESSAGE, on_message, &echo);
	assert_non_null(echo.datagram);
	client = peer_connected(SOCK_DGRAM, &to);
	for (char i = 0; i < 100; i++)
		assert_int_equal(send(client, &i, 1, 0), 1);
	for (char i = 0; i < 100; i++) {
		peer_run_until_readable(base, client);
		assert_int_equal(
		    recv(client, answer, sizeof(answer), MSG_DONTWAIT), 1);
		assert_int_equal(answer[0], i);
	}
	(void)close(client);
	datagram_free(echo.datagram);
	event_base_free(base);
}

static void
message_beyond_the_limit_is_dropped_and_not_cut(void **state)
{
	struct event_base *base = event_base_new();
	struct echo echo = { 0 };
	int fd = peer_bound(SOCK_DGRAM, "127.0.0.1", 0), client;
	struct endpoint to = peer_own_end(fd);
	char large[LIMIT_DNS_MESSAGE + 1] = { 0 };

	(void)state;
	echo.datagram =
	    datagram_new(base, fd, LIMIT_DNS_MESSAGE, on_message, &echo);
	assert_non_null(echo.datagram);
	client = peer_connected(SOCK_DGRAM, &to);
	assert_int_equal(send(client, large, sizeof(large), 0), sizeof(large));
	peer_run_ready(base);
	assert_int_equal(echo.count, 0);
	assert_int_equal(
	    send(client, large, LIMIT_DNS_MESSAGE, 0), LIMIT_DNS_MESSAGE);
	peer_run_ready(base);
	assert_int_equal(echo.count, 1);
	assert_int_equal(echo.length, LIMIT_DNS_MESSAGE);
	assert_int_equal(datagram_answer(echo.datagram,
			     cursor_of(large, sizeof(large)), &to, &to),
	    STATUS_TOO_LONG);
	(void)close(client);
	datagram_free(echo.datagram);
	event_base_free(base);
}

/* The error of an answer that bounced must not end the socket's service. */
static void
one_who_asks_and_leaves_disturbs_nobody(void **state)
{
	struct event_base *base = event_base_new();
	struct echo echo = { 0 };
	int fd = peer_bound(SOCK_DGRAM, "127.0.0.1", 0), client;
	struct endpoint to = peer_own_end(fd);

	(void)state;
	echo.datagram =
	    datagram_new(base, fd, LIMIT_DNS_MESSAGE, on_message, &echo);
	assert_non_null(echo.datagram);
	client = peer_connected(SOCK_DGRAM, &to);
	assert_int_equal(send(client, "x", 1, 0), 1);
	(void)close(client);
	peer_run_ready(base);
	ask_at(base, &echo, &to);
	assert_int_equal(echo.count, 2);
	datagram_free(echo.datagram);
	event_base_free(base);
}

static void
answer_to_another_family_is_refused(void **state)
{
	struct event_base *base = event_base_new();
	int fd = peer_bound(SOCK_DGRAM, "127.0.0.1", 0);
	struct datagram *datagram =
	    datagram_new(base, fd, LIMIT_DNS_MESSAGE, on_message, NULL);
	struct endpoint four = { peer_address("127.0.0.1"), 9 };
	struct endpoint six = { peer_address("::1"), 9 };

	(void)state;
	assert_non_null(datagram);
	assert_int_equal(
	    datagram_answer(datagram, cursor_of_text("x"), &six, &four),
	    STATUS_REFUSED);
	assert_int_equal(
	    datagram_answer(datagram, cursor_of_text("x"), &four, &six),
	    STATUS_REFUSED);
	datagram_free(datagram);
	event_base_free(base);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    answer_leaves_from_the_v4_address_that_was_asked),
		cmocka_unit_test(
		    answer_leaves_from_the_v6_address_that_was_asked),
		cmocka_unit_test(every_message_of_a_burst_is_answered),
		cmocka_unit_test(
		    message_beyond_the_limit_is_dropped_and_not_cut),
		cmocka_unit_test(one_who_asks_and_leaves_disturbs_nobody),
		cmocka_unit_test(answer_to_another_family_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
