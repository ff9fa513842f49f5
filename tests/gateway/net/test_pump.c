#include "gateway/net/pump.h"

#include "gateway/net/pool.h"
#include "schema/limits.h"
#include "tests/gateway/net/peer.h"

#include <stdlib.h>

struct bench {
	struct event_base *base;
	struct pool *pool;
	struct pump *pump;
	int client, server; /* the peers' own ends */
	int fd[PUMP_SIDES]; /* the pump's */
	bool ended;
	struct pump_result result;
};

static void
on_end(const struct pump_result *result, void *arg)
{
	struct bench *bench = arg;

	bench->ended = true;
	bench->result = *result;
}

static void
bench_start(struct bench *bench, struct pump_order *order)
{
	int inside[2], outside[2];

	memset(bench, 0, sizeof(*bench));
	bench->base = event_base_new();
	bench->pool = pool_new(LIMIT_RELAY_BYTES, 2);
	assert_non_null(bench->pool);
	peer_pair(inside);
	peer_pair(outside);
	bench->client = inside[0];
	bench->server = outside[1];
	bench->fd[PUMP_INSIDE] = order->fd[PUMP_INSIDE] = inside[1];
	bench->fd[PUMP_OUTSIDE] = order->fd[PUMP_OUTSIDE] = outside[0];
	if (order->idle_ms == 0)
		order->idle_ms = LIMIT_IDLE_MS;
	bench->pump =
	    pump_start(bench->base, bench->pool, order, on_end, bench);
	assert_non_null(bench->pump);
	assert_false(bench->ended);
}

static void
bench_stop(struct bench *bench)
{
	pump_free(bench->pump);
	pool_free(bench->pool);
	(void)close(bench->client);
	(void)close(bench->server);
	event_base_free(bench->base);
}

static void
expect_bytes(struct bench *bench, int fd, const char *text)
{
	char got[64];
	ssize_t length;

	peer_run_until_readable(bench->base, fd);
	length = recv(fd, got, sizeof(got), MSG_DONTWAIT);
	assert_int_equal(length, strlen(text));
	assert_memory_equal(got, text, strlen(text));
}

static void
expect_end(struct bench *bench, int fd)
{
	char got[8];

	peer_run_until_readable(bench->base, fd);
	assert_int_equal(recv(fd, got, sizeof(got), MSG_DONTWAIT), 0);
}

static void
expect_reset(struct bench *bench, int fd)
{
	char got[8];

	peer_run_until_readable(bench->base, fd);
	assert_int_equal(recv(fd, got, sizeof(got), MSG_DONTWAIT), -1);
	assert_int_equal(errno, ECONNRESET);
}

static void
reset_now(int fd)
{
	const struct linger now = { .l_onoff = 1 };

	assert_int_equal(
	    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	assert_int_equal(close(fd), 0);
}

static void
bytes_go_both_ways_and_are_counted(void **state)
{
	struct pump_order order = { 0 };
	struct bench bench;

	(void)state;
	bench_start(&bench, &order);
	assert_int_equal(send(bench.client, "ask", 3, 0), 3);
	expect_bytes(&bench, bench.server, "ask");
	assert_int_equal(send(bench.server, "answer", 6, 0), 6);
	expect_bytes(&bench, bench.client, "answer");
	assert_int_equal(pump_bytes(bench.pump, PUMP_INSIDE), 3);
	assert_int_equal(pump_bytes(bench.pump, PUMP_OUTSIDE), 6);
	bench_stop(&bench);
}

/* Case S20: a server that speaks first is heard, whoever is silent. */
static void
server_may_speak_first(void **state)
{
	struct pump_order order = { 0 };
	struct bench bench;

	(void)state;
	bench_start(&bench, &order);
	assert_int_equal(send(bench.server, "220 ready", 9, 0), 9);
	expect_bytes(&bench, bench.client, "220 ready");
	bench_stop(&bench);
}

/* Case S21: a hello is replayed as it came, up to the largest that is read. */
static void
bytes_read_before_go_first_and_untouched(void **state)
{
	static unsigned char hello[LIMIT_RELAY_BYTES], got[LIMIT_RELAY_BYTES];
	struct pump_order order = { .first = {
					[PUMP_INSIDE] = { hello,
					    sizeof(hello) },
					[PUMP_OUTSIDE] = { hello, 5 },
				    } };
	struct bench bench;
	size_t have = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(hello); i++)
		hello[i] = (unsigned char)(i * 7);
	bench_start(&bench, &order);
	assert_int_equal(send(bench.client, "!", 1, 0), 1);
	while (have < sizeof(got)) {
		ssize_t length;

		peer_run_until_readable(bench.base, bench.server);
		length = recv(bench.server, got + have, sizeof(got) - have, 0);
		assert_true(length > 0);
		have += (size_t)length;
	}
	assert_memory_equal(got, hello, sizeof(hello));
	expect_bytes(&bench, bench.server, "!");
	peer_run_until_readable(bench.base, bench.client);
	assert_int_equal(recv(bench.client, got, sizeof(got), 0), 5);
	assert_memory_equal(got, hello, 5);
	bench_stop(&bench);
}

