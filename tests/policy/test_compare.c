/*
 * What compare finds is real, and where it finds nothing there is nothing:
 * by hand for each thing that a rule can ask, at random for all together.
 */
#include "policy/compare.h"

#include "policy/document.h"
#include "policy/stack.h"
#include "schema/status.h"
#include "tests/policy/drafts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NOW_US INT64_C(1780315200000000)
#define FOUND_MAX 50

static unsigned cases;

struct found {
	size_t count, unconfirmed, undecided;
	size_t settings, doubtful; /* where one is sent, or with what */
	enum compare_kind kind; /* of the last one */
	char witness[2000];
};

static bool
on_difference(const struct compare_difference *difference, void *arg)
{
	struct found *found = arg;

	found->count++;
	found->kind = difference->kind;
	if (difference->kind == COMPARE_UNDECIDED)
		found->undecided++;
	else if (difference->kind <= COMPARE_ASKS)
		found->unconfirmed += !difference->confirmed;
	else
		found->settings++;
	if (difference->kind > COMPARE_ASKS)
		found->doubtful += !difference->confirmed;
	if (difference->witness != NULL &&
	    strlen(difference->witness) < sizeof(found->witness))
		memcpy(found->witness, difference->witness,
		    strlen(difference->witness) + 1);
	return found->count < FOUND_MAX;
}

static struct found
compare(const struct policy *const *a, size_t a_count,
    const struct policy *const *b, size_t b_count)
{
	struct stack *x = stack_new(a, a_count), *y = stack_new(b, b_count);
	struct found found = { .count = 0 };

	assert_non_null(x);
	assert_non_null(y);
	assert_int_equal(
	    compare_stacks(x, y, NOW_US, on_difference, &found), STATUS_OK);
	stack_unref(x);
	stack_unref(y);
	return found;
}

static struct policy *
load(const char *rules)
{
	struct problems problems = { 0 };
	struct policy *policy = NULL;
	char text[4000];
	int length = snprintf(
	    text, sizeof(text), "{\"version\": 1, \"rules\": [%s]}", rules);

	assert_true(length > 0 && length < (int)sizeof(text));
	if (document_load(cursor_of(text, (size_t)length), "test", &policy,
		&problems) != STATUS_OK)
		print_message("%s: %s\n", text, problems.list[0].text);
	problems_done(&problems);
	assert_non_null(policy);
	return policy;
}

static void
check(const char *a, const char *b, const char *witness)
{
	const struct policy *x = load(a), *y = load(b);
	struct found found = compare(&x, 1, &y, 1);

	if ((found.count > 0) != (witness != NULL) || found.unconfirmed > 0 ||
	    found.undecided > 0 ||
	    (witness != NULL && strcmp(found.witness, witness) != 0))
		print_message(
		    "A %s\nB %s\n%zu: %s\n", a, b, found.count, found.witness);
	assert_int_equal(found.undecided, 0);
	assert_int_equal(found.unconfirmed, 0);
	if (witness == NULL)
		assert_int_equal(found.count, 0);
	else
		assert_string_equal(found.witness, witness);
	policy_unref(x);
	policy_unref(y);
}

#define R(rest) "{\"id\": \"r\", " rest "}"
#define N(id, rest) "{\"id\": \"" id "\", " rest "}"
#define D(rest) "{\"id\": \"d\", " rest ", \"action\": \"deny\"}"
#define HOST "\"host\": [\"a.test\"]"

static void
the_same_is_contained_in_itself(void **state)
{
	static const char *const rules[] = { "", R(HOST),
		R(HOST ", \"access\": \"any\", \"tls\": \"passthrough\""),
		R("\"address\": [\"10.0.0.0/8\"], \"port\": [22],"
		  "\"protocol\": \"tcp\""),
		R("\"host\": [\"*.a.test\"], \"private\": true") "," D(
		    "\"host\": [\"x.a.test\"]"),
		R("\"host\": [\"*.a.test\"]") ",{\"id\": \"p\", "
					      "\"host\": "
					      "[\"p.a.test\"],"
					      "\"private\": true}",
		R("\"host\": [\"*.a.test\"], \"resolve\": "
		  "\"10.0.0.1\"") ",{\"id\": \"p\", \"host\": "
				  "[\"p.a.test\"],"
				  "\"resolve\": \"10.0.0.2\"}",
		R("\"host\": [\"*\"], \"wide\": true, \"query\":"
		  "{\"a\": \"x*\", \"b\": \"*\"}, \"path\": "
		  "[\"/a/**\"]") };

	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		check(rules[i], rules[i], NULL);
}

