#include "gateway/proto/sniff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *bytes;
	size_t length;
	enum sniff_protocol protocol;
} whole[] = {
	{ "\x16\x03\x01\x02\x00\x01", 6, SNIFF_TLS },
	{ "\x16\x03\x03\x00\x01\x01", 6, SNIFF_TLS },
	{ "GET / HTTP/1.1\r\n", 16, SNIFF_HTTP1 },
	{ "OPTIONS * HTTP/1.1\r\n", 20, SNIFF_HTTP1 },
	{ "POST http://a.test/ HTTP/1.1\r\n", 30, SNIFF_HTTP1 },
	{ "get /\r\n", 7, SNIFF_HTTP1 },
	{ "CONNECT a.test:443 HTTP/1.1\r\n", 29, SNIFF_HTTP1 },
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24, SNIFF_HTTP2 },
	{ "SSH-2.0-OpenSSH_9.2\r\n", 21, SNIFF_SSH },
	/* Not a record: its type, version, length, or what it begins with. */
	{ "\x15\x03\x01\x00\x02\x02", 6, SNIFF_OTHER },
	{ "\x16\x02\x01\x02\x00\x01", 6, SNIFF_OTHER },
	{ "\x16\x03\x05\x02\x00\x01", 6, SNIFF_OTHER },
	{ "\x16\x03\x01\x00\x00\x01", 6, SNIFF_OTHER },
	{ "\x16\x03\x01\x02\x00\x02", 6, SNIFF_OTHER },
	{ "\x80\x2e\x01\x00\x02\x00", 6, SNIFF_OTHER },
	/* Words that begin other protocols. */
	{ "EHLO a.test\r\n", 13, SNIFF_OTHER },
	{ "USER anonymous\r\n", 16, SNIFF_OTHER },
	{ " GET / HTTP/1.1\r\n", 17, SNIFF_OTHER },
	{ "\r\nGET / HTTP/1.1\r\n", 18, SNIFF_OTHER },
	{ "\0GET / HTTP/1.1\r\n", 17, SNIFF_OTHER },
	{ "ssh-2.0\r\n", 9, SNIFF_OTHER },
	{ "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / ", 36, SNIFF_OTHER },
};

static void
every_protocol_is_told_from_its_first_bytes(void **state)
{
	enum sniff_protocol got;

	(void)state;
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		struct cursor bytes =
		    cursor_of(whole[i].bytes, whole[i].length);

		got = SNIFF_COUNT;
		assert_int_equal(sniff_bytes(bytes, &got), PARSE_OK);
		if (got != whole[i].protocol)
			fail_msg("row %zu is %s", i, sniff_name(got));
	}
}

/* More bytes never change an answer that was given. */
static void
a_prefix_is_undecided_or_decided_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		for (size_t cut = 0; cut < whole[i].length; cut++) {
			enum sniff_protocol got = SNIFF_COUNT;
			enum parse_result result =
			    sniff_bytes(cursor_of(whole[i].bytes, cut), &got);

			assert_int_not_equal(result, PARSE_BAD);
			if (result == PARSE_MORE)
				assert_int_equal(got, SNIFF_COUNT);
			else
				assert_int_equal(got, whole[i].protocol);
		}
	}
}

static void
no_bytes_are_no_protocol_yet(void **state)
{
	enum sniff_protocol got = SNIFF_COUNT;

	(void)state;
	assert_int_equal(sniff_bytes(cursor_of(NULL, 0), &got), PARSE_MORE);
	assert_int_equal(got, SNIFF_COUNT);
}

/* B35: the preface on a clear port is seen as HTTP/2, not as a method. */
static void
a_preface_that_goes_wrong_is_left_to_http1(void **state)
{
	enum sniff_protocol got = SNIFF_COUNT;

	(void)state;
	assert_int_equal(
	    sniff_bytes(cursor_of_text("PRI * HTTP/2.0\r\n\r\nS"), &got),
	    PARSE_MORE);
	assert_int_equal(
	    sniff_bytes(cursor_of_text("PRI * HTTP/1.1\r\n"), &got), PARSE_OK);
	assert_int_equal(got, SNIFF_HTTP1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_protocol_is_told_from_its_first_bytes),
		cmocka_unit_test(a_prefix_is_undecided_or_decided_the_same),
		cmocka_unit_test(no_bytes_are_no_protocol_yet),
		cmocka_unit_test(a_preface_that_goes_wrong_is_left_to_http1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
