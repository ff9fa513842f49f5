#include "policy/stack.h"

#include "policy/document.h"
#include "policy/question.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RULES(rules) "{\"version\": 1, \"rules\": [" rules "]}"
#define OPEN                                                          \
	RULES("{\"id\": \"all\", \"host\": [\"*\"], \"wide\": true, " \
	      "\"access\": \"any\"}")

static struct question question;

static struct stack *
stack_of(const char *outer, const char *inner)
{
	const char *texts[] = { outer, inner };
	const struct policy *policies[2];
	struct stack *stack;
	size_t count = 0;

	for (size_t i = 0; i < 2 && texts[i] != NULL; i++) {
		struct problems problems = { 0 };
		struct policy *policy = NULL;

		if (document_load(cursor_of_text(texts[i]), "layer", &policy,
			&problems) != STATUS_OK)
			fail_msg("%s: %s", texts[i], problems.list[0].text);
		policies[count++] = policy;
	}
	stack = stack_new(policies, count);
	assert_non_null(stack);
	for (size_t i = 0; i < count; i++)
		policy_unref(policies[i]);
	return stack;
}

static const struct facts *
ask(const char *words)
{
	struct problem problem = { 0 };

	if (question_read(cursor_of_text(words), 0, &question, &problem) !=
	    STATUS_OK)
		fail_msg("%s: %s", words, problem.text);
	return &question.facts;
}

static void
expect(const struct stack *stack, const char *words, enum verdict_kind kind,
    const char *rule)
{
	struct verdict verdict;

	stack_decide(stack, ask(words), &verdict);
	if (verdict.kind != kind)
		fail_msg("%s: %s", words, verdict_name(verdict.kind));
	if (rule == NULL)
		assert_null(verdict.rule);
	else
		assert_string_equal(rule_id(verdict.rule), rule);
}

/* P05 */
static void
a_stack_without_a_layer_denies_everything(void **state)
{
	struct stack *stack = stack_new(NULL, 0);
	struct address address;
	struct stack_settings settings;

	(void)state;
	assert_non_null(stack);
	expect(stack, "https://a.test/", VERDICT_DENY, NULL);
	expect(stack, "@name https://a.test/", VERDICT_DENY, NULL);
	assert_int_equal(address_parse("192.0.3.1", 9, &address), STATUS_OK);
	assert_false(stack_may_dial(stack, ask("https://a.test/"), &address));
	stack_settings(stack, ask("https://a.test/"), &settings);
	assert_false(settings.private_addresses);
	stack_unref(stack);
}

static void
the_strictest_layer_stands(void **state)
{
	struct stack *stack =
	    stack_of(RULES("{\"id\": \"o\", \"host\": [\"*.a.test\"], "
			   "\"access\": \"any\"},"
			   "{\"id\": \"no\", \"host\": [\"x.a.test\"], "
			   "\"path\": [\"/s/**\"], \"action\": \"deny\"}"),
		OPEN);

	(void)state;
	expect(stack, "https://b.a.test/", VERDICT_ALLOW, "all");
	expect(stack, "https://b.test/", VERDICT_DENY, NULL);
	expect(stack, "https://x.a.test/s/1", VERDICT_DENY, "no");
	expect(stack, "https://x.a.test/t", VERDICT_ALLOW, "all");
	expect(stack, "@name https://b.a.test/", VERDICT_NEED_MORE, NULL);
	expect(stack, "@hello! https://x.a.test/", VERDICT_DENY, "no");
	stack_unref(stack);
}

static void
inspect_beats_passthrough_whichever_layer_says_it(void **state)
{
	static const char pass[] =
	    RULES("{\"id\": \"p\", \"host\": [\"a.test\"], "
		  "\"access\": \"any\", \"tls\": \"passthrough\"}");
	static const char look[] =
	    RULES("{\"id\": \"i\", \"host\": [\"a.test\"], "
		  "\"access\": \"any\"}");
	struct stack *stacks[] = { stack_of(pass, look), stack_of(look, pass),
		stack_of(pass, pass) };
	struct verdict verdict;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		stack_decide(stacks[i], ask("https://a.test/"), &verdict);
		assert_int_equal(verdict.kind, VERDICT_ALLOW);
		assert_int_equal(verdict.tls,
		    i == 2 ? VERDICT_TLS_PASSTHROUGH : VERDICT_TLS_INSPECT);
		stack_decide(
		    stacks[i], ask("@hello https://a.test/"), &verdict);
		assert_int_equal(
		    verdict.kind, i == 2 ? VERDICT_ALLOW : VERDICT_NEED_MORE);
		stack_unref(stacks[i]);
	}
}

