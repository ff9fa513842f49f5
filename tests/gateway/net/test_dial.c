#include "gateway/net/dial.h"

#include "schema/limits.h"
#include "tests/gateway/net/peer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

struct heard {
	struct dial_result result;
	bool done;
	int asked; /* how often the policy was */
	bool datagrams;
	const char *forbidden;
};

static void
on_dialed(const struct dial_result *result, void *arg)
{
	struct heard *heard = arg;

	heard->result = *result;
	heard->done = true;
}

/* These tests live on loopback, which a policy would have to allow. */
static bool
may_dial(const struct address *address, void *arg)
{
	struct heard *heard = arg;
	struct address forbidden;

	heard->asked++;
	if (heard->forbidden == NULL)
		return true;
	forbidden = peer_address(heard->forbidden);
	return !address_equals(address, &forbidden);
}

static struct dial *
dial_texts(struct event_base *base, const char *const *texts, uint16_t port,
    struct heard *heard)
{
	struct address list[LIMIT_ADDRESSES];
	struct dial_order order = { .list = list,
		.port = port,
		.may_dial = may_dial,
		.arg = heard,
		.datagrams = heard->datagrams };
	struct dial *dial;

	for (; *texts != NULL; texts++)
		list[order.count++] = peer_address(*texts);
	dial = dial_start(base, &order, on_dialed, heard);
	assert_non_null(dial);
	assert_false(heard->done);
	return dial;
}

static void
dial_through(struct event_base *base, const char *const *texts, uint16_t port,
    struct heard *heard)
{
	(void)dial_texts(base, texts, port, heard);
	peer_run_until(base, &heard->done);
}

static void
first_address_that_answers_is_taken(void **state)
{
	static const char *const texts[] = { "127.0.0.2", NULL };
	struct event_base *base = event_base_new();
	struct heard heard = { 0 };
	int fd = peer_listening("127.0.0.2", 0), nodelay = 0;
	struct endpoint to = peer_own_end(fd);
	socklen_t length = sizeof(nodelay);

	(void)state;
	dial_through(base, texts, to.port, &heard);
	assert_int_equal(heard.result.reason, REASON_NONE);
	assert_true(endpoint_equals(&heard.result.to, &to));
	assert_int_equal(getsockopt(heard.result.fd, IPPROTO_TCP, TCP_NODELAY,
			     &nodelay, &length),
	    0);
	assert_int_not_equal(nodelay, 0);
	assert_true((fcntl(heard.result.fd, F_GETFL) & O_NONBLOCK) != 0);
	(void)close(heard.result.fd);
	(void)close(fd);
	event_base_free(base);
}

static void
every_address_is_tried_until_one_answers(void **state)
{
	static const char *const texts[] = { "127.0.0.3", "::1", "127.0.0.4",
		"127.0.0.5", NULL };
	struct event_base *base = event_base_new();
	struct heard heard = { 0 };
	int fd = peer_listening("127.0.0.5", 0);
	struct endpoint to = peer_own_end(fd);

	(void)state;
	dial_through(base, texts, to.port, &heard);
	assert_int_equal(heard.result.reason, REASON_NONE);
	assert_true(endpoint_equals(&heard.result.to, &to));
	(void)close(heard.result.fd);
	(void)close(fd);
	event_base_free(base);
}

static void
refusal_of_all_is_told_with_its_error(void **state)
{
	static const char *const texts[] = { "127.0.0.3", "127.0.0.4", NULL };
	struct event_base *base = event_base_new();
	struct heard heard = { 0 };
	int fd = peer_bound(SOCK_STREAM, "127.0.0.9", 0);
	int before = peer_descriptors();

	(void)state;
	dial_through(base, texts, peer_own_end(fd).port, &heard);
	assert_int_equal(heard.result.reason, REASON_UPSTREAM_REFUSED);
	assert_int_equal(heard.result.error, ECONNREFUSED);
	assert_int_equal(heard.result.fd, -1);
	assert_int_equal(peer_descriptors(), before);
	(void)close(fd);
	event_base_free(base);
}

