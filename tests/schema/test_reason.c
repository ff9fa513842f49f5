#include "schema/reason.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void
ids_and_numbers_are_unique_and_in_order(void **state)
{
	size_t count;
	const struct reason_entry *entries = reason_entries(&count);

	(void)state;
	assert_in_range(count, 20, 255);
	for (size_t i = 1; i < count; i++) {
		assert_true(entries[i].reason > entries[i - 1].reason);
		for (size_t other = 0; other < i; other++)
			assert_string_not_equal(
			    entries[i].id, entries[other].id);
	}
}

/* What programs are told has to stay what it is. */
static void
every_reason_has_an_answer_on_each_protocol(void **state)
{
	size_t count;
	const struct reason_entry *entries = reason_entries(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		const struct reason_entry *entry = &entries[i];

		assert_true(strlen(entry->title) > 0);
		assert_int_equal(
		    strspn(entry->id, "abcdefghijklmnopqrstuvwxyz_"),
		    strlen(entry->id));
		assert_in_range(entry->http_status, 400, 599);
		/* RFC 8914 registers codes up to here. */
		assert_in_range(entry->ede, 0, 30);
		assert_in_range(entry->tls_alert, 1, 120);
		assert_true(entry->fault < FAULT_COUNT);
		assert_non_null(reason_fault_name(entry->fault));
		assert_true(reason_is_known(entry->reason));
		assert_ptr_equal(reason_entry(entry->reason), entry);
		assert_ptr_equal(reason_id(entry->reason), entry->id);
	}
}

/* D02: a name that no rule allows is told as policy, not as an outage. */
static void
a_policy_refusal_is_403_and_prohibited(void **state)
{
	const struct reason_entry *entry = reason_entry(REASON_NO_RULE);

	(void)state;
	assert_string_equal(entry->id, "no_rule");
	assert_int_equal(entry->http_status, 403);
	assert_int_equal(entry->ede, 18);
	assert_int_equal(entry->tls_alert, 49);
	assert_int_equal(entry->fault, FAULT_POLICY);
}

static void
a_number_that_is_no_reason_gives_none(void **state)
{
	(void)state;
	assert_false(reason_is_known(9));
	assert_false(reason_is_known(250));
	assert_string_equal(reason_id((enum reason)250), "none");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_and_numbers_are_unique_and_in_order),
		cmocka_unit_test(every_reason_has_an_answer_on_each_protocol),
		cmocka_unit_test(a_policy_refusal_is_403_and_prohibited),
		cmocka_unit_test(a_number_that_is_no_reason_gives_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