static void
end_of_one_direction_leaves_the_other_open(void **state)
{
	struct pump_order order = { 0 };
	struct bench bench;

	(void)state;
	bench_start(&bench, &order);
	assert_int_equal(send(bench.client, "last", 4, 0), 4);
	assert_int_equal(shutdown(bench.client, SHUT_WR), 0);
	expect_bytes(&bench, bench.server, "last");
	expect_end(&bench, bench.server);
	assert_false(bench.ended);
	assert_int_equal(send(bench.server, "late", 4, 0), 4);
	expect_bytes(&bench, bench.client, "late");
	assert_int_equal(shutdown(bench.server, SHUT_WR), 0);
	expect_end(&bench, bench.client);
	peer_run_until(bench.base, &bench.ended);
	assert_int_equal(bench.result.end, PUMP_CLEAN);
	bench_stop(&bench);
}

/* Case S13: what breaks off is never told as an end. */
static void
reset_of_one_side_resets_the_other(void **state)
{
	struct pump_order order = { 0 };
	struct bench bench;

	(void)state;
	bench_start(&bench, &order);
	reset_now(bench.server);
	peer_run_until(bench.base, &bench.ended);
	assert_int_equal(bench.result.end, PUMP_RESET);
	assert_int_equal(bench.result.side, PUMP_OUTSIDE);
	pump_free(STEAL(bench.pump));
	expect_reset(&bench, bench.client);
	bench.server = -1;
	bench_stop(&bench);
}

/* The last bytes and the reset come at once; both must be noticed. */
static void
reset_right_behind_bytes_is_noticed(void **state)
{
	struct pump_order order = { 0 };
	struct bench bench;

	(void)state;
	bench_start(&bench, &order);
	assert_int_equal(send(bench.client, "half of a m", 11, 0), 11);
	reset_now(bench.client);
	peer_run_until(bench.base, &bench.ended);
	assert_int_equal(bench.result.end, PUMP_RESET);
	assert_int_equal(bench.result.side, PUMP_INSIDE);
	pump_free(STEAL(bench.pump));
	bench.client = -1;
	bench_stop(&bench);
}

static void
pump_freed_midway_resets_both_sides(void **state)
{
	struct pump_order order = { 0 };
	struct bench bench;

	(void)state;
	bench_start(&bench, &order);
	pump_free(STEAL(bench.pump));
	expect_reset(&bench, bench.client);
	expect_reset(&bench, bench.server);
	bench_stop(&bench);
}

/* Writes until the whole path is full, and returns how much that was. */
static size_t
fill(struct bench *bench, int fd)
{
	static const char block[65536];
	size_t sent = 0;

	for (int quiet = 0; quiet < 3; quiet++) {
		ssize_t length;

		while ((length = send(fd, block, sizeof(block), 0)) > 0) {
			sent += (size_t)length;
			quiet = 0;
			/* Buffers of the kernel are bounded; so is this. */
			assert_true(sent < 1024UL * 1024 * 1024);
		}
		peer_run_ready(bench->base);
	}
	return sent;
}