static bool
may_dial(const struct stack *stack, const char *words, const char *text)
{
	struct address address;

	if (address_parse(text, strlen(text), &address) != STATUS_OK)
		fail_msg("%s is no address", text);
	return stack_may_dial(stack, ask(words), &address);
}

static void
special_addresses_need_every_layers_word(void **state)
{
	static const char open[] =
	    RULES("{\"id\": \"a\", \"host\": [\"a.test\"], "
		  "\"private\": true}");
	static const char closed[] =
	    RULES("{\"id\": \"a\", \"host\": [\"a.test\"]}");
	static const char *const special[] = { "127.0.0.1", "::1", "10.0.0.1",
		"192.168.1.1", "169.254.1.1", "fe80::1", "fd00::1",
		"100.64.0.1", "198.18.0.1", "64:ff9b::10.0.0.1",
		"2002:a00:1::1" };
	struct stack *both = stack_of(open, open);
	struct stack *one = stack_of(open, closed);

	(void)state;
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		assert_true(may_dial(both, "https://a.test/", special[i]));
		assert_true(
		    may_dial(both, "@connect https://a.test/", special[i]));
		assert_false(may_dial(one, "https://a.test/", special[i]));
		assert_false(
		    may_dial(one, "@connect https://a.test/", special[i]));
	}
	assert_true(may_dial(one, "https://a.test/", "192.0.3.1"));
	assert_true(may_dial(one, "@connect https://a.test/", "192.0.3.1"));
	assert_false(may_dial(one, "https://b.test/", "192.0.3.1"));
	assert_false(may_dial(one, "PUT https://a.test/", "192.0.3.1"));
	stack_unref(both);
	stack_unref(one);
}

/* B09, and the clouds' metadata services. */
static void
private_is_not_enough_for_metadata_and_never_for_none(void **state)
{
	struct stack *named = stack_of(
	    RULES("{\"id\": \"a\", \"host\": [\"a.test\"], "
		  "\"private\": true},"
		  "{\"id\": \"m\", \"address\": [\"169.254.169.254\"]},"
		  "{\"id\": \"w\", \"address\": [\"0.0.0.0/0\"], "
		  "\"wide\": true, \"access\": \"any\"}"),
	    NULL);
	struct stack *unnamed =
	    stack_of(RULES("{\"id\": \"a\", \"host\": [\"a.test\"], "
			   "\"private\": true},"
			   "{\"id\": \"w\", \"address\": [\"0.0.0.0/0\"], "
			   "\"wide\": true, \"access\": \"any\"}"),
		NULL);

	(void)state;
	assert_true(may_dial(named, "http://a.test/", "169.254.169.254"));
	assert_true(
	    may_dial(named, "http://169.254.169.254/", "169.254.169.254"));
	assert_false(
	    may_dial(named, "PUT http://169.254.169.254/", "169.254.169.254"));
	assert_false(may_dial(unnamed, "http://a.test/", "169.254.169.254"));
	assert_false(may_dial(unnamed, "http://a.test/", "fd00:ec2::254"));
	assert_false(may_dial(unnamed, "http://a.test/", "100.100.100.200"));
	assert_false(may_dial(named, "http://a.test/", "0.0.0.0"));
	assert_false(may_dial(named, "http://a.test/", "::"));
	assert_false(may_dial(named, "http://a.test/", "224.0.0.1"));
	stack_unref(named);
	stack_unref(unnamed);
}

static void
a_name_is_no_way_round_a_denied_address(void **state)
{
	struct stack *stack =
	    stack_of(RULES("{\"id\": \"a\", \"host\": [\"a.test\"], "
			   "\"private\": true},"
			   "{\"id\": \"no\", \"address\": [\"10.9.0.0/16\", "
			   "\"192.0.3.0/24\"], \"action\": \"deny\"}"),
		NULL);

	(void)state;
	assert_true(may_dial(stack, "https://a.test/", "10.8.0.1"));
	assert_false(may_dial(stack, "https://a.test/", "10.9.0.1"));
	assert_false(may_dial(stack, "https://a.test/", "192.0.3.1"));
	stack_unref(stack);
}

