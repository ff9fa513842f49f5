#include "gateway/tls/alpn.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const both[] = { "h2", "http/1.1", NULL };

static void
names_become_a_list_with_lengths(void **state)
{
	unsigned char bytes[32];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(alpn_write(both, &out), STATUS_OK);
	assert_int_equal(out.used, 12);
	assert_memory_equal(bytes, "\2h2\10http/1.1", 12);
}

static void
list_that_does_not_fit_is_refused(void **state)
{
	static const char *const empty[] = { "", NULL };
	unsigned char bytes[11];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(alpn_write(both, &out), STATUS_TOO_LONG);
	out = cursor_writer_of(bytes, sizeof(bytes));
	assert_int_equal(alpn_write(empty, &out), STATUS_TOO_LONG);
}

static void
first_of_ours_that_the_peer_has_is_chosen(void **state)
{
	struct cursor chosen = cursor_of_text("untouched");

	(void)state;
	assert_int_equal(
	    alpn_choose(both, cursor_of_text("\10http/1.1\2h2"), &chosen),
	    STATUS_OK);
	assert_true(cursor_equals(chosen, "h2"));
	assert_int_equal(
	    alpn_choose(both, cursor_of_text("\3foo\10http/1.1"), &chosen),
	    STATUS_OK);
	assert_true(cursor_equals(chosen, "http/1.1"));
	assert_int_equal(
	    alpn_choose(both, cursor_of_text("\3foo\2h3"), &chosen),
	    STATUS_NOT_FOUND);
	assert_true(cursor_equals(chosen, "http/1.1"));
}

/* Whatever stands in front of the fault. */
static void
malformed_list_is_refused(void **state)
{
	const char *const lists[] = { "\2h2\11http/1.1", "\2h2\1", "\377h2" };
	struct cursor chosen;

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		assert_int_equal(
		    alpn_choose(both, cursor_of_text(lists[i]), &chosen),
		    STATUS_MALFORMED);
	assert_int_equal(alpn_choose(both, cursor_of("\2h2\0", 4), &chosen),
	    STATUS_MALFORMED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_become_a_list_with_lengths),
		cmocka_unit_test(list_that_does_not_fit_is_refused),
		cmocka_unit_test(first_of_ours_that_the_peer_has_is_chosen),
		cmocka_unit_test(malformed_list_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
