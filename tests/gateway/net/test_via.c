#include "gateway/net/via.h"

#include "schema/limits.h"
#include "tests/gateway/net/peer.h"

#include <stdio.h>
#include <string.h>

struct heard {
	enum reason reason;
	char cause[256];
	bool done;
};

static void
on_through(enum reason reason, const char *cause, void *arg)
{
	struct heard *heard = arg;

	heard->reason = reason;
	assert_true(strlen(cause) < sizeof(heard->cause));
	memcpy(heard->cause, cause, strlen(cause) + 1);
	heard->done = true;
}

static struct via *
begin(struct event_base *base, int fd, const char *login, struct heard *heard)
{
	struct via_order order = { .fd = fd,
		.target = cursor_of_text("a.test:443"),
		.login = cursor_of_text(login) };
	struct via *via = via_start(base, &order, on_through, heard);

	assert_non_null(via);
	assert_false(heard->done);
	return via;
}

static void
put(int fd, const char *text, size_t length)
{
	assert_int_equal(send(fd, text, length, MSG_NOSIGNAL), length);
}

/* Everything that came so far. */
static void
read_text(struct event_base *base, int fd, char *out, size_t size)
{
	ssize_t n;

	peer_run_until_readable(base, fd);
	n = recv(fd, out, size - 1, 0);
	assert_true(n >= 0);
	out[n] = '\0';
}

/* What the answer leads to, sent in pieces of so many bytes. */
static void
answer(const char *text, size_t piece, struct heard *ret)
{
	struct event_base *base = event_base_new();
	size_t length = strlen(text), at = 0;
	char head[512];
	int ends[2];

	*ret = (struct heard){ .done = false };
	peer_pair(ends);
	(void)begin(base, ends[0], "", ret);
	read_text(base, ends[1], head, sizeof(head));
	while (at < length && !ret->done) {
		size_t n = length - at < piece ? length - at : piece;

		put(ends[1], text + at, n);
		at += n;
		peer_run_until_readable(base, ends[0]);
		peer_run_ready(base);
	}
	(void)close(ends[1]);
	peer_run_until(base, &ret->done);
	(void)close(ends[0]);
	event_base_free(base);
}

static void
proxy_is_told_host_and_port_and_nothing_more(void **state)
{
	struct event_base *base = event_base_new();
	struct heard heard = { .done = false };
	char head[512];
	int ends[2];

	(void)state;
	peer_pair(ends);
	via_cancel(begin(base, ends[0], "", &heard));
	peer_run_ready(base);
	(void)begin(base, ends[0], "", &heard);
	read_text(base, ends[1], head, sizeof(head));
	assert_string_equal(
	    head, "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n");
	put(ends[1], "HTTP/1.0 200 Connection established\r\n\r\n", 39);
	peer_run_until(base, &heard.done);
	assert_int_equal(heard.reason, REASON_NONE);
	(void)close(ends[0]);
	(void)close(ends[1]);
	event_base_free(base);
}

static void
login_stands_in_its_field(void **state)
{
	struct event_base *base = event_base_new();
	struct heard heard = { .done = false };
	char head[512];
	int ends[2];
	struct via *via;

	(void)state;
	peer_pair(ends);
	via = begin(base, ends[0], "Basic bWU6cHc=", &heard);
	read_text(base, ends[1], head, sizeof(head));
	assert_string_equal(head,
	    "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n"
	    "Proxy-Authorization: Basic bWU6cHc=\r\n\r\n");
	via_cancel(via);
	(void)close(ends[0]);
	(void)close(ends[1]);
	event_base_free(base);
}

/* A server that speaks first is heard from its first byte on. */
static void
bytes_behind_the_answer_stay_in_the_socket(void **state)
{
	static const char text[] = "HTTP/1.1 200 OK\r\nX: y\r\n\r\n220 hello";

	(void)state;
	for (size_t cut = 1; cut < sizeof(text) - 1; cut++) {
		struct event_base *base = event_base_new();
		struct heard heard = { .done = false };
		char rest[64];
		int ends[2];

		peer_pair(ends);
		(void)begin(base, ends[0], "", &heard);
		put(ends[1], text, cut);
		peer_run_until_readable(base, ends[0]);
		peer_run_ready(base);
		put(ends[1], text + cut, sizeof(text) - 1 - cut);
		peer_run_until(base, &heard.done);
		assert_int_equal(heard.reason, REASON_NONE);
		(void)shutdown(ends[1], SHUT_WR);
		for (size_t got = 0;;) {
			ssize_t n;

			peer_run_until_readable(base, ends[0]);
			n = recv(
			    ends[0], rest + got, sizeof(rest) - 1 - got, 0);
			assert_true(n >= 0);
			got += (size_t)n;
			rest[got] = '\0';
			if (n == 0)
				break;
		}
		assert_string_equal(rest, "220 hello");
		(void)close(ends[0]);
		(void)close(ends[1]);
		event_base_free(base);
	}
}

static void
every_other_answer_is_a_refusal_with_its_cause(void **state)
{
	static const struct {
		const char *text;
		enum reason reason;
		const char *cause; /* part of it */
	} cases[] = {
		{ "HTTP/1.1 403 \x1b[31mNo\r\n\r\n", REASON_UPSTREAM_MALFORMED,
		    "answer" },
		{ "HTTP/1.1 403 Because\r\nContent-Length: 3\r\n\r\nno!",
		    REASON_UPSTREAM_REFUSED, "403 Forbidden" },
		{ "HTTP/1.1 407 x\r\nProxy-Authenticate: Basic\r\n\r\n",
		    REASON_UPSTREAM_REFUSED, "--via-credential" },
		{ "HTTP/1.1 502 x\r\n\r\n", REASON_UPSTREAM_REFUSED, "502" },
		{ "HTTP/1.1 504 x\r\n\r\n", REASON_UPSTREAM_TIMEOUT, "504" },
		{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
		    REASON_UPSTREAM_REFUSED, "100" },
		{ "SSH-2.0-OpenSSH_9.2\r\n", REASON_UPSTREAM_MALFORMED,
		    "answer" },
		{ "HTTP/1.1 200", REASON_UPSTREAM_RESET, "ends" },
		{ "", REASON_UPSTREAM_RESET, "ends" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t piece = 1; piece < 100; piece += 98) {
			struct heard heard;

			answer(cases[i].text, piece, &heard);
			assert_int_equal(heard.reason, cases[i].reason);
			assert_non_null(strstr(heard.cause, cases[i].cause));
		}
}

static void
answer_without_an_end_is_not_gathered_for_ever(void **state)
{
	static const char start[] = "HTTP/1.1 200 OK\r\nX: ";
	static char text[LIMIT_VIA_ANSWER + 64];
	struct heard heard;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	memcpy(text, start, sizeof(start) - 1);
	answer(text, sizeof(text), &heard);
	assert_int_equal(heard.reason, REASON_UPSTREAM_MALFORMED);
	assert_non_null(strstr(heard.cause, "does not end"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proxy_is_told_host_and_port_and_nothing_more),
		cmocka_unit_test(login_stands_in_its_field),
		cmocka_unit_test(bytes_behind_the_answer_stay_in_the_socket),
		cmocka_unit_test(
		    every_other_answer_is_a_refusal_with_its_cause),
		cmocka_unit_test(
		    answer_without_an_end_is_not_gathered_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
