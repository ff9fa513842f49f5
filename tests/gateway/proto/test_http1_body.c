#include "gateway/proto/http1_body.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char chunked[] = "5;x=y\r\nhello\r\nB\r\n, big world\r\n"
			      "0\r\nX-Sum: 1\r\nHost: no\r\n\r\n";
static const char payload[] = "hello, big world";

static struct http1_body
body_of(enum message_framing framing, uint64_t length)
{
	struct message_body body = { .framing = framing, .length = length };

	return http1_body_of(body);
}

/*
 * Gives bytes from *used up to end, as a caller does that keeps what was not
 * taken; collects the payload and the trailers.
 */
static enum parse_result
feed(struct http1_body *body, const char *bytes, size_t *used, size_t end,
    struct cursor_writer *out)
{
	size_t length = end - *used;
	char *block = malloc(length + 1);
	struct cursor rest, slice;
	struct header trailers;
	enum parse_result result;

	assert_non_null(block);
	memcpy(block, bytes + *used, length);
	rest = cursor_of(block, length);
	do {
		result = http1_body_read(body, &rest, &slice, &trailers);
		if (result != PARSE_BAD)
			cursor_put(out, slice.at, slice.left);
	} while (result == PARSE_MORE && slice.left > 0);
	if (result == PARSE_OK)
		header_write(&trailers, out);
	*used = end - rest.left;
	free(block);
	return result;
}

static void
a_length_ends_the_body_and_leaves_the_rest(void **state)
{
	struct http1_body body = body_of(MESSAGE_LENGTH, 5);
	struct cursor bytes = cursor_of_text("helloGET /"), slice;

	(void)state;
	assert_false(http1_body_may_end(&body));
	assert_int_equal(
	    http1_body_read(&body, &bytes, &slice, NULL), PARSE_MORE);
	assert_true(cursor_equals(slice, "hello"));
	assert_int_equal(
	    http1_body_read(&body, &bytes, &slice, NULL), PARSE_OK);
	assert_int_equal(slice.left, 0);
	assert_true(cursor_equals(bytes, "GET /"));
	assert_true(http1_body_may_end(&body));
}

static void
no_body_takes_nothing(void **state)
{
	struct http1_body none = body_of(MESSAGE_NO_BODY, 0);
	struct http1_body empty = body_of(MESSAGE_LENGTH, 0);
	struct cursor bytes = cursor_of_text("GET /"), slice;
	struct header trailers = { .count = 77 };

	(void)state;
	assert_int_equal(
	    http1_body_read(&none, &bytes, &slice, &trailers), PARSE_OK);
	assert_int_equal(
	    http1_body_read(&empty, &bytes, &slice, &trailers), PARSE_OK);
	assert_int_equal(trailers.count, 0);
	assert_int_equal(bytes.left, 5);
	assert_true(http1_body_may_end(&none));
}

static void
until_close_takes_all_and_may_end_anywhere(void **state)
{
	struct http1_body body = body_of(MESSAGE_UNTIL_CLOSE, 0);
	struct cursor bytes = cursor_of_text("0\r\n\r\n"), slice;

	(void)state;
	assert_int_equal(
	    http1_body_read(&body, &bytes, &slice, NULL), PARSE_MORE);
	assert_int_equal(slice.left, 5);
	assert_int_equal(
	    http1_body_read(&body, &bytes, &slice, NULL), PARSE_MORE);
	assert_int_equal(slice.left, 0);
	assert_true(http1_body_may_end(&body));
}

/* S24: not a byte is changed, wherever the pieces end. */
static void
chunks_are_read_alike_at_every_cut(void **state)
{
	char got[100];
	size_t whole = strlen(chunked);

	(void)state;
	for (size_t cut = 0; cut <= whole; cut++) {
		struct http1_body body = body_of(MESSAGE_CHUNKED, 0);
		struct cursor_writer out = cursor_writer_of(got, sizeof(got));
		size_t used = 0;

		assert_int_equal(feed(&body, chunked, &used, cut, &out),
		    cut == whole ? PARSE_OK : PARSE_MORE);
		if (cut < whole) {
			assert_false(http1_body_may_end(&body));
			assert_int_equal(
			    feed(&body, chunked, &used, whole, &out), PARSE_OK);
		}
		assert_int_equal(used, whole);
		assert_true(cursor_equals(
		    cursor_of(got, out.used), "hello, big worldX-Sum: 1\r\n"));
	}
}

static void
chunks_are_read_byte_by_byte(void **state)
{
	struct http1_body body = body_of(MESSAGE_CHUNKED, 0);
	char got[100];
	struct cursor_writer out = cursor_writer_of(got, sizeof(got));
	size_t used = 0, whole = strlen(chunked);

	(void)state;
	for (size_t end = 1; end <= whole; end++)
		assert_int_equal(feed(&body, chunked, &used, end, &out),
		    end == whole ? PARSE_OK : PARSE_MORE);
	assert_memory_equal(got, payload, strlen(payload));
}