static void
settings_come_from_the_most_specific_rule_that_may_pass(void **state)
{
	static const char pem[] = "-----BEGIN CERTIFICATE-----\n";
	struct stack *stack =
	    stack_of(RULES("{\"id\": \"s\", \"host\": [\"*.a.test\"], "
			   "\"private\": true, \"resolve\": \"10.0.0.1\"},"
			   "{\"id\": \"e\", \"host\": [\"x.a.test\"], "
			   "\"access\": \"write\", \"upstream_ca\": "
			   "\"-----BEGIN CERTIFICATE-----\\n\"}"),
		NULL);
	struct stack_settings settings;

	(void)state;
	stack_settings(stack, ask("@connect https://y.a.test/"), &settings);
	assert_true(settings.private_addresses);
	assert_non_null(settings.resolve);
	assert_null(settings.upstream_ca);
	stack_settings(stack, ask("@connect https://x.a.test/"), &settings);
	assert_false(settings.private_addresses);
	assert_null(settings.resolve);
	assert_string_equal(settings.upstream_ca, pem);
	assert_true(may_dial(stack, "https://y.a.test/", "10.0.0.1"));
	assert_false(may_dial(stack, "https://x.a.test/", "10.0.0.1"));
	stack_unref(stack);
}

/* What a connection carries is known later: any rule of its host counts. */
static void
a_connection_may_be_lent_what_a_rule_of_its_host_names(void **state)
{
	struct stack *stack =
	    stack_of(RULES("{\"id\": \"p\", \"host\": [\"a.test\"]},"
			   "{\"id\": \"c\", \"host\": [\"a.test\"], "
			   "\"path\": [\"/x/**\"], \"credential\": \"k\"},"
			   "{\"id\": \"s\", \"host\": [\"b.test\"]}"),
		NULL);
	struct stack_settings settings;

	(void)state;
	stack_settings(stack, ask("@connect https://a.test/"), &settings);
	assert_true(settings.may_lend);
	stack_settings(stack, ask("@connect https://b.test/"), &settings);
	assert_false(settings.may_lend);
	stack_unref(stack);
}

static void
an_address_to_use_needs_no_other_word(void **state)
{
	struct stack *stack =
	    stack_of(RULES("{\"id\": \"a\", \"host\": [\"a.test\"], "
			   "\"resolve\": \"127.0.0.1\"}"),
		NULL);

	(void)state;
	assert_true(may_dial(stack, "https://a.test/", "127.0.0.1"));
	assert_false(may_dial(stack, "https://a.test/", "127.0.0.2"));
	stack_unref(stack);
	/* Nobody opens an address alone that another layer keeps shut. */
	stack = stack_of(RULES("{\"id\": \"o\", \"host\": [\"a.test\"]}"),
	    RULES("{\"id\": \"a\", \"host\": [\"a.test\"], "
		  "\"resolve\": \"127.0.0.1\"}"));
	assert_false(may_dial(stack, "https://a.test/", "127.0.0.1"));
	stack_unref(stack);
	stack = stack_of(RULES("{\"id\": \"a\", \"host\": [\"a.test\"], "
			       "\"resolve\": \"169.254.169.254\"}"),
	    NULL);
	assert_false(may_dial(stack, "https://a.test/", "169.254.169.254"));
	stack_unref(stack);
}

static void
ports_are_those_that_some_rule_opens(void **state)
{
	struct stack *stack =
	    stack_of(RULES("{\"id\": \"a\", \"host\": [\"a.test\"]},"
			   "{\"id\": \"b\", \"host\": [\"b.test\"], "
			   "\"port\": [\"8000-8002\", 443]},"
			   "{\"id\": \"no\", \"host\": [\"c.test\"], "
			   "\"port\": [9], \"action\": \"deny\"}"),
		RULES("{\"id\": \"s\", \"host\": [\"s.test\"], "
		      "\"protocol\": \"ssh\"}"));
	static const uint16_t expected[] = { 22, 80, 443, 8000, 8001, 8002 };
	uint16_t ports[8];

	(void)state;
	assert_int_equal(stack_ports(stack, ports, 8), 6);
	assert_memory_equal(ports, expected, sizeof(expected));
	assert_int_equal(stack_ports(stack, ports, 3), 3);
	stack_unref(stack);
}

static void
a_stack_lives_as_long_as_its_last_reference(void **state)
{
	struct stack *stack = stack_of(OPEN, NULL);

	(void)state;
	assert_ptr_equal(stack_ref(stack), stack);
	stack_unref(stack);
	assert_int_equal(stack_count(stack), 1);
	assert_string_equal(policy_name(stack_layer(stack, 0)), "layer");
	expect(stack, "https://a.test/", VERDICT_ALLOW, "all");
	stack_unref(stack);
	stack_unref(NULL);
}

#define CREDENTIAL(id, rest)                                              \
	RULES("{\"id\": \"" id "\", \"host\": [\"a.test\"], \"access\": " \
	      "\"write\"" rest "}")

