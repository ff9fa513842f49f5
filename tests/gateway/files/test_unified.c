/* Tests of gateway/files/unified. */
#include "gateway/files/unified.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct shown {
	char text[65536];
	size_t used;
};

static void
on_line(char mark, struct cursor line, void *arg)
{
	struct shown *shown = arg;

	assert_true(shown->used + line.left + 2 < sizeof(shown->text));
	if (mark != '@')
		shown->text[shown->used++] = mark;
	if (line.left > 0)
		memcpy(shown->text + shown->used, line.at, line.left);
	shown->used += line.left;
	shown->text[shown->used++] = '\n';
	shown->text[shown->used] = '\0';
}

static void
expect(const char *from, const char *to, const char *diff)
{
	struct shown shown = { .text = "" };

	assert_int_equal(unified_print(cursor_of_text(from), cursor_of_text(to),
			     on_line, &shown),
	    STATUS_OK);
	assert_string_equal(shown.text, diff);
}

static void
equal_texts_differ_in_nothing(void **state)
{
	(void)state;
	expect("", "", "");
	expect("a\nb\n", "a\nb\n", "");
}

static void
lines_are_added_changed_and_removed(void **state)
{
	(void)state;
	expect("", "a\n", "@@ -0,0 +1,1 @@\n+a\n");
	expect("a\n", "", "@@ -1,1 +0,0 @@\n-a\n");
	expect("a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n");
	expect("b\n", "a\nb\nc\n", "@@ -1,1 +1,3 @@\n+a\n b\n+c\n");
}

static void
hunks_have_three_lines_around_them(void **state)
{
	(void)state;
	expect("1\n2\n3\n4\n5\n6\n7\n8\n9\nA\nB\nC\n",
	    "x\n2\n3\n4\n5\n6\n7\n8\n9\nA\nB\ny\n",
	    "@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n"
	    "@@ -9,4 +9,4 @@\n 9\n A\n B\n-C\n+y\n");
	expect("1\n2\n3\n4\n5\n6\n7\n8\n", "x\n2\n3\n4\n5\n6\n7\ny\n",
	    "@@ -1,8 +1,8 @@\n-1\n+x\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+y\n");
}

static void
a_missing_last_line_end_is_told(void **state)
{
	(void)state;
	expect("a", "a\n",
	    "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n");
	expect("a\nb", "a\nc",
	    "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n"
	    "+c\n\\ No newline at end of file\n");
}

static void
the_shortest_way_is_found(void **state)
{
	(void)state;
	expect("a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n",
	    "@@ -1,7 +1,6 @@\n-a\n-b\n c\n+b\n a\n b\n-b\n a\n+c\n");
}

static void
texts_without_anything_in_common_are_replaced(void **state)
{
	char from[40000] = "", to[40000] = "";
	struct shown *shown = calloc(1, sizeof(*shown));
	size_t at = 0;

	(void)state;
	assert_non_null(shown);
	for (int i = 0; i < 3000; i++) {
		(void)snprintf(from + at, sizeof(from) - at, "a%04d\n", i);
		(void)snprintf(to + at, sizeof(to) - at, "b%04d\n", i);
		at += 6;
	}
	assert_int_equal(unified_print(cursor_of_text(from), cursor_of_text(to),
			     on_line, shown),
	    STATUS_OK);
	assert_non_null(strstr(shown->text, "@@ -1,3000 +1,3000 @@\n-a0000\n"));
	assert_non_null(strstr(shown->text, "-a2999\n+b0000\n"));
	free(shown);
}

static void
bytes_with_a_nul_are_no_text(void **state)
{
	(void)state;
	assert_true(unified_is_text(cursor_of("", 0)));
	assert_true(unified_is_text(cursor_of("a\xff", 2)));
	assert_false(unified_is_text(cursor_of("a\0b", 3)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_texts_differ_in_nothing),
		cmocka_unit_test(lines_are_added_changed_and_removed),
		cmocka_unit_test(hunks_have_three_lines_around_them),
		cmocka_unit_test(a_missing_last_line_end_is_told),
		cmocka_unit_test(the_shortest_way_is_found),
		cmocka_unit_test(texts_without_anything_in_common_are_replaced),
		cmocka_unit_test(bytes_with_a_nul_are_no_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