static void
hosts_and_addresses_are_compared(void **state)
{
	(void)state;
	check("", R(HOST), "POST https://a.test/git-upload-pack");
	check(R("\"host\": [\"*.test\"], \"wide\": true"), R(HOST), NULL);
	check(R(HOST), R("\"host\": [\"*.a.test\"], \"access\": \"write\""),
	    "GET https://w.a.test/");
	check(R("\"host\": [\"*.a.test\"], \"access\": \"write\""),
	    R("\"host\": [\"b-*.a.test\"], \"access\": \"write\""), NULL);
	check(R("\"address\": [\"10.0.0.0/9\", \"10.128.0.0/9\"],"
		"\"access\": \"write\""),
	    R("\"address\": [\"10.0.0.0/8\"], \"access\": \"write\""), NULL);
	check(R("\"address\": [\"10.0.0.0/9\"], \"access\": \"write\""),
	    R("\"address\": [\"10.0.0.0/8\"], \"access\": \"write\""),
	    "GET https://10.128.0.0/");
	/* The whole internet is its public part, and no more. */
	check(R("\"address\": [\"0.0.0.0/0\"], \"wide\": true,"
		"\"access\": \"write\""),
	    R("\"address\": [\"10.0.0.0/8\"], \"access\": \"write\""),
	    "GET https://10.0.0.0/");
	check(R("\"address\": [\"1.0.0.0/8\"], \"access\": \"write\""),
	    R("\"address\": [\"1.2.0.0/16\"], \"access\": \"write\""), NULL);
	check(R("\"host\": [\"*\"], \"wide\": true, \"access\": \"any\""),
	    R("\"address\": [\"fd00::/64\"], \"access\": \"write\""),
	    "GET https://[fd00::]/");
}

static void
ports_and_protocols_are_compared(void **state)
{
	(void)state;
	check(R(HOST), R(HOST ", \"port\": [443]"), NULL);
	check(R(HOST ", \"port\": [\"1-442\", \"444-65535\"],"
		     "\"access\": \"write\""),
	    R(HOST ", \"access\": \"write\""), "GET https://a.test/");
	check(R(HOST ", \"port\": [\"1-65534\"], \"access\": \"write\""),
	    R(HOST ", \"port\": [\"1-65535\"], \"access\": \"write\""),
	    "GET https://a.test:65535/");
	check(R(HOST ", \"port\": [22], \"protocol\": \"tcp\""),
	    R(HOST ", \"protocol\": \"ssh\""), NULL);
	check(R(HOST ", \"protocol\": \"ssh\""),
	    R(HOST ", \"port\": [22], \"protocol\": \"tcp\""),
	    "tcp://a.test:22");
	check(R(HOST ", \"port\": [53], \"protocol\": \"tcp\""),
	    R(HOST ", \"port\": [53], \"protocol\": \"udp\""),
	    "udp://a.test:53");
	/* What passes unread may be no HTTP at all. */
	check(R(HOST ", \"access\": \"any\""),
	    R(HOST ", \"access\": \"any\", \"tls\": \"passthrough\""),
	    "@hello! https://a.test");
	check(R(HOST ", \"access\": \"any\", \"tls\": \"passthrough\""),
	    R(HOST ", \"access\": \"any\""), NULL);
}

static void
methods_and_upgrades_are_compared(void **state)
{
	(void)state;
	check(R(HOST ", \"access\": \"write\""), R(HOST), NULL);
	check(R(HOST ", \"methods\": [\"GET\"]"),
	    R(HOST ", \"methods\": [\"GET\", \"HEAD\"]"), NULL);
	check(R(HOST ", \"methods\": [\"HEAD\"]"),
	    R(HOST ", \"methods\": [\"GET\"]"), "GET https://a.test/");
	check(R(HOST ", \"methods\": [\"GET\", \"OPTIONS\"]"), R(HOST),
	    "POST https://a.test/git-upload-pack");
	check(R(HOST),
	    R(HOST ", \"methods\": [\"POST\"], \"path\":"
		   "[\"/a/git-upload-pack\"]"),
	    NULL);
	/* Methods that nobody has listed. */
	check(R(HOST ", \"methods\": [\"GET\", \"POST\", \"PUT\", \"PATCH\","
		     "\"DELETE\", \"OPTIONS\"]"),
	    R(HOST ", \"access\": \"write\""), "OTHER0 https://a.test/");
	check(R(HOST ", \"access\": \"write\""),
	    R(HOST ", \"access\": \"any\""),
	    "GET https://a.test/ upgrade=websocket");
	check(R(HOST ", \"access\": \"any\""),
	    R(HOST ", \"upgrade\": [\"websocket\"]"), NULL);
	check(R(HOST ", \"access\": \"write\", \"upgrade\": [\"websocket\"]"),
	    R(HOST ", \"access\": \"any\""),
	    "GET https://a.test/ upgrade=other0");
}

