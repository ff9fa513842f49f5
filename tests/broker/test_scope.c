#include "broker/scope.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void
a_host_is_admitted_at_its_usual_port_only(void **state)
{
	struct scope scope = { .count = 0 };

	(void)state;
	assert_int_equal(scope_add(&scope, "API.example.com."), STATUS_OK);
	assert_true(scope_admits(&scope, "api.example.com", 443, true));
	assert_true(scope_admits(&scope, "api.example.com", 80, false));
	assert_false(scope_admits(&scope, "api.example.com", 80, true));
	assert_false(scope_admits(&scope, "api.example.com", 8443, true));
	assert_false(scope_admits(&scope, "xapi.example.com", 443, true));
	assert_false(scope_admits(&scope, "a.api.example.com", 443, true));
	scope_done(&scope);
}

static void
a_port_stands_for_itself(void **state)
{
	struct scope scope = { .count = 0 };

	(void)state;
	assert_int_equal(scope_add(&scope, "localhost:8443"), STATUS_OK);
	assert_int_equal(scope_add(&scope, "[2001:DB8::1]:99"), STATUS_OK);
	assert_int_equal(scope_add(&scope, "192.0.2.1"), STATUS_OK);
	assert_true(scope_admits(&scope, "localhost", 8443, true));
	assert_true(scope_admits(&scope, "localhost", 8443, false));
	assert_false(scope_admits(&scope, "localhost", 443, true));
	assert_true(scope_admits(&scope, "2001:db8::1", 99, true));
	assert_true(scope_admits(&scope, "192.0.2.1", 443, true));
	scope_done(&scope);
}

static void
a_wildcard_is_below_and_not_itself(void **state)
{
	struct scope scope = { .count = 0 };

	(void)state;
	assert_int_equal(scope_add(&scope, "*.example.com"), STATUS_OK);
	assert_true(scope_admits(&scope, "a.example.com", 443, true));
	assert_true(scope_admits(&scope, "a.b.example.com", 443, true));
	assert_false(scope_admits(&scope, "example.com", 443, true));
	assert_false(scope_admits(&scope, "aexample.com", 443, true));
	assert_false(scope_admits(&scope, ".example.com", 443, true));
	scope_done(&scope);
}

static void
what_is_no_host_is_refused(void **state)
{
	static const char *const bad[] = { "", "*", "*.", "a b", "a:0", "a:x",
		"a:70000", "a:1:2", "[::1", "*.192.0.2.1", "127.1", "0x7f.1",
		"https://a", "a/b", "*.*.a" };
	struct scope scope = { .count = 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(scope_add(&scope, bad[i]), STATUS_MALFORMED);
	assert_false(scope_admits(&scope, "", 443, true));
	scope_done(&scope);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_is_admitted_at_its_usual_port_only),
		cmocka_unit_test(a_port_stands_for_itself),
		cmocka_unit_test(a_wildcard_is_below_and_not_itself),
		cmocka_unit_test(what_is_no_host_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
