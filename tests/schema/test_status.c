#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void
every_status_has_a_word_and_others_are_unknown(void **state)
{
	(void)state;
	for (int status = 0; status > -STATUS_COUNT; status--)
		assert_string_not_equal(status_name(status), "unknown");
	assert_string_equal(status_name(STATUS_OK), "ok");
	assert_string_equal(status_name(1), "unknown");
	assert_string_equal(status_name(-STATUS_COUNT), "unknown");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    every_status_has_a_word_and_others_are_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
