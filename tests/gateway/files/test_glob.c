/* Tests of gateway/files/glob. */
#include "gateway/files/glob.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void
a_pattern_without_a_slash_is_for_every_depth(void **state)
{
	(void)state;
	assert_true(glob_matches("*.secret", "x.secret"));
	assert_true(glob_matches("*.secret", "a/b/x.secret"));
	assert_false(glob_matches("*.secret", "x.secret/b"));
	assert_true(glob_matches("a?c", "d/abc"));
	assert_false(glob_matches("a?c", "a/c"));
}

static void
a_pattern_with_a_slash_is_for_the_whole_path(void **state)
{
	(void)state;
	assert_true(glob_matches("config/*.yaml", "config/prod.yaml"));
	assert_false(glob_matches("config/*.yaml", "a/config/prod.yaml"));
	assert_false(glob_matches("config/*.yaml", "config/a/prod.yaml"));
	assert_false(glob_matches("config/*.yaml", "config/prod.yaml.bak"));
}

static void
two_stars_are_any_number_of_parts(void **state)
{
	(void)state;
	assert_true(glob_matches("**/.git/config", ".git/config"));
	assert_true(glob_matches("**/.git/config", "a/b/.git/config"));
	assert_false(glob_matches("**/.git/config", "a.git/config"));
	assert_true(glob_matches("a/**", "a/b/c"));
	assert_false(glob_matches("a/**", "ab/c"));
	assert_true(glob_matches("a/**/b*c/**/d", "a/x/y/b1c/z/d"));
	assert_true(glob_matches("a/**/b*c/**/d", "a/bc/d"));
	assert_false(glob_matches("a/**/b*c/**/d", "a/b/c/d"));
	assert_true(glob_matches("**/*a*b", "ab/xaxb"));
}

static void
stars_are_tried_again_and_end(void **state)
{
	char text[201];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_false(glob_matches("*a*a*a*a*a*a*a*a*b", text));
	assert_true(glob_matches("*a*a*a*a*a*a*a*a*", text));
	assert_true(glob_matches("*aab", "aaab"));
	assert_true(glob_matches("**/x/*/y", "x/x/1/y"));
	assert_true(glob_matches("**/x/*/y", "x/1/2/x/1/y"));
}

static void
what_means_something_elsewhere_is_refused(void **state)
{
	static const char *const faults[] = { "", "/etc", "a//b", "a/", "..",
		"a/../b", "./a", "a/.", "[ab]", "{a,b}", "!a", "a\\*", "a**",
		"**b/c", "a/***" };

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		assert_non_null(glob_fault(faults[i]));
	assert_null(glob_fault("**/a/*.b/?/**"));
	assert_null(glob_fault("..."));
	assert_null(glob_fault(".env"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_without_a_slash_is_for_every_depth),
		cmocka_unit_test(a_pattern_with_a_slash_is_for_the_whole_path),
		cmocka_unit_test(two_stars_are_any_number_of_parts),
		cmocka_unit_test(stars_are_tried_again_and_end),
		cmocka_unit_test(what_means_something_elsewhere_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
