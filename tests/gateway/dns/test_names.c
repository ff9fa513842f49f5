#include "gateway/dns/names.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct hostname
name_of(unsigned number)
{
	struct hostname name;
	char text[32];
	int length = snprintf(text, sizeof(text), "n%u.example.test", number);

	assert_in_range(length, 1, sizeof(text) - 1);
	assert_int_equal(
	    hostname_parse(text, (size_t)length, &name), STATUS_OK);
	return name;
}

static void
same_name_keeps_its_addresses_and_they_lead_back(void **state)
{
	struct names *names = names_new();
	struct hostname name = name_of(1);
	struct name_addresses first, again;
	bool is_new;

	(void)state;
	assert_non_null(names);
	assert_int_equal(names_give(names, &name, &first, &is_new), STATUS_OK);
	assert_true(is_new);
	assert_int_equal(names_give(names, &name, &again, &is_new), STATUS_OK);
	assert_false(is_new);
	assert_true(address_equals(&first.v4, &again.v4));
	assert_true(address_equals(&first.v6, &again.v6));
	assert_true(hostname_equals(names_find(names, &first.v4), &name));
	assert_true(hostname_equals(names_find(names, &first.v6), &name));
	names_free(names);
}

static void
address_that_was_not_given_has_no_name(void **state)
{
	static const char *const texts[] = { "198.18.0.1", "198.18.1.1",
		"198.19.255.255", "fd65:7865:6174::1:0",
		"fd65:7865:6174:1::100", "192.0.2.1", "::ffff:198.18.1.7" };
	struct names *names = names_new();
	struct hostname name = name_of(7);
	struct name_addresses given;
	bool is_new;

	(void)state;
	assert_int_equal(names_give(names, &name, &given, &is_new), STATUS_OK);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct address address;

		assert_int_equal(
		    address_parse(texts[i], strlen(texts[i]), &address),
		    STATUS_OK);
		assert_null(names_find(names, &address));
	}
	names_free(names);
}

static void
every_name_has_its_own_address_until_none_is_left(void **state)
{
	struct names *names = names_new();
	struct name_addresses given;
	bool is_new;

	(void)state;
	for (unsigned i = 0; i < LIMIT_NAMES; i++) {
		struct hostname name = name_of(i);

		assert_int_equal(
		    names_give(names, &name, &given, &is_new), STATUS_OK);
		assert_true(is_new);
		assert_true(names_is_synthetic(&given.v4));
		assert_true(names_is_synthetic(&given.v6));
		assert_true(
		    hostname_equals(names_find(names, &given.v4), &name));
		assert_true(
		    hostname_equals(names_find(names, &given.v6), &name));
	}
	for (unsigned i = LIMIT_NAMES; i < LIMIT_NAMES + 3; i++) {
		struct hostname name = name_of(i);

		assert_int_equal(
		    names_give(names, &name, &given, &is_new), STATUS_FULL);
	}
	assert_int_equal(names_count(names), LIMIT_NAMES);
	names_free(names);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    same_name_keeps_its_addresses_and_they_lead_back),
		cmocka_unit_test(address_that_was_not_given_has_no_name),
		cmocka_unit_test(
		    every_name_has_its_own_address_until_none_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