static void
what_follows_the_trailers_is_left(void **state)
{
	struct http1_body body = body_of(MESSAGE_CHUNKED, 0);
	struct cursor bytes = cursor_of_text("0\r\n\r\nGET /"), slice;
	struct header trailers;

	(void)state;
	assert_int_equal(
	    http1_body_read(&body, &bytes, &slice, &trailers), PARSE_OK);
	assert_true(cursor_equals(bytes, "GET /"));
}

static void
a_broken_body_stays_broken_and_leaves_outputs_alone(void **state)
{
	struct http1_body body = body_of(MESSAGE_CHUNKED, 0);
	struct cursor bytes = cursor_of_text("+5\r\nhello\r\n0\r\n\r\n");
	struct cursor good = cursor_of_text("0\r\n\r\n");
	struct cursor slice = { .left = 77 };
	struct header trailers = { .count = 77 };

	(void)state;
	assert_int_equal(
	    http1_body_read(&body, &bytes, &slice, &trailers), PARSE_BAD);
	assert_int_equal(slice.left, 77);
	assert_int_equal(trailers.count, 77);
	assert_int_equal(bytes.left, 16);
	assert_int_equal(
	    http1_body_read(&body, &good, &slice, &trailers), PARSE_BAD);
	assert_false(http1_body_may_end(&body));
}

static void
lines_without_end_are_refused_at_their_limit(void **state)
{
	static char line[LIMIT_HTTP_TRAILERS + 8];
	struct http1_body body = body_of(MESSAGE_CHUNKED, 0);
	struct cursor bytes, slice;

	(void)state;
	memset(line, 'a', sizeof(line));
	line[0] = '5';
	line[1] = ';';
	bytes = cursor_of(line, LIMIT_CHUNK_LINE - 1);
	assert_int_equal(
	    http1_body_read(&body, &bytes, &slice, NULL), PARSE_MORE);
	bytes = cursor_of(line, LIMIT_CHUNK_LINE);
	assert_int_equal(
	    http1_body_read(&body, &bytes, &slice, NULL), PARSE_BAD);
	body = body_of(MESSAGE_CHUNKED, 0);
	bytes = cursor_of_text("0\r\nA: ");
	assert_true(cursor_copy(&bytes, 6, line));
	bytes = cursor_of(line, LIMIT_HTTP_TRAILERS + 2);
	assert_int_equal(
	    http1_body_read(&body, &bytes, &slice, NULL), PARSE_MORE);
	assert_int_equal(bytes.left, LIMIT_HTTP_TRAILERS - 1);
	bytes = cursor_of(line + 3, LIMIT_HTTP_TRAILERS);
	assert_int_equal(
	    http1_body_read(&body, &bytes, &slice, NULL), PARSE_BAD);
}

static void
written_chunks_are_read_again(void **state)
{
	static const uint64_t sizes[] = { 1, 15, 16, 255, 65536, INT64_MAX };
	char bytes[100];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct http1_body body = body_of(MESSAGE_CHUNKED, 0);
		struct cursor_writer out =
		    cursor_writer_of(bytes, HTTP1_BODY_CHUNK_LINE);
		struct cursor rest, slice;

		http1_body_chunk_begin(sizes[i], &out);
		assert_true(cursor_written(&out));
		rest = cursor_of(bytes, out.used);
		assert_int_equal(
		    http1_body_read(&body, &rest, &slice, NULL), PARSE_MORE);
		assert_int_equal(body.left, sizes[i]);
		assert_int_equal(rest.left, 0);
	}
}

static void
a_finished_body_has_its_trailers(void **state)
{
	struct header trailers = { .count = 0 };
	char bytes[100];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(
	    header_set(&trailers, "X-Sum", cursor_of_text("1")), STATUS_OK);
	http1_body_chunk_begin(2, &out);
	cursor_put_text(&out, "hi");
	http1_body_chunk_end(&out);
	http1_body_finish(&trailers, &out);
	http1_body_finish(NULL, &out);
	assert_true(cursor_equals(cursor_of(bytes, out.used),
	    "2\r\nhi\r\n0\r\nX-Sum: 1\r\n\r\n0\r\n\r\n"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_length_ends_the_body_and_leaves_the_rest),
		cmocka_unit_test(no_body_takes_nothing),
		cmocka_unit_test(until_close_takes_all_and_may_end_anywhere),
		cmocka_unit_test(chunks_are_read_alike_at_every_cut),
		cmocka_unit_test(chunks_are_read_byte_by_byte),
		cmocka_unit_test(what_follows_the_trailers_is_left),
		cmocka_unit_test(
		    a_broken_body_stays_broken_and_leaves_outputs_alone),
		cmocka_unit_test(lines_without_end_are_refused_at_their_limit),
		cmocka_unit_test(written_chunks_are_read_again),
		cmocka_unit_test(a_finished_body_has_its_trailers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