static void
paths_and_queries_are_compared(void **state)
{
	(void)state;
	check(R(HOST ", \"path\": [\"/a/**\"]"),
	    R(HOST ", \"path\": [\"/a/*\", \"/a/b/c\"]"), NULL);
	check(R(HOST ", \"path\": [\"/a/*\"], \"access\": \"write\""),
	    R(HOST ", \"path\": [\"/a/**\"], \"access\": \"write\""),
	    "GET https://a.test/a");
	check(R(HOST ", \"access\": \"write\""),
	    R(HOST ", \"access\": \"write\", \"query\": {\"q\": \"1\"}"), NULL);
	check(R(HOST ", \"access\": \"write\", \"query\": {\"q\": \"1*\"}"),
	    R(HOST ", \"access\": \"write\", \"query\": {\"q\": \"12\"}"),
	    NULL);
	check(R(HOST ", \"access\": \"write\", \"query\": {\"q\": \"12\"}"),
	    R(HOST ", \"access\": \"write\", \"query\": {\"q\": \"1*\"}"),
	    "GET https://a.test/?q=1");
	check(R(HOST ", \"access\": \"write\", \"query\": {\"q\": \"1\"}"),
	    R(HOST ", \"access\": \"write\""), "GET https://a.test/");
	/* A deny takes a query in which one value is meant; so does a doubt. */
	check(R(HOST ", \"access\": \"write\"") "," D(
		  HOST ", \"query\": {\"q\": \"1\"}"),
	    R(HOST ", \"access\": \"write\", \"query\": {\"q\": \"*\"}"),
	    "GET https://a.test/?q=1");
	check(R(HOST ", \"access\": \"write\"") "," D(
		  HOST ", \"query\": {\"q\": \"1\"}"),
	    R(HOST ", \"access\": \"write\", \"query\": {\"q\": \"2*\"}"),
	    NULL);
}

static void
times_are_compared(void **state)
{
#define UNTIL(t) ", \"access\": \"write\", \"valid\": {\"until\": \"" t "\"}"
	(void)state;
	check(R(HOST ", \"access\": \"write\""),
	    R(HOST UNTIL("2030-01-01T00:00:00Z")), NULL);
	check(R(HOST UNTIL("2030-01-01T00:00:00Z")),
	    R(HOST ", \"access\": \"write\""),
	    "GET https://a.test/ at=2030-01-01T00:00:00Z");
	check(R(HOST UNTIL("2020-01-01T00:00:00Z")),
	    R(HOST UNTIL("2030-01-01T00:00:00Z")), "GET https://a.test/");
}

static void
denies_narrow_and_a_missing_one_widens(void **state)
{
	(void)state;
	check(R(HOST ", \"access\": \"write\"") "," D(
		  HOST ", \"path\": [\"/x/**\"]"),
	    R(HOST ", \"access\": \"write\""), "GET https://a.test/x");
	check(R(HOST ", \"access\": \"write\""),
	    R(HOST ", \"access\": \"write\"") "," D(
		HOST ", \"path\": [\"/x/**\"]"),
	    NULL);
	/* Denied in both, by other words. */
	check(R(HOST ", \"access\": \"write\"") "," D(
		  HOST ", \"path\": [\"/x/**\"]"),
	    R(HOST ", \"access\": \"write\"") "," D(
		HOST ", \"path\": [\"/x\", \"/x/**\"]"),
	    NULL);
}

static void
where_a_request_is_sent_is_compared(void **state)
{
	const struct policy *a = load(R(HOST)), *b;
	struct found found;

	(void)state;
	b = load(R(HOST ", \"private\": true"));
	found = compare(&a, 1, &b, 1);
	assert_true(found.count > 0);
	assert_int_equal(found.kind, COMPARE_PRIVATE);
	assert_int_equal(found.doubtful, 0);
	found = compare(&b, 1, &a, 1);
	assert_int_equal(found.count, 0);
	policy_unref(b);
	b = load(R(HOST ", \"resolve\": \"10.0.0.1\""));
	found = compare(&a, 1, &b, 1);
	assert_true(found.count > 0);
	assert_int_equal(found.kind, COMPARE_RESOLVE);
	found = compare(&b, 1, &a, 1);
	assert_true(found.count > 0);
	policy_unref(b);
	policy_unref(a);
}

