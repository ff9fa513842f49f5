#include "policy/urlpath.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct urlpath path;
static struct cursor query;

static void
expect(const char *target, const char *canonical)
{
	int status = urlpath_parse(cursor_of_text(target), &path, &query);

	if (canonical == NULL) {
		if (status != STATUS_MALFORMED)
			fail_msg("%s is taken as %s", target, path.text);
		return;
	}
	if (status != STATUS_OK)
		fail_msg("%s is refused", target);
	assert_string_equal(path.text, canonical);
	assert_int_equal(path.length, strlen(canonical));
}

static void
one_path_has_one_spelling(void **state)
{
	static const char *const pairs[][2] = {
		{ "/", "/" },
		{ "/a/b", "/a/b" },
		{ "/a/b/", "/a/b/" },
		{ "/%61%2d%2E%5f%7e", "/a-._~" },
		{ "/a%2fb", "/a%2Fb" },
		{ "/a%2Fb", "/a%2Fb" },
		{ "/@scope%2fname", "/@scope%2Fname" },
		{ "/%40scope", "/%40scope" },
		{ "/%25%32%65", "/%252e" },
		{ "/a/./b", "/a/b" },
		{ "/a/.", "/a/" },
		{ "/.", "/" },
		{ "/a/../b", "/b" },
		{ "/a/..", "/" },
		{ "/a/b/..", "/a/" },
		{ "/a/b/../..", "/" },
		{ "/a/b/../../c", "/c" },
		{ "/%2e", "/" },
		{ "/a/%2E/b", "/a/b" },
		{ "/a/...", "/a/..." },
		{ "/a/..b", "/a/..b" },
		{ "/a/b;c=1", "/a/b;c=1" },
		{ "/a%3Bb", "/a%3Bb" },
		{ "/%e2%82%ac", "/%E2%82%AC" },
		{ "/u/https%3A%2F%2Fx", "/u/https%3A%2F%2Fx" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		expect(pairs[i][0], pairs[i][1]);
}

/* B33 */
static void
what_two_readers_could_read_differently_is_refused(void **state)
{
	static const char *const targets[] = { "", "a", "?", "*", "//", "//a",
		"/a//b", "/a//", "/..", "/../a", "/a/../..", "/%2e%2e",
		"/a/%2e%2e/b", "/a/.%2e", "/a/%2E.", "/a\\b", "/a%5cb",
		"/a%5C..%5Cb", "/%", "/%1", "/%zz", "/%+1", "/a%00", "/a%0a",
		"/a%7f", "/a b", "/a\tb", "/a\x7f", "/\xc3\xa9", "/a#b",
		"/..;x", "/a/..;x=1/b", "/.;/a", "/..%3Bx", "/%2e%2e;x",
		"/a%2F..", "/..%2Fa", "/a%2f..%2Fb", "/.%2Fa", "/a%2F.",
		"/a%2F..;x", "/%c0%af", "/%C1%9C", "/a?b#c", "/a?b c",
		"/a?\xff" };

	(void)state;
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		expect(targets[i], NULL);
	assert_int_equal(urlpath_parse(cursor_of("/a\0b", 4), &path, &query),
	    STATUS_MALFORMED);
}

static void
a_query_is_what_stands_behind_the_first_question_mark(void **state)
{
	(void)state;
	expect("/a?b=/../c?d", "/a");
	assert_true(cursor_equals(query, "b=/../c?d"));
	expect("/a?", "/a");
	assert_int_equal(query.left, 0);
	expect("/a", "/a");
	assert_int_equal(query.left, 0);
}

static void
a_canonical_path_is_its_own_canonical_form(void **state)
{
	static const char *const targets[] = { "/a/../b%2f%41?", "/x/./y/",
		"/%7Ea/%25/b;c" };
	struct urlpath again;

	(void)state;
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		assert_int_equal(
		    urlpath_parse(cursor_of_text(targets[i]), &path, &query),
		    STATUS_OK);
		assert_int_equal(
		    urlpath_parse(
			cursor_of(path.text, path.length), &again, &query),
		    STATUS_OK);
		assert_string_equal(again.text, path.text);
	}
}

static void
a_path_that_is_too_long_leaves_the_output_alone(void **state)
{
	char *target = malloc(LIMIT_HTTP_URI + 2);

	(void)state;
	assert_non_null(target);
	memset(target, 'a', LIMIT_HTTP_URI + 2);
	target[0] = '/';
	expect("/kept", "/kept");
	assert_int_equal(
	    urlpath_parse(cursor_of(target, LIMIT_HTTP_URI + 1), &path, &query),
	    STATUS_TOO_LONG);
	assert_string_equal(path.text, "/kept");
	assert_int_equal(
	    urlpath_parse(cursor_of(target, LIMIT_HTTP_URI), &path, &query),
	    STATUS_OK);
	assert_int_equal(path.length, LIMIT_HTTP_URI);
	free(target);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_path_has_one_spelling),
		cmocka_unit_test(
		    what_two_readers_could_read_differently_is_refused),
		cmocka_unit_test(
		    a_query_is_what_stands_behind_the_first_question_mark),
		cmocka_unit_test(a_canonical_path_is_its_own_canonical_form),
		cmocka_unit_test(
		    a_path_that_is_too_long_leaves_the_output_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
