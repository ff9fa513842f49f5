/* What of a request's target is written down. */
#include "gateway/flow/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

static void
assert_object(
    const char *path, const char *query, size_t room, const char *wanted)
{
	unsigned char bytes[256];
	struct cursor_writer out = cursor_writer_of(bytes, room);

	record_object(cursor_of_text(path), cursor_of_text(query), &out);
	assert_true(cursor_written(&out));
	assert_int_equal(out.used, strlen(wanted));
	assert_memory_equal(bytes, wanted, out.used);
}

static void
values_of_a_query_are_not_written_down(void **state)
{
	(void)state;
	assert_object("/a", "", 256, "/a");
	assert_object("/a", "token=secret", 256, "/a?token");
	assert_object("/a", "a=1&b=2&c=3", 256, "/a?a&b&c");
	assert_object("/a", "a=1=2&b", 256, "/a?a&b");
	assert_object("/a", "a=?b=x", 256, "/a?a");
	assert_object("/", "=secret", 256, "/?");
	assert_object("/", "a=&=x&", 256, "/?a&");
	assert_object("/", "&&a", 256, "/?&&a");
}

static void
what_does_not_fit_is_cut_at_the_end(void **state)
{
	(void)state;
	assert_object("/abcdef", "", 4, "/abc");
	assert_object("/abc", "key=1", 4, "/abc");
	assert_object("/abc", "key=1", 7, "/abc");
	assert_object("/abc", "key=1", 8, "/abc?key");
	assert_object("/abc", "key=1&longer=2", 12, "/abc?key");
	assert_object("/abc", "", 0, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_a_query_are_not_written_down),
		cmocka_unit_test(what_does_not_fit_is_cut_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
