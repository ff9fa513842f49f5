#include "gateway/cli/abspath.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/exeat-place-XXXXXX";

static int
set_up(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL || chdir(folder) != 0)
		return -1;
	return mkdir("real", S_IRWXU) != 0 || symlink("real", "link") != 0 ||
		       symlink("loop", "loop") != 0 ||
		       symlink("nowhere", "dangling") != 0
		   ? -1
		   : 0;
}

static int
tear_down(void **state)
{
	(void)state;
	return unlink("link") | unlink("loop") | unlink("dangling") |
	       rmdir("real") | rmdir(folder);
}

static void
folder_holds_itself_and_what_is_below_it_only(void **state)
{
	static const struct {
		const char *path, *folder;
		bool within;
	} cases[] = {
		{ "/ws", "/ws", true },
		{ "/ws/a", "/ws", true },
		{ "/wsa", "/ws", false },
		{ "/ws", "/ws/a", false },
		{ "/", "/ws", false },
		{ "/anything", "/", true },
		{ "/", "/", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(
		    abspath_is_within(cases[i].path, cases[i].folder),
		    cases[i].within);
}

static void
every_spelling_is_one_place(void **state)
{
	static const char *const spellings[] = { "real", "./real", "link",
		"link/.", "real/../link/", "/proc/self/cwd/real" };
	char wanted[ABSPATH_MAX];

	(void)state;
	assert_true(snprintf(wanted, sizeof(wanted), "%s/real", folder) > 0);
	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		struct abspath place;

		assert_int_equal(
		    abspath_of(spellings[i], true, &place, NULL), STATUS_OK);
		assert_string_equal(place.path, wanted);
	}
}

static void
what_cannot_be_opened_is_told_by_name(void **state)
{
	static const char *const bad[] = { "nothing", "dangling", "loop",
		"real/a/b", "" };
	struct abspath place = { .path = "untouched" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct problem problem = { .text = "" };

		assert_int_equal(
		    abspath_of(bad[i], true, &place, &problem), STATUS_PROBLEM);
		assert_non_null(strstr(problem.text, bad[i]));
		assert_string_equal(place.path, "untouched");
	}
	assert_int_equal(
	    abspath_of("/dev/null", true, &place, NULL), STATUS_PROBLEM);
}

static void
new_file_stands_in_a_folder_that_is_there(void **state)
{
	char wanted[ABSPATH_MAX];
	struct abspath place;

	(void)state;
	assert_true(
	    snprintf(wanted, sizeof(wanted), "%s/real/new.db", folder) > 0);
	assert_int_equal(
	    abspath_of_new("link/new.db", &place, NULL), STATUS_OK);
	assert_string_equal(place.path, wanted);
	assert_int_equal(abspath_of_new("/new.db", &place, NULL), STATUS_OK);
	assert_string_equal(place.path, "/new.db");
	assert_int_equal(
	    abspath_of_new("nothing/new.db", &place, NULL), STATUS_PROBLEM);
	assert_int_equal(
	    abspath_of_new("real/..", &place, NULL), STATUS_PROBLEM);
	assert_int_equal(abspath_of_new("real/", &place, NULL), STATUS_PROBLEM);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folder_holds_itself_and_what_is_below_it_only),
		cmocka_unit_test(every_spelling_is_one_place),
		cmocka_unit_test(what_cannot_be_opened_is_told_by_name),
		cmocka_unit_test(new_file_stands_in_a_folder_that_is_there),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