static void
datagrams_have_a_socket_at_once_where_the_policy_lets_them(void **state)
{
	static const char *const texts[] = { "127.0.0.3", "127.0.0.4", NULL };
	struct event_base *base = event_base_new();
	struct heard heard = { .datagrams = true, .forbidden = "127.0.0.3" };
	int type = 0;
	socklen_t length = sizeof(type);

	(void)state;
	dial_through(base, texts, 9, &heard);
	assert_int_equal(heard.result.reason, REASON_NONE);
	assert_int_equal(heard.result.to.address.bytes[3], 4);
	assert_int_equal(
	    getsockopt(heard.result.fd, SOL_SOCKET, SO_TYPE, &type, &length),
	    0);
	assert_int_equal(type, SOCK_DGRAM);
	(void)close(heard.result.fd);
	event_base_free(base);
}

/* Each address for itself: a forbidden one does not forbid the next. */
static void
forbidden_address_is_passed_over(void **state)
{
	static const char *const texts[] = { "127.0.0.2", "127.0.0.3", NULL };
	struct event_base *base = event_base_new();
	struct heard heard = { .forbidden = "127.0.0.2" };
	int first = peer_listening("127.0.0.2", 0);
	uint16_t port = peer_own_end(first).port;
	int second = peer_listening("127.0.0.3", port);
	struct endpoint to = peer_own_end(second);

	(void)state;
	dial_through(base, texts, port, &heard);
	assert_int_equal(heard.result.reason, REASON_NONE);
	assert_true(endpoint_equals(&heard.result.to, &to));
	assert_int_equal(heard.asked, 2);
	(void)close(heard.result.fd);
	(void)close(first);
	(void)close(second);
	event_base_free(base);
}

static void
only_forbidden_addresses_are_a_special_address(void **state)
{
	static const char *const texts[] = { "127.0.0.2", NULL };
	struct event_base *base = event_base_new();
	struct heard heard = { .forbidden = "127.0.0.2" };

	(void)state;
	dial_through(base, texts, 80, &heard);
	assert_int_equal(heard.result.reason, REASON_SPECIAL_ADDRESS);
	event_base_free(base);
}

/* Case B09, and our own synthetic addresses, in every form of writing. */
static void
some_addresses_are_never_dialled_whatever_the_policy(void **state)
{
	static const char *const never[] = { "0.0.0.0", "0.1.2.3",
		"::", "::ffff:0.0.0.0", "64:ff9b::0.0.0.0", "198.18.0.1",
		"198.19.255.255", "::ffff:198.18.0.1", "64:ff9b::198.18.0.1",
		"2002:c612:1::", "fd65:7865:6174::1", "fd65:7865:6174:ffff::" };
	struct event_base *base = event_base_new();

	(void)state;
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		const char *const texts[] = { never[i], NULL };
		struct heard heard = { 0 };
		struct address address = peer_address(never[i]);

		assert_true(dial_never(&address));
		dial_through(base, texts, 80, &heard);
		assert_int_equal(heard.result.reason, REASON_SPECIAL_ADDRESS);
		assert_int_equal(heard.asked, 0);
	}
	event_base_free(base);
}

static void
neighbours_of_those_may_be_dialled(void **state)
{
	static const char *const texts[] = { "198.17.255.255", "198.20.0.0",
		"fd65:7865:6175::1", "1.0.0.0", "::1" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct address address = peer_address(texts[i]);

		assert_false(dial_never(&address));
	}
}

static void
no_address_at_all_is_unresolved(void **state)
{
	static const char *const texts[] = { NULL };
	struct event_base *base = event_base_new();
	struct heard heard = { 0 };

	(void)state;
	dial_through(base, texts, 80, &heard);
	assert_int_equal(heard.result.reason, REASON_UPSTREAM_UNRESOLVED);
	event_base_free(base);
}

/* A listener whose backlog is full lets the next one wait for ever. */
struct silent {
	int listening, filling[8];
};

static void
silent_init(struct silent *silent, const char *address, uint16_t port)
{
	struct sockaddr_storage to;
	struct endpoint own;
	socklen_t length;

	silent->listening = peer_bound(SOCK_STREAM, address, port);
	assert_int_equal(listen(silent->listening, 0), 0);
	own = peer_own_end(silent->listening);
	length = endpoint_to_sockaddr(&own, &to);
	for (int i = 0; i < 8; i++) {
		silent->filling[i] =
		    socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect(
		    silent->filling[i], (struct sockaddr *)&to, length);
	}
}

