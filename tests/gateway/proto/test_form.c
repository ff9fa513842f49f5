#include "gateway/proto/form.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct form form;

static int
parse(const char *text)
{
	return form_read(cursor_of_text(text), &form);
}

static void
names_and_values_are_decoded(void **state)
{
	(void)state;
	assert_int_equal(parse("a=1&scope=x+y%20z&c%3d=%26&empty="), STATUS_OK);
	assert_int_equal(form.count, 4);
	assert_true(cursor_equals(form_find(&form, "a"), "1"));
	assert_true(cursor_equals(form_find(&form, "scope"), "x y z"));
	assert_true(cursor_equals(form_find(&form, "c="), "&"));
	assert_int_equal(form_count(&form, "empty"), 1);
	assert_int_equal(form_find(&form, "empty").left, 0);
	assert_int_equal(form_count(&form, "none"), 0);
	assert_int_equal(form_find(&form, "none").left, 0);
}

static void
a_name_may_be_there_twice(void **state)
{
	(void)state;
	assert_int_equal(parse("a=1&a=2"), STATUS_OK);
	assert_int_equal(form_count(&form, "a"), 2);
	assert_true(cursor_equals(form_find(&form, "a"), "1"));
}

static void
an_empty_body_has_no_fields(void **state)
{
	(void)state;
	assert_int_equal(parse(""), STATUS_OK);
	assert_int_equal(form.count, 0);
}

static void
what_is_no_form_is_refused(void **state)
{
	static const char *const cases[] = { "a", "=1", "a=1&&b=2", "&a=1",
		"a=%", "a=%4", "a=%4g", "a=%00", "a=%0a", "a=%ff", "a=\n",
		"a=\x7f", "a=\xc3\xa4", "%zz=1", "a= %2", "{\"a\":1}" };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(parse(cases[i]), STATUS_MALFORMED);
}

static void
more_than_there_is_room_for_is_refused(void **state)
{
	static char text[LIMIT_INTERNAL_BODY + 2];
	size_t used = 0;

	(void)state;
	for (int i = 0; i < LIMIT_FORM_FIELDS; i++, used += 4)
		memcpy(text + used, "a=1&", 5);
	text[used - 1] = '\0';
	assert_int_equal(parse(text), STATUS_OK);
	memcpy(text + used - 1, "&b=1", 5);
	assert_int_equal(parse(text), STATUS_FULL);
	memset(text, 'a', LIMIT_INTERNAL_BODY);
	text[1] = '=';
	text[LIMIT_INTERNAL_BODY] = '\0';
	assert_int_equal(parse(text), STATUS_OK);
	text[LIMIT_INTERNAL_BODY] = 'a';
	assert_int_equal(parse(text), STATUS_TOO_LONG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_values_are_decoded),
		cmocka_unit_test(a_name_may_be_there_twice),
		cmocka_unit_test(an_empty_body_has_no_fields),
		cmocka_unit_test(what_is_no_form_is_refused),
		cmocka_unit_test(more_than_there_is_room_for_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