static void
the_innermost_layer_that_names_a_credential_supplies_it(void **state)
{
	static const struct {
		const char *outer, *inner, *rule;
	} cases[] = {
		{ CREDENTIAL("o", ""), CREDENTIAL("i", ""), NULL },
		{ CREDENTIAL("o", ", \"credential\": \"x\""),
		    CREDENTIAL("i", ""), "o" },
		{ CREDENTIAL("o", ", \"credential\": \"x\""),
		    CREDENTIAL("i", ", \"credential\": \"y\""), "i" },
		{ CREDENTIAL("o", ", \"credential\": \"x\""),
		    CREDENTIAL("i", ", \"action\": \"ask\""), "o" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stack *stack = stack_of(cases[i].outer, cases[i].inner);
		struct verdict verdict;
		const struct rule *rule;

		stack_decide(stack, ask("POST https://a.test/"), &verdict);
		rule = verdict_credential(&verdict);
		if (cases[i].rule == NULL)
			assert_null(rule);
		else
			assert_string_equal(rule_id(rule), cases[i].rule);
		stack_decide(stack, ask("POST https://b.test/"), &verdict);
		assert_null(verdict_credential(&verdict));
		stack_unref(stack);
	}
}

static void
every_layer_has_its_rule_and_its_limits(void **state)
{
	struct stack *stack = stack_of(
	    CREDENTIAL("o", ", \"limits\": {\"connections\": 3}"),
	    "{\"version\": 1, \"limits\": {\"bytes_in\": 9}, \"rules\": ["
	    "{\"id\": \"i\", \"host\": [\"a.test\"], \"log\": [\"mcp\"]}]}");
	struct verdict verdict;

	(void)state;
	stack_decide(stack, ask("https://a.test/"), &verdict);
	assert_int_equal(verdict.opener_count, 2);
	assert_string_equal(rule_id(verdict.openers[0]), "o");
	assert_int_equal(verdict.openers[0]->quota.most[QUOTA_CONNECTIONS], 3);
	assert_string_equal(rule_id(verdict.openers[1]), "i");
	assert_false(quota_is_stated(policy_quota(stack_layer(stack, 0))));
	assert_int_equal(
	    policy_quota(stack_layer(stack, 1))->most[QUOTA_BYTES_IN], 9);
	assert_true(verdict_logs_mcp(&verdict));
	stack_decide(stack, ask("POST https://a.test/"), &verdict);
	assert_int_equal(verdict.kind, VERDICT_DENY);
	assert_int_equal(verdict.opener_count, 0);
	assert_false(verdict_logs_mcp(&verdict));
	stack_unref(stack);
}

/* Who could find out more learns what would help. */
static void
a_verdict_says_what_is_not_known_and_could_matter(void **state)
{
	struct stack *stack =
	    stack_of(CREDENTIAL("o", ", \"mcp\": {\"tools\": [\"r*\"]}"),
		CREDENTIAL("i", ", \"exe\": [\"/bin/a\"]"));
	struct verdict verdict;

	(void)state;
	stack_decide(stack, ask("@request POST https://a.test/"), &verdict);
	assert_int_equal(verdict.kind, VERDICT_NEED_MORE);
	assert_int_equal(verdict.unknown, 1U << TERM_MCP | 1U << TERM_EXE);
	stack_decide(
	    stack, ask("@request POST https://a.test/ exe=/bin/a"), &verdict);
	assert_int_equal(verdict.unknown, 1U << TERM_MCP);
	stack_decide(
	    stack, ask("@request POST https://a.test/ exe=/bin/b"), &verdict);
	assert_int_equal(verdict.kind, VERDICT_DENY);
	stack_decide(stack,
	    ask("@request POST https://a.test/ exe=/bin/a "
		"mcp=tools/call tool=rx"),
	    &verdict);
	assert_int_equal(verdict.kind, VERDICT_ALLOW);
	assert_int_equal(verdict.unknown, 0);
	stack_unref(stack);
}

static void
expect_watched(const struct stack *stack, const char *words,
    enum verdict_kind kind, enum verdict_tls tls, enum reason reason)
{
	struct verdict verdict;

	stack_decide(stack, ask(words), &verdict);
	if (verdict.kind != kind || verdict.tls != tls ||
	    verdict.reason != reason ||
	    verdict.would_deny != (reason != REASON_NONE))
		fail_msg("%s: %s, %s", words, verdict_name(verdict.kind),
		    reason_id(verdict.reason));
}

static void
an_observing_stack_refuses_nothing_and_says_what_it_would(void **state)
{
	struct stack *stack = stack_of(
	    RULES("{\"id\": \"r\", \"host\": [\"a.test\"]},"
		  "{\"id\": \"q\", \"host\": [\"a.test\"], \"path\": "
		  "[\"/q\"], \"methods\": [\"PUT\"], \"action\": \"ask\"}"),
	    NULL);

	(void)state;
	stack_observe(stack);
	expect_watched(stack, "https://a.test/", VERDICT_ALLOW,
	    VERDICT_TLS_INSPECT, REASON_NONE);
	expect_watched(stack, "POST https://a.test/", VERDICT_ALLOW,
	    VERDICT_TLS_INSPECT, REASON_METHOD);
	expect_watched(stack, "PUT https://a.test/q", VERDICT_ALLOW,
	    VERDICT_TLS_INSPECT, REASON_APPROVAL_NEEDED);
	expect_watched(stack, "@name https://b.test/", VERDICT_ALLOW,
	    VERDICT_TLS_PASSTHROUGH, REASON_NO_RULE);
	/* Its requests are still to be seen. */
	expect_watched(stack, "@connect https://b.test/", VERDICT_NEED_MORE,
	    VERDICT_TLS_INSPECT, REASON_NO_RULE);
	expect_watched(stack, "@hello https://b.test/", VERDICT_NEED_MORE,
	    VERDICT_TLS_INSPECT, REASON_NO_RULE);
	expect_watched(stack, "@connect https://a.test/", VERDICT_NEED_MORE,
	    VERDICT_TLS_INSPECT, REASON_NONE);
	expect_watched(stack, "tcp://b.test:25", VERDICT_ALLOW,
	    VERDICT_TLS_PASSTHROUGH, REASON_NO_RULE);
	stack_unref(stack);
}

static void
may_dial_is(
    const struct stack *stack, const char *words, const char *text, bool may)
{
	struct address address;

	assert_int_equal(
	    address_parse(text, strlen(text), &address), STATUS_OK);
	if (stack_may_dial(stack, ask(words), &address) != may)
		fail_msg("%s at %s", words, text);
}

static void
an_observing_stack_opens_no_special_address(void **state)
{
	struct stack *stack =
	    stack_of(RULES("{\"id\": \"in\", \"host\": [\"in.test\"], "
			   "\"private\": true},"
			   "{\"id\": \"out\", \"host\": [\"out.test\"]},"
			   "{\"id\": \"no\", \"address\": [\"192.0.3.0/24\"], "
			   "\"action\": \"deny\"}"),
		NULL);

	(void)state;
	stack_observe(stack);
	may_dial_is(stack, "https://in.test/", "10.0.0.1", true);
	may_dial_is(stack, "POST https://in.test/", "10.0.0.1", true);
	may_dial_is(stack, "POST https://in.test:8443/", "10.0.0.1", false);
	may_dial_is(stack, "https://in.test/", "169.254.169.254", false);
	may_dial_is(stack, "https://in.test/", "0.0.0.0", false);
	may_dial_is(stack, "https://out.test/", "10.0.0.1", false);
	may_dial_is(stack, "https://other.test/", "10.0.0.1", false);
	may_dial_is(stack, "https://other.test/", "192.0.3.1", true);
	may_dial_is(
	    stack, "https://169.254.169.254/", "169.254.169.254", false);
	may_dial_is(stack, "https://10.0.0.1/", "10.0.0.1", false);
	stack_unref(stack);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_without_a_layer_denies_everything),
		cmocka_unit_test(the_strictest_layer_stands),
		cmocka_unit_test(
		    inspect_beats_passthrough_whichever_layer_says_it),
		cmocka_unit_test(special_addresses_need_every_layers_word),
		cmocka_unit_test(
		    private_is_not_enough_for_metadata_and_never_for_none),
		cmocka_unit_test(a_name_is_no_way_round_a_denied_address),
		cmocka_unit_test(
		    settings_come_from_the_most_specific_rule_that_may_pass),
		cmocka_unit_test(
		    a_connection_may_be_lent_what_a_rule_of_its_host_names),
		cmocka_unit_test(an_address_to_use_needs_no_other_word),
		cmocka_unit_test(ports_are_those_that_some_rule_opens),
		cmocka_unit_test(a_stack_lives_as_long_as_its_last_reference),
		cmocka_unit_test(
		    the_innermost_layer_that_names_a_credential_supplies_it),
		cmocka_unit_test(every_layer_has_its_rule_and_its_limits),
		cmocka_unit_test(
		    a_verdict_says_what_is_not_known_and_could_matter),
		cmocka_unit_test(
		    an_observing_stack_refuses_nothing_and_says_what_it_would),
		cmocka_unit_test(an_observing_stack_opens_no_special_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
