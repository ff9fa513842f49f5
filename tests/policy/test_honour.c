#include "policy/honour.h"

#include "policy/document.h"
#include "policy/policy.h"
#include "policy/rule.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct policy *
load(const char *text)
{
	struct problems problems = { 0 };
	struct policy *policy = NULL;

	if (document_load(cursor_of_text(text), "test", &policy, &problems) !=
	    STATUS_OK)
		fail_msg("%s: %s", text, problems.list[0].text);
	return policy;
}

static void
a_plain_policy_has_no_gap(void **state)
{
	struct policy *policy =
	    load("{\"version\": 1, \"rules\": [{\"id\": \"a\", \"host\": "
		 "[\"a.test\"], \"private\": true}]}");
	struct honour_gap gap;

	(void)state;
	assert_false(honour_find_gap(policy, &gap));
	policy_unref(policy);
}

static void
questions_for_names_are_left_to_us(void **state)
{
#define UDP(port)                                          \
	"{\"version\": 1, \"rules\": [{\"id\": \"time\", " \
	"\"host\": [\"a.test\"], \"port\": [" port "], \"protocol\": \"udp\""
	struct policy *names = load(UDP("53") "}]}");
	struct policy *allows = load(UDP("53, 123") "}]}");
	struct policy *denies = load(UDP("53") ", \"action\": \"deny\"}]}");
	struct honour_gap gap;

	(void)state;
	assert_true(honour_find_gap(names, &gap));
	assert_string_equal(gap.key, "port");
	assert_string_equal(rule_id(gap.rule), "time");
	assert_false(honour_find_gap(allows, &gap));
	assert_false(honour_find_gap(denies, &gap));
	policy_unref(names);
	policy_unref(allows);
	policy_unref(denies);
}

static bool
knows(const char *credential, void *arg)
{
	(void)arg;
	return strcmp(credential, "known") == 0;
}

static void
a_credential_that_nobody_has_is_found(void **state)
{
	struct policy *policy =
	    load("{\"version\": 1, \"rules\": ["
		 "{\"id\": \"none\", \"host\": [\"a.test\"]},"
		 "{\"id\": \"one\", \"host\": [\"b.test\"], "
		 "\"credential\": \"known\"},"
		 "{\"id\": \"other\", \"host\": [\"c.test\"], "
		 "\"credential\": \"strange\"}]}");
	struct policy *well = load("{\"version\": 1, \"rules\": ["
				   "{\"id\": \"one\", \"host\": [\"b.test\"], "
				   "\"credential\": \"known\"}]}");

	(void)state;
	assert_string_equal(
	    rule_id(honour_find_stranger(policy, knows, NULL)), "other");
	assert_null(honour_find_stranger(well, knows, NULL));
	policy_unref(policy);
	policy_unref(well);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_policy_has_no_gap),
		cmocka_unit_test(questions_for_names_are_left_to_us),
		cmocka_unit_test(a_credential_that_nobody_has_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
