/* The proof of a WebSocket handshake, with the example of RFC 6455. */
#include "gateway/flow/upgrade.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void
the_example_of_the_rfc_is_proven(void **state)
{
	static const char key[] = "dGhlIHNhbXBsZSBub25jZQ==";

	(void)state;
	assert_true(upgrade_is_proven(
	    key, cursor_of_text("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")));
	assert_false(upgrade_is_proven(
	    key, cursor_of_text("s3pPLMBiTxaQ9kYGzzhZRbK+xOo")));
	assert_false(upgrade_is_proven(
	    key, cursor_of_text("t3pPLMBiTxaQ9kYGzzhZRbK+xOo=")));
	assert_false(upgrade_is_proven(key, cursor_of_text("")));
}

static void
keys_are_whole_and_differ(void **state)
{
	char first[UPGRADE_KEY], second[UPGRADE_KEY];

	(void)state;
	assert_int_equal(upgrade_key(first), STATUS_OK);
	assert_int_equal(upgrade_key(second), STATUS_OK);
	assert_int_equal(strlen(first), UPGRADE_KEY - 1);
	assert_string_not_equal(first, second);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_of_the_rfc_is_proven),
		cmocka_unit_test(keys_are_whole_and_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
