#include "broker/fetch/endpoints.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int
add(struct endpoints *endpoints, const char *url)
{
	struct errand_endpoint endpoint = { .roots = { .left = 0 } };

	assert_in_range(snprintf(endpoint.url, sizeof(endpoint.url), "%s", url),
	    0, LIMIT_ERRAND_URL);
	return endpoints_add(endpoints, &endpoint);
}

static void
an_endpoint_is_there_once_the_list_is_sealed(void **state)
{
	static struct endpoints list;

	(void)state;
	assert_int_equal(
	    add(&list, "https://login.example.com/oauth2/token?v=2"),
	    STATUS_OK);
	assert_int_equal(add(&list, "https://127.0.0.1:8443"), STATUS_OK);
	assert_null(endpoints_at(&list, 0));
	endpoints_seal(&list);
	assert_string_equal(
	    endpoints_at(&list, 0)->authority.name.text, "login.example.com");
	assert_int_equal(endpoints_at(&list, 0)->authority.port, 443);
	assert_int_equal(endpoints_at(&list, 1)->authority.port, 8443);
	assert_null(endpoints_at(&list, 2));
	assert_int_equal(add(&list, "https://example.com/"), STATUS_REFUSED);
	endpoints_done(&list);
}

static void
what_is_not_plain_https_is_refused(void **state)
{
	static const char *const bad[] = { "", "http://example.com/",
		"HTTPS://example.com/", "https://", "https:///path",
		"https://user@example.com/", "https://example.com:0x50/",
		"https://example.com?q", "https://example.com/#part",
		"https://example.com/a b", "https://example.com/\r\nHost: a",
		"https://exa mple.com/", "file:///etc/passwd" };
	static struct endpoints list;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (add(&list, bad[i]) != STATUS_MALFORMED)
			fail_msg("accepted: %s", bad[i]);
	assert_int_equal(list.count, 0);
}

static void
a_full_list_takes_no_more(void **state)
{
	static struct endpoints list;

	(void)state;
	for (size_t i = 0; i < LIMIT_ERRAND_ENDPOINTS; i++)
		assert_int_equal(add(&list, "https://example.com/"), STATUS_OK);
	assert_int_equal(add(&list, "https://example.com/"), STATUS_FULL);
	endpoints_done(&list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_endpoint_is_there_once_the_list_is_sealed),
		cmocka_unit_test(what_is_not_plain_https_is_refused),
		cmocka_unit_test(a_full_list_takes_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
