#include "gateway/net/resolve.h"

#include "schema/hostname.h"
#include "schema/limits.h"
#include "schema/problem.h"
#include "tests/gateway/net/nameserver.h"

struct heard {
	bool done;
	int status, calls;
	size_t count;
	struct address list[LIMIT_ADDRESSES];
};

static void
on_resolved(const struct address *list, size_t count, int status, void *arg)
{
	struct heard *heard = arg;

	heard->done = true;
	heard->calls++;
	heard->status = status;
	heard->count = count;
	memcpy(heard->list, list, count * sizeof(list[0]));
}

struct bench {
	struct event_base *base;
	struct nameserver server;
	struct resolver *resolver;
	char conf[32], hosts[32];
};

static void
write_file(char path[32], const char *text)
{
	int fd;

	assert_true(snprintf(path, 32, "/tmp/exeat-resolve-XXXXXX") > 0);
	fd = mkostemp(path, O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static void
bench_start(struct bench *bench, const char *conf)
{
	struct problem problem;

	write_file(bench->conf, conf);
	write_file(bench->hosts,
	    "192.0.2.77 fixed.test\n192.0.2.78 localhost x.localhost\n");
	bench->resolver =
	    resolver_new(bench->base, bench->conf, bench->hosts, &problem);
	assert_non_null(bench->resolver);
}

static void
bench_init(struct bench *bench)
{
	bench->base = event_base_new();
	nameserver_init(&bench->server, bench->base, "127.0.0.1");
	bench_start(bench, bench->server.conf);
}

static void
bench_done(struct bench *bench)
{
	resolver_free(bench->resolver);
	peer_run_ready(bench->base);
	nameserver_done(&bench->server);
	(void)unlink(bench->conf);
	(void)unlink(bench->hosts);
	event_base_free(bench->base);
}

static struct hostname
named(const char *text)
{
	struct hostname name;

	assert_int_equal(hostname_parse(text, strlen(text), &name), STATUS_OK);
	return name;
}

static struct resolve *
ask(struct bench *bench, const char *text, struct heard *heard)
{
	struct hostname name = named(text);
	struct resolve *resolve =
	    resolve_start(bench->resolver, &name, on_resolved, heard);

	assert_non_null(resolve);
	assert_false(heard->done);
	return resolve;
}

static struct heard
answer(struct bench *bench, const char *text)
{
	struct heard heard = { 0 };

	(void)ask(bench, text, &heard);
	peer_run_until(bench->base, &heard.done);
	assert_int_equal(heard.calls, 1);
	return heard;
}

static void
expect_address(const struct heard *heard, const char *text)
{
	struct address wanted = peer_address(text);

	for (size_t i = 0; i < heard->count; i++) {
		if (address_equals(&heard->list[i], &wanted))
			return;
	}
	fail_msg("%s is not among the addresses", text);
}

static void
both_families_are_asked_for_and_given(void **state)
{
	struct bench bench;
	struct heard heard;

	(void)state;
	bench_init(&bench);
	heard = answer(&bench, "api.test");
	assert_int_equal(heard.status, STATUS_OK);
	assert_int_equal(heard.count, 2);
	expect_address(&heard, "192.0.2.1");
	expect_address(&heard, "2001:db8::1");
	heard = answer(&bench, "v4.test");
	assert_int_equal(heard.count, 1);
	expect_address(&heard, "192.0.2.1");
	heard = answer(&bench, "v6.test");
	assert_int_equal(heard.count, 1);
	expect_address(&heard, "2001:db8::1");
	bench_done(&bench);
}

static void
known_name_is_not_asked_for_again(void **state)
{
	struct bench bench;
	struct heard heard;
	struct hostname name = named("api.test");
	struct address list[LIMIT_ADDRESSES];
	size_t count = 0;

	(void)state;
	bench_init(&bench);
	assert_false(resolver_knows(bench.resolver, &name, list, &count));
	(void)answer(&bench, "api.test");
	assert_int_equal(bench.server.asked, 2);
	heard = answer(&bench, "api.test");
	assert_int_equal(heard.count, 2);
	assert_int_equal(bench.server.asked, 2);
	assert_true(resolver_knows(bench.resolver, &name, list, &count));
	assert_int_equal(count, 2);
	bench_done(&bench);
}

static void
those_who_ask_meanwhile_share_one_question(void **state)
{
	struct bench bench;
	struct heard heard[10] = { 0 };

	(void)state;
	bench_init(&bench);
	for (int i = 0; i < 10; i++)
		(void)ask(&bench, "api.test", &heard[i]);
	for (int i = 0; i < 10; i++) {
		peer_run_until(bench.base, &heard[i].done);
		assert_int_equal(heard[i].status, STATUS_OK);
	}
	assert_int_equal(bench.server.asked, 2);
	bench_done(&bench);
}

static void
name_that_does_not_exist_is_not_found_and_remembered(void **state)
{
	struct bench bench;
	struct heard heard;
	unsigned asked;

	(void)state;
	bench_init(&bench);
	heard = answer(&bench, "missing.test");
	assert_int_equal(heard.status, STATUS_NOT_FOUND);
	assert_int_equal(heard.count, 0);
	asked = bench.server.asked;
	heard = answer(&bench, "missing.test");
	assert_int_equal(heard.status, STATUS_NOT_FOUND);
	assert_int_equal(bench.server.asked, asked);
	bench_done(&bench);
}

static void
failure_of_the_server_is_not_remembered(void **state)
{
	struct bench bench;
	struct heard heard;
	unsigned asked;

	(void)state;
	bench_init(&bench);
	heard = answer(&bench, "fail.test");
	assert_int_equal(heard.status, STATUS_SYSTEM);
	asked = bench.server.asked;
	heard = answer(&bench, "fail.test");
	assert_true(bench.server.asked > asked);
	bench_done(&bench);
}

/* RFC 8305 section 3; some servers never answer for IPv6. */
static void
silent_family_delays_the_other_by_a_moment_only(void **state)
{
	struct bench bench;
	struct heard heard;
	int64_t begun = peer_now_ms();

	(void)state;
	bench_init(&bench);
	heard = answer(&bench, "slow6.test");
	assert_int_equal(heard.status, STATUS_OK);
	assert_int_equal(heard.count, 1);
	assert_true(peer_now_ms() - begun < LIMIT_RESOLVE_MS);
	bench_done(&bench);
}

static void
silent_server_is_given_up_in_time(void **state)
{
	struct bench bench;
	struct heard heard;
	int64_t begun = peer_now_ms(), took;

	(void)state;
	bench_init(&bench);
	heard = answer(&bench, "silent.test");
	took = peer_now_ms() - begun;
	assert_int_equal(heard.status, STATUS_TIMEOUT);
	assert_true(took < LIMIT_RESOLVE_MS + 2000);
	bench_done(&bench);
}

/* Case D04: the next nameserver is asked within a second, over IPv6 too. */
static void
dead_nameserver_is_passed_over_within_a_second(void **state)
{
	struct nameserver dead;
	struct bench bench;
	char conf[160];

	(void)state;
	bench.base = event_base_new();
	nameserver_init(&bench.server, bench.base, "::1");
	nameserver_init(&dead, bench.base, "127.0.0.1");
	dead.dead = true;
	assert_true(snprintf(conf, sizeof(conf), "%s%s", dead.conf,
			bench.server.conf) > 0);
	bench_start(&bench, conf);
	for (int i = 0; i < 4; i++) {
		int64_t begun = peer_now_ms();
		char name[32];
		struct heard heard;

		assert_true(snprintf(name, sizeof(name), "n%d.test", i) > 0);
		heard = answer(&bench, name);
		assert_int_equal(heard.status, STATUS_OK);
		assert_true(peer_now_ms() - begun < 1500);
	}
	nameserver_done(&dead);
	bench_done(&bench);
}

/* Case D04: an answer that was cut is asked for over TCP. */
static void
answer_that_was_cut_is_fetched_over_tcp(void **state)
{
	struct bench bench;
	struct heard heard;

	(void)state;
	bench_init(&bench);
	heard = answer(&bench, "many.test");
	assert_int_equal(heard.status, STATUS_OK);
	assert_int_equal(heard.count, 12);
	expect_address(&heard, "192.0.2.6");
	expect_address(&heard, "2001:db8::6");
	assert_int_equal(bench.server.asked_tcp, 2);
	bench_done(&bench);
}

static void
hosts_file_is_honoured_and_nobody_asked(void **state)
{
	struct bench bench;
	struct heard heard;

	(void)state;
	bench_init(&bench);
	heard = answer(&bench, "fixed.test");
	assert_int_equal(heard.count, 1);
	expect_address(&heard, "192.0.2.77");
	assert_int_equal(bench.server.asked, 0);
	bench_done(&bench);
}

/* RFC 6761: even against the hosts file. */
static void
localhost_is_loopback_whoever_says_otherwise(void **state)
{
	static const char *const names[] = { "localhost", "x.localhost" };
	struct bench bench;

	(void)state;
	bench_init(&bench);
	for (int i = 0; i < 2; i++) {
		struct heard heard = answer(&bench, names[i]);

		assert_int_equal(heard.count, 2);
		expect_address(&heard, "127.0.0.1");
		expect_address(&heard, "::1");
	}
	assert_int_equal(bench.server.asked, 0);
	bench_done(&bench);
}

static void
cancelled_question_calls_nobody(void **state)
{
	struct bench bench;
	struct heard one = { 0 }, two = { 0 };

	(void)state;
	bench_init(&bench);
	resolve_cancel(ask(&bench, "api.test", &one));
	resolve_cancel(NULL);
	(void)ask(&bench, "api.test", &two);
	peer_run_until(bench.base, &two.done);
	assert_false(one.done);
	resolve_cancel(ask(&bench, "localhost", &one));
	peer_run_ready(bench.base);
	assert_false(one.done);
	bench_done(&bench);
}

static void
resolver_may_go_while_questions_are_out(void **state)
{
	struct bench bench;
	struct heard heard[3] = { 0 };

	(void)state;
	bench_init(&bench);
	(void)ask(&bench, "silent.test", &heard[0]);
	(void)ask(&bench, "api.test", &heard[1]);
	(void)ask(&bench, "localhost", &heard[2]);
	bench_done(&bench);
	for (int i = 0; i < 3; i++)
		assert_false(heard[i].done);
}

static void
questions_at_once_are_bounded(void **state)
{
	struct bench bench;
	static struct heard heard[LIMIT_RESOLVING];
	struct hostname name;
	char text[32];

	(void)state;
	bench_init(&bench);
	bench.server.dead = true;
	for (int i = 0; i < LIMIT_RESOLVING; i++) {
		assert_true(snprintf(text, sizeof(text), "q%d.test", i) > 0);
		(void)ask(&bench, text, &heard[i]);
	}
	name = named("onemore.test");
	assert_null(
	    resolve_start(bench.resolver, &name, on_resolved, &heard[0]));
	bench_done(&bench);
}

/* Whoever is told may ask, and cancel others, from where it is told. */
struct chain {
	struct bench *bench;
	struct resolve *other;
	struct heard heard;
	bool done;
};

static void
on_chain(const struct address *list, size_t count, int status, void *arg)
{
	struct chain *chain = arg;

	(void)list;
	assert_int_equal(status, STATUS_OK);
	assert_int_equal(count, 2);
	resolve_cancel(chain->other);
	(void)ask(chain->bench, "api.test", &chain->heard);
	chain->done = true;
}

static void
one_who_is_told_may_cancel_another(void **state)
{
	struct bench bench;
	struct chain chain = { .bench = &bench };
	struct heard other = { 0 };
	struct hostname name = named("api.test");

	(void)state;
	bench_init(&bench);
	/* The last that asked is told first. */
	chain.other = ask(&bench, "api.test", &other);
	assert_non_null(resolve_start(bench.resolver, &name, on_chain, &chain));
	peer_run_until(bench.base, &chain.done);
	peer_run_until(bench.base, &chain.heard.done);
	assert_false(other.done);
	bench_done(&bench);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_families_are_asked_for_and_given),
		cmocka_unit_test(known_name_is_not_asked_for_again),
		cmocka_unit_test(those_who_ask_meanwhile_share_one_question),
		cmocka_unit_test(
		    name_that_does_not_exist_is_not_found_and_remembered),
		cmocka_unit_test(failure_of_the_server_is_not_remembered),
		cmocka_unit_test(
		    silent_family_delays_the_other_by_a_moment_only),
		cmocka_unit_test(silent_server_is_given_up_in_time),
		cmocka_unit_test(
		    dead_nameserver_is_passed_over_within_a_second),
		cmocka_unit_test(answer_that_was_cut_is_fetched_over_tcp),
		cmocka_unit_test(hosts_file_is_honoured_and_nobody_asked),
		cmocka_unit_test(localhost_is_loopback_whoever_says_otherwise),
		cmocka_unit_test(cancelled_question_calls_nobody),
		cmocka_unit_test(resolver_may_go_while_questions_are_out),
		cmocka_unit_test(questions_at_once_are_bounded),
		cmocka_unit_test(one_who_is_told_may_cancel_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
