#include "gateway/proto/awsform.h"

#include "gateway/proto/header.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static unsigned char bytes[65536];

/* The line of that number, from 0, of what awsform_write() made. */
static struct cursor
line_of(size_t length, unsigned number)
{
	struct cursor text = cursor_of(bytes, length), line = text;

	for (unsigned i = 0; i <= number; i++)
		if (!cursor_until(&text, '\n', &line))
			return text;
	return line;
}

static struct awsform
a_form(const struct header *header)
{
	return (struct awsform){ .method = cursor_of_text("GET"),
		.path = cursor_of_text("/"),
		.query = cursor_of_text(""),
		.host = cursor_of_text("s3.example.com"),
		.header = header,
		.names = cursor_of_text("host"),
		.payload = cursor_of_text("UNSIGNED-PAYLOAD") };
}

static void
assert_line(const struct awsform *form, unsigned number, const char *wanted)
{
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	struct cursor line;

	assert_int_equal(awsform_write(form, &out), STATUS_OK);
	line = line_of(out.used, number);
	if (!cursor_equals(line, wanted))
		fail_msg("\"%.*s\" is not \"%s\"", (int)line.left,
		    (const char *)line.at, wanted);
}

static void
a_path_of_s3_is_encoded_once_and_kept_as_it_is(void **state)
{
	static const struct {
		const char *sent, *canonical;
	} cases[] = {
		{ "/", "/" },
		{ "/a//b/../c", "/a//b/../c" },
		{ "/a%20b%2bc%2F", "/a%20b%2Bc%2F" },
		{ "/a+b=c@d", "/a%2Bb%3Dc%40d" },
		{ "/50%", "/50%25" },
	};
	struct header header = { .count = 0 };
	struct awsform form = a_form(&header);

	(void)state;
	form.rule = AWSFORM_ONCE;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		form.path = cursor_of_text(cases[i].sent);
		assert_line(&form, 1, cases[i].canonical);
	}
}

static void
a_path_of_another_service_is_cleaned_up_and_encoded_twice(void **state)
{
	static const struct {
		const char *sent, *canonical;
	} cases[] = {
		{ "", "/" },
		{ "/", "/" },
		{ "/a//b/../c", "/a/c" },
		{ "/../..", "/" },
		{ "/a/..", "/" },
		{ "/a/b/..", "/a/" },
		{ "/a/./", "/a/" },
		{ "/a%20b", "/a%2520b" },
	};
	struct header header = { .count = 0 };
	struct awsform form = a_form(&header);

	(void)state;
	form.rule = AWSFORM_TWICE;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		form.path = cursor_of_text(cases[i].sent);
		assert_line(&form, 1, cases[i].canonical);
	}
}

static void
a_query_is_sorted_by_key_and_then_by_value(void **state)
{
	static const struct {
		const char *sent, *canonical;
	} cases[] = {
		{ "", "" },
		{ "list-type", "list-type=" },
		{ "b=2&a=1", "a=1&b=2" },
		{ "a=2&a=1&a", "a=&a=1&a=2" },
		/* Not by the joined text: '-' comes before '='. */
		{ "Param-3=3&Param=2", "Param=2&Param-3=3" },
		{ "k=a%2fb%7e", "k=a%2Fb~" },
		{ "k=a=b&&", "k=a%3Db" },
		{ "k=a+b", "k=a%2Bb" },
	};
	struct header header = { .count = 0 };
	struct awsform form = a_form(&header);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		form.query = cursor_of_text(cases[i].sent);
		assert_line(&form, 2, cases[i].canonical);
	}
}

static void
a_query_that_cannot_be_read_is_refused(void **state)
{
	char many[LIMIT_AWS_PARAMETERS * 2 + 3];
	struct header header = { .count = 0 };
	struct awsform form = a_form(&header);
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	form.query = cursor_of_text("k=%2");
	assert_int_equal(awsform_write(&form, &out), STATUS_MALFORMED);
	for (size_t i = 0; i < sizeof(many); i++)
		many[i] = i % 2 == 0 ? 'k' : '&';
	form.query = cursor_of(many, sizeof(many));
	assert_int_equal(awsform_write(&form, &out), STATUS_FULL);
}

static void
a_header_that_is_signed_and_not_there_is_refused(void **state)
{
	struct header header = { .count = 0 };
	struct awsform form = a_form(&header);
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	form.names = cursor_of_text("host;x-amz-date");
	assert_int_equal(awsform_write(&form, &out), STATUS_NOT_FOUND);
	form.names = cursor_of_text("content-length;host");
	assert_int_equal(awsform_write(&form, &out), STATUS_NOT_FOUND);
	form.length = cursor_of_text("12");
	assert_line(&form, 3, "content-length:12");
}

static void
no_room_is_told(void **state)
{
	struct header header = { .count = 0 };
	struct awsform form = a_form(&header);

	(void)state;
	form.query = cursor_of_text("a=1&b=2");
	for (size_t size = 0; size < 56; size++) {
		struct cursor_writer out = cursor_writer_of(bytes, size);

		assert_int_equal(awsform_write(&form, &out), STATUS_TOO_LONG);
	}
}

static void
what_goes_outside_is_signed_but_for_what_may_change(void **state)
{
	static const char *const fields[] = { "Content-Type", "User-Agent",
		"X-Amz-Date", "x-amz-security-token", "Range", "Accept",
		"X-Amz-Date", "Transfer-Encoding" };
	struct header header = { .count = 0 };
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		assert_int_equal(header_add(&header, cursor_of_text(fields[i]),
				     cursor_of_text("v")),
		    STATUS_OK);
	assert_int_equal(awsform_names(&header,
			     cursor_of_text("host;range;user-agent"), &out),
	    STATUS_OK);
	/* C16: the session token is among them. */
	assert_true(cursor_equals(cursor_of(bytes, out.used),
	    "content-type;host;range;x-amz-date;x-amz-security-token"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_path_of_s3_is_encoded_once_and_kept_as_it_is),
		cmocka_unit_test(
		    a_path_of_another_service_is_cleaned_up_and_encoded_twice),
		cmocka_unit_test(a_query_is_sorted_by_key_and_then_by_value),
		cmocka_unit_test(a_query_that_cannot_be_read_is_refused),
		cmocka_unit_test(
		    a_header_that_is_signed_and_not_there_is_refused),
		cmocka_unit_test(no_room_is_told),
		cmocka_unit_test(
		    what_goes_outside_is_signed_but_for_what_may_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
