/* Tests of gateway/launch/environment. */
#include "gateway/launch/environment.h"
#include "gateway/launch/plan.h"
#include "gateway/launch/plan_parse.h"
#include "gateway/launch/trust.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void
build(const char *env, struct environment *ret)
{
	char text[512];
	struct plan plan;

	assert_true(snprintf(text, sizeof(text),
			"{\"version\":1,\"run\":\"r\",\"command\":[\"a\"],"
			"\"env\":{%s}}",
			env) > 0);
	assert_int_equal(
	    plan_parse(text, strlen(text), &plan, NULL), STATUS_OK);
	assert_int_equal(environment_build(&plan, ret), STATUS_OK);
	plan_done(&plan);
}

static void
a_user_and_a_path_are_there(void **state)
{
	struct environment environment;

	(void)state;
	build("", &environment);
	assert_string_equal(
	    environment_get(&environment, "HOME"), "/home/agent");
	assert_string_equal(environment_get(&environment, "USER"), "agent");
	assert_string_equal(environment_get(&environment, "LOGNAME"), "agent");
	assert_non_null(environment_get(&environment, "SHELL"));
	assert_non_null(
	    strstr(environment_get(&environment, "PATH"), "/usr/bin"));
	environment_done(&environment);
}

/* T07: everybody asks another variable. */
static void
every_tool_is_told_where_the_bundle_is(void **state)
{
	static const char *const names[] = { "SSL_CERT_FILE", "CURL_CA_BUNDLE",
		"REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO",
		"NODE_EXTRA_CA_CERTS", "npm_config_cafile", "CARGO_HTTP_CAINFO",
		"AWS_CA_BUNDLE", "DENO_CERT" };
	struct environment environment;

	(void)state;
	build("", &environment);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(
		    environment_get(&environment, names[i]), TRUST_BUNDLE);
	assert_string_equal(
	    environment_get(&environment, "SSL_CERT_DIR"), TRUST_DIRECTORY);
	assert_non_null(environment_get(&environment, "UV_NATIVE_TLS"));
	environment_done(&environment);
}

static void
what_the_plan_names_stays(void **state)
{
	struct environment environment;

	(void)state;
	build("\"PATH\":\"/x\",\"HOME\":\"/h\",\"SSL_CERT_FILE\":\"/c\"",
	    &environment);
	assert_string_equal(environment_get(&environment, "PATH"), "/x");
	assert_string_equal(environment_get(&environment, "HOME"), "/h");
	assert_string_equal(
	    environment_get(&environment, "SSL_CERT_FILE"), "/c");
	environment_done(&environment);
}

/* L34: nothing of the launcher's own environment. */
static void
nothing_is_inherited(void **state)
{
	struct environment environment;

	(void)state;
	assert_int_equal(setenv("EXEAT_TEST_SECRET", "x", 1), 0);
	build("", &environment);
	assert_null(environment_get(&environment, "EXEAT_TEST_SECRET"));
	environment_done(&environment);
}

static void
no_proxy_variable_passes(void **state)
{
	struct environment environment;

	(void)state;
	build("\"http_proxy\":\"a\",\"HTTPS_PROXY\":\"b\",\"All_Proxy\":\"c\","
	      "\"NPM_CONFIG_PROXY\":\"d\",\"PROXY\":\"e\"",
	    &environment);
	assert_null(environment_get(&environment, "http_proxy"));
	assert_null(environment_get(&environment, "HTTPS_PROXY"));
	assert_null(environment_get(&environment, "All_Proxy"));
	assert_null(environment_get(&environment, "NPM_CONFIG_PROXY"));
	assert_string_equal(environment_get(&environment, "PROXY"), "e");
	environment_done(&environment);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_and_a_path_are_there),
		cmocka_unit_test(every_tool_is_told_where_the_bundle_is),
		cmocka_unit_test(what_the_plan_names_stays),
		cmocka_unit_test(nothing_is_inherited),
		cmocka_unit_test(no_proxy_variable_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