#define WITH(name) ", \"credential\": \"" name "\""

/* More of a request than where it goes: with whose word it goes there. */
static void
which_credential_goes_along_is_compared(void **state)
{
	static const struct {
		const char *before, *after;
		bool more;
	} changes[] = {
		{ R(HOST), R(HOST WITH("x")), true },
		{ R(HOST WITH("x")), R(HOST), false },
		{ R(HOST WITH("x")), R(HOST WITH("x")), false },
		{ R(HOST WITH("x")), R(HOST WITH("y")), true },
		{ R(HOST WITH("x")), R(HOST WITH("x") ", \"clear\": true"),
		    true },
		/* The longer path supplies it, on both sides. */
		{ R(HOST) "," N("p", HOST ", \"path\": [\"/a/**\"]" WITH("x")),
		    R(HOST) "," N(
			"p", HOST ", \"path\": [\"/a/**\"]" WITH("x")),
		    false },
		{ R(HOST) "," N("p", HOST ", \"path\": [\"/a/**\"]" WITH("x")),
		    R(HOST WITH("x")), true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const struct policy *a = load(changes[i].before);
		const struct policy *b = load(changes[i].after);
		struct found found = compare(&a, 1, &b, 1);

		if ((found.count > 0) != changes[i].more)
			fail_msg("%zu differences: %s -> %s", found.count,
			    changes[i].before, changes[i].after);
		if (changes[i].more) {
			assert_int_equal(found.kind, COMPARE_CREDENTIAL);
			assert_int_equal(found.doubtful, 0);
		}
		policy_unref(a);
		policy_unref(b);
	}
}

/* What a person may allow lies between the two. */
static void
asking_is_less_than_allowing_and_more_than_denying(void **state)
{
	const struct policy *none = load("");
	const struct policy *ask = load(R(HOST ", \"action\": \"ask\""));
	const struct policy *allow = load(R(HOST));
	struct found found = compare(&none, 1, &ask, 1);

	(void)state;
	assert_true(found.count > 0);
	assert_int_equal(found.kind, COMPARE_ASKS);
	assert_int_equal(found.unconfirmed, 0);
	found = compare(&ask, 1, &allow, 1);
	assert_true(found.count > 0);
	assert_int_equal(found.kind, COMPARE_ALLOWS);
	assert_int_equal(found.unconfirmed, 0);
	assert_int_equal(compare(&allow, 1, &ask, 1).count, 0);
	assert_int_equal(compare(&ask, 1, &ask, 1).count, 0);
	policy_unref(none);
	policy_unref(ask);
	policy_unref(allow);
}

/* A layer narrows either side. */
static void
layers_are_compared(void **state)
{
	const struct policy *wide = load(R("\"host\": [\"a.test\", \"b.test\"],"
					   "\"access\": \"write\""));
	const struct policy *read = load(R("\"host\": [\"*.test\"],"
					   "\"wide\": true"));
	const struct policy *one = load(R(HOST));
	const struct policy *both[] = { read, wide };

	(void)state;
	assert_int_equal(compare(both, 2, &one, 1).count, 0);
	assert_int_equal(compare(&read, 1, both, 2).count, 0);
	assert_int_equal(compare(&wide, 1, both, 2).count, 0);
	assert_int_equal(compare(both, 2, both, 2).count, 0);
	assert_true(compare(both, 2, &wide, 1).count > 0);
	assert_true(compare(both, 2, &read, 1).count > 0);
	assert_true(compare(&one, 1, both, 2).count > 0);
	/* No layer at all denies everything. */
	assert_true(compare(NULL, 0, &one, 1).count > 0);
	assert_int_equal(compare(&one, 1, NULL, 0).count, 0);
	policy_unref(wide);
	policy_unref(read);
	policy_unref(one);
}

/* Whatever is asked, b allows nothing that a does not. */
static void
contained_survives_questions(
    const struct policy *a, const struct policy *b, unsigned questions)
{
	static struct question question;

	for (unsigned i = 0; i < questions; i++) {
		struct verdict x, y;

		draft_question(&question, "");
		policy_decide(a, &question.facts, NULL, NULL, &x);
		policy_decide(b, &question.facts, NULL, NULL, &y);
		if (y.kind == VERDICT_ALLOW)
			assert_int_equal(x.kind, VERDICT_ALLOW);
	}
}

static void
witnesses_are_real_and_containment_survives(void **state)
{
	unsigned contained = 0, apart = 0;

	(void)state;
	for (unsigned i = 0; i < cases / 40; i++) {
		struct draft draft;
		const struct policy *a = draft_policy(&draft), *b;
		struct found found;

		found = compare(&a, 1, &a, 1);
		/* Nothing opens more than itself; doubt is about settings. */
		if (found.count > found.settings)
			fail_msg("more than itself: %s", found.witness);
		/* Half of them are alike, so that containment is met. */
		if (drafts_chance(2) == 0)
			draft_rule(&draft, drafts_chance(2) == 0);
		else if (draft.count > 1)
			draft.count--;
		b = draft_load(&draft, true);
		if (b == NULL || drafts_chance(3) == 0) {
			policy_unref(b);
			b = draft_policy(&draft);
		}
		found = compare(&a, 1, &b, 1);
		assert_int_equal(found.undecided, 0);
		if (found.unconfirmed > 0)
			print_message("%s\n", found.witness);
		assert_int_equal(found.unconfirmed, 0);
		if (found.count == 0) {
			contained++;
			contained_survives_questions(a, b, 40);
		} else {
			apart++;
		}
		policy_unref(a);
		policy_unref(b);
	}
	assert_true(cases < 1000 || (contained > 0 && apart > 0));
}

/* Whatever one allows and the other does not is told, and not only by luck. */
static void
a_question_that_tells_them_apart_is_never_denied(void **state)
{
	static struct question question;
	struct draft draft;

	(void)state;
	for (unsigned i = 0; i < cases / 40; i++) {
		const struct policy *a = draft_policy(&draft);
		const struct policy *b = draft_policy(&draft);
		bool apart = false;

		for (unsigned k = 0; k < 40 && !apart; k++) {
			struct verdict x, y;

			draft_question(&question, "");
			policy_decide(a, &question.facts, NULL, NULL, &x);
			policy_decide(b, &question.facts, NULL, NULL, &y);
			/* More than before: allowed, or to be asked about. */
			apart = y.kind >= VERDICT_ASK && x.kind < y.kind;
		}
		if (apart)
			assert_true(compare(&a, 1, &b, 1).count > 0);
		policy_unref(a);
		policy_unref(b);
	}
}

/* The same of layers: what both of one side open, and one of the other. */
static void
layers_are_contained_as_their_answers_are(void **state)
{
	static struct question question;
	struct draft draft;
	unsigned told = 0;

	(void)state;
	for (unsigned i = 0; i < cases / 80; i++) {
		const struct policy *a[] = { draft_policy(&draft),
			draft_policy(&draft) };
		const struct policy *b[] = { draft_policy(&draft), a[0] };
		struct stack *x = stack_new(a, 2), *y = stack_new(b, 2);
		struct found found = compare(a, 2, b, 2);

		assert_non_null(x);
		assert_non_null(y);
		assert_int_equal(found.undecided, 0);
		assert_int_equal(found.unconfirmed, 0);
		told += found.count > 0;
		for (unsigned k = 0; k < 80 && found.count == 0; k++) {
			struct verdict before, after;

			draft_question(&question, "");
			stack_decide(x, &question.facts, &before);
			stack_decide(y, &question.facts, &after);
			if (after.kind >= VERDICT_ASK)
				assert_true(before.kind >= after.kind);
		}
		stack_unref(x);
		stack_unref(y);
		policy_unref(a[0]);
		policy_unref(a[1]);
		policy_unref(b[0]);
	}
	assert_true(cases < 1000 || told > 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_is_contained_in_itself),
		cmocka_unit_test(hosts_and_addresses_are_compared),
		cmocka_unit_test(ports_and_protocols_are_compared),
		cmocka_unit_test(methods_and_upgrades_are_compared),
		cmocka_unit_test(paths_and_queries_are_compared),
		cmocka_unit_test(times_are_compared),
		cmocka_unit_test(denies_narrow_and_a_missing_one_widens),
		cmocka_unit_test(where_a_request_is_sent_is_compared),
		cmocka_unit_test(which_credential_goes_along_is_compared),
		cmocka_unit_test(
		    asking_is_less_than_allowing_and_more_than_denying),
		cmocka_unit_test(layers_are_compared),
		cmocka_unit_test(witnesses_are_real_and_containment_survives),
		cmocka_unit_test(
		    a_question_that_tells_them_apart_is_never_denied),
		cmocka_unit_test(layers_are_contained_as_their_answers_are),
	};

	cases = drafts_cases(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