static void
slow_reader_slows_its_writer_and_loses_nothing(void **state)
{
	struct pump_order order = { 0 };
	struct bench bench;
	static char got[65536];
	size_t sent, read = 0;

	(void)state;
	bench_start(&bench, &order);
	sent = fill(&bench, bench.client);
	/* The pump itself held no more than one buffer of it. */
	assert_true(pump_bytes(bench.pump, PUMP_INSIDE) <= sent);
	/* The other direction does not suffer. */
	assert_int_equal(send(bench.server, "still here", 10, 0), 10);
	expect_bytes(&bench, bench.client, "still here");
	assert_int_equal(shutdown(bench.client, SHUT_WR), 0);
	for (;;) {
		ssize_t length;

		peer_run_until_readable(bench.base, bench.server);
		length = recv(bench.server, got, sizeof(got), 0);
		assert_true(length >= 0);
		if (length == 0)
			break;
		read += (size_t)length;
	}
	assert_int_equal(read, sent);
	assert_int_equal(pump_bytes(bench.pump, PUMP_INSIDE), sent);
	bench_stop(&bench);
}

/* No turn of the loop may be spent on a side that takes nothing. */
static void
blocked_pump_is_quiet(void **state)
{
	struct pump_order order = { 0 };
	struct bench bench;
	const struct timeval soon = { .tv_usec = 50000 };
	int turns = 0;

	(void)state;
	bench_start(&bench, &order);
	(void)fill(&bench, bench.client);
	assert_int_equal(event_base_loopexit(bench.base, &soon), 0);
	while (!event_base_got_exit(bench.base)) {
		assert_int_equal(event_base_loop(bench.base, EVLOOP_ONCE), 0);
		turns++;
	}
	assert_true(turns < 5);
	bench_stop(&bench);
}

static void
quiet_pump_ends_as_idle_and_a_busy_one_does_not(void **state)
{
	struct pump_order order = { .idle_ms = 40 };
	struct bench bench;
	int64_t begun = peer_now_ms();

	(void)state;
	bench_start(&bench, &order);
	while (peer_now_ms() - begun < 100) {
		char got[8];

		assert_int_equal(send(bench.client, "x", 1, 0), 1);
		assert_true(event_base_loop(bench.base, EVLOOP_NONBLOCK) >= 0);
		(void)recv(bench.server, got, sizeof(got), 0);
		assert_false(bench.ended);
	}
	peer_run_until(bench.base, &bench.ended);
	assert_int_equal(bench.result.end, PUMP_IDLE);
	pump_free(STEAL(bench.pump));
	expect_reset(&bench, bench.client);
	bench_stop(&bench);
}

/* Idle flows hold no buffer: this pool cannot lend more than it counts. */
static void
thousand_pumps_leave_no_descriptor(void **state)
{
	int before = peer_descriptors();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		struct pump_order order = { 0 };
		struct bench bench;

		bench_start(&bench, &order);
		assert_int_equal(send(bench.client, "x", 1, 0), 1);
		assert_int_equal(
		    event_base_loop(bench.base, EVLOOP_NONBLOCK), 0);
		bench_stop(&bench);
	}
	assert_int_equal(peer_descriptors(), before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_go_both_ways_and_are_counted),
		cmocka_unit_test(server_may_speak_first),
		cmocka_unit_test(bytes_read_before_go_first_and_untouched),
		cmocka_unit_test(end_of_one_direction_leaves_the_other_open),
		cmocka_unit_test(reset_of_one_side_resets_the_other),
		cmocka_unit_test(reset_right_behind_bytes_is_noticed),
		cmocka_unit_test(pump_freed_midway_resets_both_sides),
		cmocka_unit_test(
		    slow_reader_slows_its_writer_and_loses_nothing),
		cmocka_unit_test(blocked_pump_is_quiet),
		cmocka_unit_test(
		    quiet_pump_ends_as_idle_and_a_busy_one_does_not),
		cmocka_unit_test(thousand_pumps_leave_no_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
