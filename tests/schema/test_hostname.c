#include "schema/hostname.h"

#include "schema/address.h"
#include "schema/status.h"
#include "tests/schema/dice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static int
parse(const char *text, struct hostname *ret)
{
	return hostname_parse(text, strlen(text), ret);
}

/* B18. */
static void
case_and_one_trailing_dot_make_no_other_name(void **state)
{
	static const char *const spellings[] = { "api.test", "API.Test",
		"api.test.", "aPI.TEST." };
	struct hostname name;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(parse(spellings[i], &name), STATUS_OK);
		assert_string_equal(name.text, "api.test");
		assert_int_equal(name.length, 8);
	}
}

/* B11. */
static void
what_is_no_name_is_refused(void **state)
{
	static const char *const bad[] = { "", ".", "..", ".a", "a..b", "a..",
		"-a.test", "a-.test", "a.-test", "a b", "a\tb", "a,b", "a/b",
		"a:80", "a@b", "a%2eb", "a\\b", "*.test", "[::1]", "::1", "a#b",
		"a?b", "a\"b", "a'b", "b\303\274cher.test", "a\n", "\x7f" };
	struct hostname name = { .length = 77 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (parse(bad[i], &name) == STATUS_OK)
			fail_msg("%s is taken", bad[i]);
	assert_int_equal(hostname_parse("a\0b", 3, &name), STATUS_MALFORMED);
	assert_int_equal(name.length, 77);
}

/* Whatever inet_aton or a browser would dial as an address. */
static void
numbers_are_no_names(void **state)
{
	static const char *const bad[] = { "1", "127.1", "127.0.0.1",
		"127.0.0.1.", "2130706433", "0x7f000001", "0x7f.1", "0X7F.1",
		"0177.0.0.1", "a.0x", "a.0x1f", "a.1", "1.2.3.4.5",
		"a.test.08" };
	static const char *const good[] = { "1a", "1.a", "0x7g", "x0", "a.0xg",
		"127.0.0.1.test", "1e3", "0-1" };
	struct hostname name;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(hostname_ends_in_number(bad[i], strlen(bad[i])));
		assert_int_not_equal(parse(bad[i], &name), STATUS_OK);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_false(hostname_ends_in_number(good[i], strlen(good[i])));
		assert_int_equal(parse(good[i], &name), STATUS_OK);
	}
	assert_false(hostname_ends_in_number("", 0));
	assert_false(hostname_ends_in_number(".", 1));
}

static void
lengths_are_those_of_dns(void **state)
{
	char text[300];
	struct hostname name;

	(void)state;
	memset(text, 'a', sizeof(text));
	assert_int_equal(hostname_parse(text, 63, &name), STATUS_OK);
	assert_int_equal(hostname_parse(text, 64, &name), STATUS_MALFORMED);
	for (size_t i = 50; i < sizeof(text); i += 50)
		text[i] = '.';
	assert_int_equal(hostname_parse(text, 253, &name), STATUS_OK);
	assert_int_equal(name.length, 253);
	assert_int_equal(hostname_parse(text, 254, &name), STATUS_TOO_LONG);
	text[253] = '.';
	assert_int_equal(hostname_parse(text, 254, &name), STATUS_OK);
}

/* B14: a suffix counts only at a dot. */
static void
below_needs_a_dot_between(void **state)
{
	static const struct {
		const char *name, *zone;
		bool below;
	} rows[] = {
		{ "a.good.test", "good.test", true },
		{ "a.b.good.test", "good.test", true },
		{ "evilgood.test", "good.test", false },
		{ "good.test", "good.test", false },
		{ "test", "good.test", false },
		{ "a.good.test.evil", "good.test", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hostname name, zone, none = { 0 };

		assert_int_equal(parse(rows[i].name, &name), STATUS_OK);
		assert_int_equal(parse(rows[i].zone, &zone), STATUS_OK);
		assert_int_equal(
		    hostname_is_below(&name, &zone), rows[i].below);
		assert_false(hostname_is_below(&name, &none));
		assert_false(hostname_is_below(&none, &zone));
	}
}

/* Whatever is read is canonical: it reads as itself, and is no address. */
static void
what_is_read_reads_as_itself(void **state)
{
	static const char alphabet[] = "aB0x1-_..f:";
	struct dice dice = { .state = 2 };
	struct hostname name, again;
	struct address address;
	char text[24];
	size_t read = 0;

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		size_t length = dice_throw(&dice, sizeof(text));

		dice_text(&dice, alphabet, sizeof(alphabet) - 1, text, length);
		if (hostname_parse(text, length, &name) != STATUS_OK)
			continue;
		read++;
		assert_int_equal(parse(name.text, &again), STATUS_OK);
		assert_true(hostname_equals(&name, &again));
		assert_int_equal(strlen(name.text), name.length);
		assert_int_equal(
		    address_parse(text, length, &address), STATUS_MALFORMED);
	}
	assert_in_range(read, 1000, 199000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_and_one_trailing_dot_make_no_other_name),
		cmocka_unit_test(what_is_no_name_is_refused),
		cmocka_unit_test(numbers_are_no_names),
		cmocka_unit_test(lengths_are_those_of_dns),
		cmocka_unit_test(below_needs_a_dot_between),
		cmocka_unit_test(what_is_read_reads_as_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