static void
silent_done(struct silent *silent)
{
	for (int i = 0; i < 8; i++)
		(void)close(silent->filling[i]);
	(void)close(silent->listening);
}

/* RFC 8305: the next begins before the first has failed. */
static void
silent_address_delays_the_next_by_a_moment_only(void **state)
{
	static const char *const texts[] = { "127.0.0.2", "127.0.0.3", NULL };
	struct event_base *base = event_base_new();
	struct heard heard = { 0 };
	struct silent silent;
	int64_t begun, took;
	int second, before;
	struct endpoint to;

	(void)state;
	second = peer_listening("127.0.0.3", 0);
	to = peer_own_end(second);
	silent_init(&silent, "127.0.0.2", to.port);
	before = peer_descriptors();
	begun = peer_now_ms();
	dial_through(base, texts, to.port, &heard);
	took = peer_now_ms() - begun;
	assert_int_equal(heard.result.reason, REASON_NONE);
	assert_true(endpoint_equals(&heard.result.to, &to));
	assert_true(took >= LIMIT_HAPPY_MS - 5);
	assert_true(took < LIMIT_DIAL_MS);
	(void)close(heard.result.fd);
	/* The one that was still waiting is closed as well. */
	assert_int_equal(peer_descriptors(), before);
	silent_done(&silent);
	(void)close(second);
	event_base_free(base);
}

static void
nobody_answers_within_the_limit(void **state)
{
	static const char *const texts[] = { "127.0.0.2", NULL };
	struct event_base *base = event_base_new();
	struct heard heard = { 0 };
	struct silent silent;
	int64_t begun = peer_now_ms(), took;

	(void)state;
	silent_init(&silent, "127.0.0.2", 0);
	dial_through(base, texts, peer_own_end(silent.listening).port, &heard);
	took = peer_now_ms() - begun;
	assert_int_equal(heard.result.reason, REASON_UPSTREAM_TIMEOUT);
	assert_true(took >= LIMIT_DIAL_MS - 5);
	silent_done(&silent);
	event_base_free(base);
}

static void
cancelled_dial_calls_nobody_and_leaves_no_descriptor(void **state)
{
	static const char *const texts[] = { "127.0.0.2", "::1", NULL };
	struct event_base *base = event_base_new();
	struct heard heard = { 0 };
	struct silent silent;
	struct dial *dial;
	int before;

	(void)state;
	silent_init(&silent, "127.0.0.2", 0);
	before = peer_descriptors();
	dial = dial_texts(
	    base, texts, peer_own_end(silent.listening).port, &heard);
	dial_cancel(dial);
	dial_cancel(NULL);
	peer_run_ready(base);
	assert_false(heard.done);
	assert_int_equal(peer_descriptors(), before);
	silent_done(&silent);
	event_base_free(base);
}

static void
shortage_of_descriptors_is_our_own_fault(void **state)
{
	static const char *const texts[] = { "127.0.0.2", "127.0.0.3", NULL };
	struct event_base *base = event_base_new();
	struct heard heard = { 0 };
	struct rlimit before, low;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	dial_through(base, texts, 80, &heard);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(heard.result.reason, REASON_OVERLOAD);
	assert_int_equal(heard.result.error, EMFILE);
	event_base_free(base);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_address_that_answers_is_taken),
		cmocka_unit_test(every_address_is_tried_until_one_answers),
		cmocka_unit_test(refusal_of_all_is_told_with_its_error),
		cmocka_unit_test(
		    datagrams_have_a_socket_at_once_where_the_policy_lets_them),
		cmocka_unit_test(forbidden_address_is_passed_over),
		cmocka_unit_test(
		    only_forbidden_addresses_are_a_special_address),
		cmocka_unit_test(
		    some_addresses_are_never_dialled_whatever_the_policy),
		cmocka_unit_test(neighbours_of_those_may_be_dialled),
		cmocka_unit_test(no_address_at_all_is_unresolved),
		cmocka_unit_test(
		    silent_address_delays_the_next_by_a_moment_only),
		cmocka_unit_test(nobody_answers_within_the_limit),
		cmocka_unit_test(
		    cancelled_dial_calls_nobody_and_leaves_no_descriptor),
		cmocka_unit_test(shortage_of_descriptors_is_our_own_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
