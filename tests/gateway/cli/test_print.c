#include "gateway/cli/print.h"

#include "gateway/audit/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct query_cell
text(const char *value)
{
	return (struct query_cell){ .type = QUERY_TEXT,
		.text = cursor_of_text(value) };
}

static struct query_cell
number(int64_t value)
{
	return (struct query_cell){ .type = QUERY_INTEGER, .number = value };
}

static const char *second_name = "n";

/* Prints count rows of two columns. */
static void
print_cells(FILE *out, enum print_form form, const struct query_cell *cells,
    size_t count)
{
	const struct query_cell names[] = { text("name"), text(second_name) };
	struct print *print = print_new(out, form);

	assert_non_null(print);
	print_columns(print, names, 2);
	for (size_t i = 0; i < count; i++)
		assert_true(print_row(print, cells + 2 * i, 2));
	assert_true(print_end(print));
	assert_int_equal(print_count(print), count);
	print_free(print);
}

static void
assert_printed(enum print_form form, const struct query_cell *cells,
    size_t count, const char *expected)
{
	char *bytes = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&bytes, &length);

	assert_non_null(out);
	print_cells(out, form, cells, count);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(bytes, expected);
	free(bytes);
}

static void
table_aligns_numbers_to_the_right(void **state)
{
	const struct query_cell cells[] = { text("a"), number(7),
		text("longer"), number(-1234) };

	(void)state;
	assert_printed(
	    PRINT_TABLE, cells, 2, "name    n\na           7\nlonger  -1234\n");
}

static void
moments_are_dates_for_people_alone(void **state)
{
	const struct query_cell cells[] = { text("a"), number(1796130476523564),
		text("b"), number(1500) };

	(void)state;
	second_name = "at_us";
	assert_printed(PRINT_TABLE, cells, 2,
	    "name  at_us\n"
	    "a     2026-12-01 13:07:56.523\n"
	    "b                        1500\n");
	assert_printed(PRINT_RECORD, cells, 1,
	    "name   a\nat_us  2026-12-01 13:07:56.523\n");
	assert_printed(PRINT_JSON_LINES, cells, 1,
	    "{\"name\":\"a\",\"at_us\":1796130476523564}\n");
	second_name = "status";
	assert_printed(
	    PRINT_RECORD, cells, 1, "name    a\nstatus  1796130476523564\n");
	second_name = "n";
}

static void
answer_without_rows_prints_nothing_or_an_empty_array(void **state)
{
	(void)state;
	assert_printed(PRINT_TABLE, NULL, 0, "");
	assert_printed(PRINT_RECORD, NULL, 0, "");
	assert_printed(PRINT_JSON_LINES, NULL, 0, "");
	assert_printed(PRINT_JSON_ARRAY, NULL, 0, "[]");
}

static void
bytes_that_move_a_terminal_are_escaped(void **state)
{
	static const struct {
		const char *value, *shown;
	} pairs[] = {
		{ "\x1b[31m", "\\x1b[31m" },
		{ "a\r\n\tb", "a\\x0d\\x0a\\x09b" },
		{ "\x7f\x08", "\\x7f\\x08" },
		/* a control of the second kind, in UTF-8 and bare */
		{ "\xc2\x9b", "\\xc2\\x9b" },
		{ "\x9b", "\\x9b" },
		/* overlong, cut, surrogate, too high */
		{ "\xc0\xaf", "\\xc0\\xaf" },
		{ "\xe2\x82", "\\xe2\\x82" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
		/* zero width joiner, line separator, tag */
		{ "\xe2\x80\x8d", "\\u200d" },
		{ "\xe2\x80\xa8", "\\u2028" },
		{ "\xf3\xa0\x81\xa1", "\\U0e0061" },
		{ "caf\xc3\xa9 \xe2\x82\xac", "caf\xc3\xa9 \xe2\x82\xac" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const struct query_cell cells[] = { text(pairs[i].value),
			{ .type = QUERY_NULL } };
		char expected[64];

		(void)snprintf(
		    expected, sizeof(expected), "name  %s\n", pairs[i].shown);
		assert_printed(PRINT_RECORD, cells, 1, expected);
	}
}

static void
json_keeps_types_and_is_valid_whatever_comes(void **state)
{
	const struct query_cell cells[] = { text("\"\x1b\xff"),
		{ .type = QUERY_REAL, .text = cursor_of("1.5", 3) },
		{ .type = QUERY_BLOB, .text = cursor_of("\x00\xab", 2) },
		{ .type = QUERY_REAL, .text = cursor_of("Inf", 3) } };

	(void)state;
	assert_printed(PRINT_JSON_ARRAY, cells, 2,
	    "[{\"name\":\"\\\"\\u001b\xef\xbf\xbd\",\"n\":1.5},"
	    "{\"name\":\"00ab\",\"n\":null}]");
}

/* Wider than the terminal: cut with a mark, never wrapped. */
static void
table_fits_its_terminal(void **state)
{
	struct winsize size = { .ws_row = 10, .ws_col = 30 };
	char wide[101], seen[512];
	struct query_cell cells[2];
	int master, slave;
	ssize_t got;
	FILE *out;

	(void)state;
	memset(wide, 'w', sizeof(wide) - 1);
	wide[sizeof(wide) - 1] = '\0';
	cells[0] = text(wide);
	cells[1] = number(1);
	if (openpty(&master, &slave, NULL, NULL, &size) != 0) {
		print_message("skipped: no terminal can be made here\n");
		skip();
	}
	out = fdopen(slave, "w");
	assert_non_null(out);
	print_cells(out, PRINT_TABLE, cells, 1);
	got = read(master, seen, sizeof(seen) - 1);
	assert_true(got > 0);
	seen[got] = '\0';
	assert_non_null(strstr(seen, "wwwwwwwwwwwwwwwwwwwwwwwwww\xe2\x80\xa6"));
	assert_null(strstr(seen, "wwwwwwwwwwwwwwwwwwwwwwwwwwww"));
	(void)fclose(out);
	(void)close(master);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_aligns_numbers_to_the_right),
		cmocka_unit_test(moments_are_dates_for_people_alone),
		cmocka_unit_test(
		    answer_without_rows_prints_nothing_or_an_empty_array),
		cmocka_unit_test(bytes_that_move_a_terminal_are_escaped),
		cmocka_unit_test(json_keeps_types_and_is_valid_whatever_comes),
		cmocka_unit_test(table_fits_its_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
