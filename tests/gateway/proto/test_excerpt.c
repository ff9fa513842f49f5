#include "gateway/proto/excerpt.h"

#include "schema/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CRLF "\\x0d\\x0a"

static const char *
excerpt(struct cursor bytes)
{
	static char text[LIMIT_EXCERPT + 1];
	struct cursor_writer out = cursor_writer_of(text, LIMIT_EXCERPT);

	excerpt_write(bytes, &out);
	assert_true(cursor_written(&out));
	text[out.used] = '\0';
	return text;
}

static const char *
excerpt_of(const char *text)
{
	return excerpt(cursor_of_text(text));
}

static void
head_is_shown_without_its_secrets(void **state)
{
	(void)state;
	assert_string_equal(excerpt_of("POST /a/b?key=hidden&x=1 HTTP/1.1\r\n"
				       "Host: api.example\r\n"
				       "Content-Length: 3\r\n"
				       "content-length: 4\r\n"
				       "Authorization: Bearer hidden\r\n"
				       "\r\nhidden body"),
	    "POST /a/b[15 bytes] HTTP/1.1" CRLF "Host: api.example" CRLF
	    "Content-Length: 3" CRLF "content-length: 4" CRLF
	    "Authorization:[14 bytes]" CRLF CRLF "[11 bytes]");
}

static void
what_is_wrong_with_lines_is_seen(void **state)
{
	(void)state;
	assert_string_equal(excerpt_of("GET / HTTP/1.1\nHost: a\n\nbody"),
	    "GET / HTTP/1.1\\x0aHost: a\\x0a\\x0a[4 bytes]");
	assert_string_equal(excerpt_of("GET / HTTP/1.1\r\nHost : a\r\n"),
	    "GET / HTTP/1.1" CRLF "[8 bytes]" CRLF);
	assert_string_equal(excerpt_of("GET / HTTP/1.1\r\nHost: a\r\n folded"),
	    "GET / HTTP/1.1" CRLF "Host: a" CRLF "[7 bytes]");
	assert_string_equal(
	    excerpt_of("GET / HTTP/1.1\r\nno colon and much more\r\n"),
	    "GET / HTTP/1.1" CRLF "no colon[14 bytes]" CRLF);
	assert_string_equal(excerpt_of("HTTP/1.1 2x0 Fine\r\nSet-Cookie: a=b"),
	    "HTTP/1.1 2x0 Fine" CRLF "Set-Cookie:[4 bytes]");
	assert_string_equal(excerpt(cursor_of("GET /\0a HTTP/1.1", 16)),
	    "GET /\\x00a HTTP/1.1");
}

static void
user_before_a_host_is_hidden(void **state)
{
	(void)state;
	assert_string_equal(
	    excerpt_of("GET http://me:hidden@api.example/ HTTP/1.1\r\n"),
	    "GET[17 bytes]@api.example/ HTTP/1.1" CRLF);
	assert_string_equal(excerpt_of("CONNECT me:hidden@api.example:443 H"),
	    "CONNECT[10 bytes]@api.example:443 H");
	assert_string_equal(excerpt_of("GET /@scope/package HTTP/1.1"),
	    "GET /@scope/package HTTP/1.1");
}

static void
of_what_may_be_anything_little_is_shown(void **state)
{
	(void)state;
	assert_string_equal(excerpt_of(""), "");
	assert_string_equal(
	    excerpt_of("hidden password\r\nmore"), "hidden p[13 bytes]");
	assert_string_equal(excerpt_of("SECRET WORDS"), "SECRET W[4 bytes]");
	assert_string_equal(
	    excerpt(cursor_of("\x16\x03\x01\x00\x20\x00\x00\x00\x00", 9)),
	    "\\x16\\x03\\x01\\x00 \\x00\\x00\\x00[1 byte]");
}

static void
long_heads_are_cut(void **state)
{
	static char head[1 << 16];
	size_t used;

	(void)state;
	used = (size_t)snprintf(
	    head, sizeof(head), "GET /%01000d HTTP/1.1\r\n", 0);
	while (used < sizeof(head) - 64)
		used += (size_t)snprintf(head + used, sizeof(head) - used,
		    "Content-Type: \x01\x01\x01%080d\r\n", 1);
	assert_true(strlen(excerpt(cursor_of(head, used))) > 300);
	assert_non_null(strstr(excerpt(cursor_of(head, used)), "bytes]"));
	memset(head + strlen("GET /"), '\x01', sizeof(head) - strlen("GET /"));
	assert_true(strlen(excerpt(cursor_of(head, sizeof(head)))) > 200);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(head_is_shown_without_its_secrets),
		cmocka_unit_test(what_is_wrong_with_lines_is_seen),
		cmocka_unit_test(user_before_a_host_is_hidden),
		cmocka_unit_test(of_what_may_be_anything_little_is_shown),
		cmocka_unit_test(long_heads_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
