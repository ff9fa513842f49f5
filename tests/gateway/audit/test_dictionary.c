#include "gateway/audit/dictionary.h"

#include "schema/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>

static struct cursor
key_of(const char *text)
{
	return cursor_of_text(text);
}

static void
string_is_found_in_its_own_table_only(void **state)
{
	struct dictionary *dictionary = dictionary_new();

	(void)state;
	assert_non_null(dictionary);
	dictionary_add(dictionary, DICTIONARY_DST, key_of("a.test"), 7);
	dictionary_add(dictionary, DICTIONARY_CRED, key_of("a.test"), 8);
	assert_int_equal(
	    dictionary_find(dictionary, DICTIONARY_DST, key_of("a.test")), 7);
	assert_int_equal(
	    dictionary_find(dictionary, DICTIONARY_CRED, key_of("a.test")), 8);
	assert_int_equal(
	    dictionary_find(dictionary, DICTIONARY_RULE, key_of("a.test")), 0);
	assert_int_equal(
	    dictionary_find(dictionary, DICTIONARY_DST, key_of("a.tes")), 0);
	dictionary_free(dictionary);
}

static void
what_a_transaction_added_is_forgotten_with_it(void **state)
{
	struct dictionary *dictionary = dictionary_new();

	(void)state;
	assert_non_null(dictionary);
	dictionary_begin(dictionary);
	dictionary_add(dictionary, DICTIONARY_DST, key_of("kept.test"), 1);
	dictionary_begin(dictionary);
	dictionary_add(dictionary, DICTIONARY_DST, key_of("a.test"), 2);
	dictionary_add(dictionary, DICTIONARY_DST, key_of("b.test"), 3);
	dictionary_forget(dictionary);
	assert_int_equal(
	    dictionary_find(dictionary, DICTIONARY_DST, key_of("a.test")), 0);
	assert_int_equal(
	    dictionary_find(dictionary, DICTIONARY_DST, key_of("b.test")), 0);
	assert_int_equal(
	    dictionary_find(dictionary, DICTIONARY_DST, key_of("kept.test")),
	    1);
	dictionary_free(dictionary);
}

/* B26: a sandbox that asks for ever new names costs bounded memory. */
static void
full_dictionary_starts_anew_at_the_next_transaction(void **state)
{
	struct dictionary *dictionary = dictionary_new();
	char name[32];

	(void)state;
	assert_non_null(dictionary);
	dictionary_begin(dictionary);
	for (int i = 1; i <= LIMIT_AUDIT_STRINGS; i++) {
		(void)snprintf(name, sizeof(name), "%d.test", i);
		dictionary_add(dictionary, DICTIONARY_DST, key_of(name), i);
	}
	assert_int_equal(
	    dictionary_find(dictionary, DICTIONARY_DST, key_of("1.test")), 1);
	dictionary_begin(dictionary);
	assert_int_equal(
	    dictionary_find(dictionary, DICTIONARY_DST, key_of("1.test")), 0);
	dictionary_forget(dictionary);
	dictionary_free(dictionary);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(string_is_found_in_its_own_table_only),
		cmocka_unit_test(what_a_transaction_added_is_forgotten_with_it),
		cmocka_unit_test(
		    full_dictionary_starts_anew_at_the_next_transaction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
