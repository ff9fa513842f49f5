#include "schema/errand.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static unsigned char bytes[LIMIT_FRAME];

static struct errand
an_errand(void)
{
	struct errand errand = { .number = 7,
		.endpoint = 3,
		.method = ERRAND_PUT,
		.field_count = 1,
		.want_count = 2,
		.body = cursor_of_text("a=b") };

	errand.fields[0].name = cursor_of_text("accept");
	errand.fields[0].value = cursor_of_text("application/json");
	errand.wants[0].name = cursor_of_text("token");
	errand.wants[0].path = cursor_of_text("access_token");
	errand.wants[1].name = cursor_of_text("key");
	errand.wants[1].path = cursor_of_text("data/data/key");
	return errand;
}

static size_t
write_errand(void)
{
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	struct errand errand = an_errand();

	errand_write(&errand, &out);
	assert_true(cursor_written(&out));
	return out.used;
}

static void
an_errand_is_read_as_it_was_written(void **state)
{
	size_t length = write_errand();
	struct errand errand;

	(void)state;
	assert_int_equal(
	    errand_read(cursor_of(bytes, length), &errand), STATUS_OK);
	assert_int_equal(errand.number, 7);
	assert_int_equal(errand.endpoint, 3);
	assert_int_equal(errand.method, ERRAND_PUT);
	assert_int_equal(errand.field_count, 1);
	assert_true(cursor_equals(errand.fields[0].name, "accept"));
	assert_true(cursor_equals(errand.fields[0].value, "application/json"));
	assert_int_equal(errand.want_count, 2);
	assert_true(cursor_equals(errand.wants[1].name, "key"));
	assert_true(cursor_equals(errand.wants[1].path, "data/data/key"));
	assert_true(cursor_equals(errand.body, "a=b"));
}

static void
an_errand_cut_or_with_more_behind_is_refused(void **state)
{
	size_t length = write_errand();
	struct errand errand = { .number = 99 };

	(void)state;
	for (size_t cut = 0; cut < length; cut++)
		assert_int_equal(errand_read(cursor_of(bytes, cut), &errand),
		    STATUS_MALFORMED);
	assert_int_equal(errand_read(cursor_of(bytes, length + 1), &errand),
	    STATUS_MALFORMED);
	assert_int_equal(errand.number, 99);
}

static void
an_errand_with_too_many_fields_or_an_unknown_method_is_refused(void **state)
{
	size_t length = write_errand();
	struct errand errand;

	(void)state;
	bytes[6] = ERRAND_METHOD_COUNT;
	assert_int_equal(
	    errand_read(cursor_of(bytes, length), &errand), STATUS_MALFORMED);
	bytes[6] = ERRAND_GET;
	bytes[7] = LIMIT_ERRAND_FIELDS + 1;
	assert_int_equal(
	    errand_read(cursor_of(bytes, length), &errand), STATUS_MALFORMED);
}

static void
an_endpoint_is_read_as_it_was_written(void **state)
{
	struct errand_endpoint endpoint = { .url = "https://example.com/token",
		.roots = cursor_of_text("-----BEGIN") };
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	struct errand_endpoint read;

	(void)state;
	errand_endpoint_write(&endpoint, &out);
	assert_int_equal(
	    errand_endpoint_read(cursor_of(bytes, out.used), &read), STATUS_OK);
	assert_string_equal(read.url, endpoint.url);
	assert_true(cursor_equals(read.roots, "-----BEGIN"));
	for (size_t cut = 0; cut < out.used; cut++)
		assert_int_equal(
		    errand_endpoint_read(cursor_of(bytes, cut), &read),
		    STATUS_MALFORMED);
}

static void
an_endpoint_with_longer_roots_than_the_limit_is_refused(void **state)
{
	static const unsigned char roots[LIMIT_ERRAND_ROOTS + 1];
	struct errand_endpoint endpoint = { .url = "https://example.com/",
		.roots = cursor_of(roots, sizeof(roots)) };
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	errand_endpoint_write(&endpoint, &out);
	assert_true(cursor_written(&out));
	assert_int_equal(
	    errand_endpoint_read(cursor_of(bytes, out.used), &endpoint),
	    STATUS_MALFORMED);
}

static void
an_answer_is_read_as_it_was_written_and_searched_by_name(void **state)
{
	struct errand_answer answer = { .number = 7,
		.end = ERRAND_ANSWERED,
		.status = 200,
		.cause = "",
		.value_count = 2 };
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	struct errand_answer read;
	struct cursor value;

	(void)state;
	answer.values[0].name = cursor_of_text("token");
	answer.values[0].value = cursor_of_text("abc");
	answer.values[1].name = cursor_of_text("expires");
	answer.values[1].value = cursor_of_text("3600");
	errand_answer_write(&answer, &out);
	assert_int_equal(
	    errand_answer_read(cursor_of(bytes, out.used), &read), STATUS_OK);
	assert_int_equal(read.number, 7);
	assert_int_equal(read.status, 200);
	assert_true(errand_answer_find(&read, "expires", &value));
	assert_true(cursor_equals(value, "3600"));
	assert_false(errand_answer_find(&read, "toke", &value));
	assert_true(cursor_equals(value, "3600"));
	for (size_t cut = 0; cut < out.used; cut++)
		assert_int_equal(
		    errand_answer_read(cursor_of(bytes, cut), &read),
		    STATUS_MALFORMED);
	bytes[4] = ERRAND_END_COUNT;
	assert_int_equal(errand_answer_read(cursor_of(bytes, out.used), &read),
	    STATUS_MALFORMED);
}

static void
every_end_and_method_has_words(void **state)
{
	(void)state;
	for (unsigned end = 0; end < ERRAND_END_COUNT; end++)
		assert_true(errand_end_words((enum errand_end)end)[0] != '\0');
	assert_string_equal(errand_method_name(ERRAND_DELETE), "DELETE");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_errand_is_read_as_it_was_written),
		cmocka_unit_test(an_errand_cut_or_with_more_behind_is_refused),
		cmocka_unit_test(
		    an_errand_with_too_many_fields_or_an_unknown_method_is_refused),
		cmocka_unit_test(an_endpoint_is_read_as_it_was_written),
		cmocka_unit_test(
		    an_endpoint_with_longer_roots_than_the_limit_is_refused),
		cmocka_unit_test(
		    an_answer_is_read_as_it_was_written_and_searched_by_name),
		cmocka_unit_test(every_end_and_method_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
