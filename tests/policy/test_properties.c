/*
 * What must hold for every policy and every question: random ones from small
 * alphabets, so that they meet often; the same ones in every run.
 */
#include "policy/explain.h"

#include "policy/document.h"
#include "policy/stack.h"
#include "schema/status.h"
#include "tests/policy/drafts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HEARD_MAX 10

static unsigned cases;

static bool
same(const struct verdict *a, const struct verdict *b)
{
	if (a->kind != b->kind || a->reason != b->reason || a->tls != b->tls)
		return false;
	if (a->rule == NULL || b->rule == NULL)
		return a->rule == b->rule;
	return strcmp(rule_id(a->rule), rule_id(b->rule)) == 0;
}

static void
the_order_of_rules_changes_nothing(void **state)
{
	static struct question question;
	struct draft draft;

	(void)state;
	for (unsigned i = 0; i < cases / 10; i++) {
		struct policy *policy = draft_policy(&draft);
		struct policy *other = draft_load(&draft, true);

		assert_non_null(other);
		for (unsigned k = 0; k < 10; k++) {
			struct verdict a, b;

			draft_question(&question, NULL);
			policy_decide(policy, &question.facts, NULL, NULL, &a);
			policy_decide(other, &question.facts, NULL, NULL, &b);
			assert_true(same(&a, &b));
		}
		policy_unref(policy);
		policy_unref(other);
	}
}

static void
a_deny_added_never_opens(void **state)
{
	static struct question question;
	struct draft draft;

	(void)state;
	for (unsigned i = 0; i < cases / 10; i++) {
		struct policy *policy = draft_policy(&draft);
		struct policy *stricter;

		draft_rule(&draft, true);
		stricter = draft_load(&draft, false);
		for (unsigned k = 0; stricter != NULL && k < 10; k++) {
			struct verdict a, b;

			draft_question(&question, NULL);
			policy_decide(policy, &question.facts, NULL, NULL, &a);
			policy_decide(
			    stricter, &question.facts, NULL, NULL, &b);
			assert_true(b.kind <= a.kind);
		}
		policy_unref(policy);
		policy_unref(stricter);
	}
}

/* What is answered early is still the answer when more is known. */
static void
fewer_facts_never_allow_what_more_facts_deny(void **state)
{
	static struct question early, late;
	struct draft draft;
	struct policy *policy = draft_policy(&draft);

	(void)state;
	for (unsigned i = 0; i < cases; i++) {
		uint64_t start = drafts_state();
		struct verdict a, b;

		draft_question(&early, drafts_early_stage());
		drafts_set_state(start);
		(void)drafts_early_stage();
		draft_question(&late, "");
		policy_decide(policy, &early.facts, NULL, NULL, &a);
		policy_decide(policy, &late.facts, NULL, NULL, &b);
		if (a.kind == VERDICT_ALLOW)
			assert_int_equal(b.kind, VERDICT_ALLOW);
		if (a.kind == VERDICT_DENY && !early.facts.last)
			assert_int_equal(b.kind, VERDICT_DENY);
		assert_true(b.kind != VERDICT_NEED_MORE);
		if (early.facts.last)
			assert_true(a.kind != VERDICT_NEED_MORE);
		if (i % 10 != 9)
			continue;
		policy_unref(policy);
		policy = draft_policy(&draft);
	}
	policy_unref(policy);
}

struct heard {
	const struct rule *matched[HEARD_MAX];
	size_t count;
};

static void
on_line(const struct rule *rule, const char *why, void *arg)
{
	struct heard *heard = arg;

	if (why != NULL)
		assert_true(why[0] != '\0');
	else if (heard->count < HEARD_MAX)
		heard->matched[heard->count++] = rule;
}

/* P03: what explains is what decides. */
static void
explain_agrees_with_decide(void **state)
{
	static struct question question;
	struct draft draft;

	(void)state;
	for (unsigned i = 0; i < cases / 10; i++) {
		struct policy *policy = draft_policy(&draft);
		struct stack *stack =
		    stack_new((const struct policy *const *)&policy, 1);

		assert_non_null(stack);
		for (unsigned k = 0; k < 10; k++) {
			struct heard heard = { .count = 0 };
			struct verdict a, b, c;
			bool found = false;

			draft_question(&question, NULL);
			policy_decide(policy, &question.facts, NULL, NULL, &a);
			explain_policy(
			    policy, &question.facts, on_line, &heard, &b);
			stack_decide(stack, &question.facts, &c);
			assert_true(same(&a, &b));
			assert_true(same(&a, &c));
			for (size_t n = 0; n < heard.count; n++)
				found = found || heard.matched[n] == a.rule;
			if (a.kind == VERDICT_ALLOW)
				assert_true(found);
		}
		stack_unref(stack);
		policy_unref(policy);
	}
}

/* P07 */
static void
the_thousandth_answer_is_the_first(void **state)
{
	static struct question question;
	struct draft draft;
	struct policy *policy = draft_policy(&draft);
	struct verdict first, again;

	(void)state;
	draft_question(&question, "");
	policy_decide(policy, &question.facts, NULL, NULL, &first);
	for (unsigned i = 0; i < 1000; i++) {
		policy_decide(policy, &question.facts, NULL, NULL, &again);
		assert_true(same(&first, &again));
	}
	policy_unref(policy);
}

/* Layers only narrow. */
static void
a_layer_added_never_opens(void **state)
{
	static struct question question;
	struct draft draft;

	(void)state;
	for (unsigned i = 0; i < cases / 10; i++) {
		const struct policy *layers[2] = { draft_policy(&draft),
			draft_policy(&draft) };
		struct stack *one = stack_new(layers, 1);
		struct stack *two = stack_new(layers, 2);

		assert_non_null(one);
		assert_non_null(two);
		for (unsigned k = 0; k < 10; k++) {
			struct verdict a, b;

			draft_question(&question, NULL);
			stack_decide(one, &question.facts, &a);
			stack_decide(two, &question.facts, &b);
			assert_true(b.kind <= a.kind);
			assert_true(b.kind != VERDICT_ALLOW || b.tls <= a.tls);
		}
		stack_unref(one);
		stack_unref(two);
		policy_unref(layers[0]);
		policy_unref(layers[1]);
	}
}

static void
on_step(const struct rule *rule, const struct rule_match *match, void *arg)
{
	(void)rule;
	(void)match;
	(*(unsigned *)arg)++;
}

static const char *
one_of(const char *const *list, size_t count)
{
	return list[drafts_chance((unsigned)count)];
}

/* Many rules of one host, so that they are found by their paths. */
static struct policy *
crowd(void)
{
	static const char *const paths[] = { "", ", \"path\": [\"/a\"]",
		", \"path\": [\"/a/**\"]", ", \"path\": [\"/a/b\", \"/*\"]",
		", \"path\": [\"/**/b\"]", ", \"path\": [\"/a/*/c\"]",
		", \"path\": [\"/%40a/**\"]", ", \"path\": [\"/**\"]" };
	static const char *const others[] = { "", ", \"methods\": [\"POST\"]",
		", \"access\": \"write\"", ", \"query\": {\"q\": \"1\"}",
		", \"port\": [443]" };
	static const char *const hosts[] = { "a.test", "a.test", "*.a.test" };
	char text[20000];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	struct problems problems = { 0 };
	struct policy *policy = NULL;

	cursor_put_text(&out, "{\"version\": 1, \"rules\": [");
	for (unsigned i = 0; i < 60; i++) {
		cursor_put_text(&out, i > 0 ? ",{\"id\": \"r" : "{\"id\": \"r");
		cursor_put_decimal(&out, drafts_chance(1000) * 100 + i);
		cursor_put_text(&out, "\", \"host\": [\"");
		cursor_put_text(&out, one_of(hosts, 3));
		cursor_put_text(&out, "\"]");
		cursor_put_text(&out, one_of(paths + 1, 7));
		/* A deny that asks for a query shadows nobody. */
		cursor_put_text(&out, drafts_chance(8) == 0
					  ? ", \"query\": {\"q\": \"1\"},"
					    "\"action\": \"deny\""
					  : one_of(others, 5));
		cursor_put_u8(&out, '}');
	}
	cursor_put_text(&out, "]}");
	assert_true(cursor_written(&out));
	if (document_load(cursor_of(text, out.used), "crowd", &policy,
		&problems) != STATUS_OK)
		policy = NULL;
	problems_done(&problems);
	return policy;
}

/* Who listens hears of every rule; the answer is the same without. */
static void
rules_are_found_by_their_paths(void **state)
{
	static const char *const ends[] = { "", "a", "a/", "a/b", "a/x/c", "b",
		"@a/b", "%40a", "x/y/b", "c/d", "a?q=1", "c?q=1" };
	static const char *const starts[] = { "https://a.test/",
		"POST https://a.test/", "https://x.a.test/", "http://a.test/",
		"@hello https://a.test/" };
	static struct question question;
	unsigned loaded = 0;

	(void)state;
	for (unsigned i = 0; i < cases / 40; i++) {
		struct policy *policy = crowd();

		for (unsigned k = 0; policy != NULL && k < 40; k++) {
			struct verdict a, b;
			struct problem problem;
			char words[200];
			unsigned heard = 0;
			int length = snprintf(words, sizeof(words), "%s%s",
			    one_of(starts, 5), one_of(ends, 12));

			assert_true(length > 0);
			assert_int_equal(
			    question_read(cursor_of(words, (size_t)length), 0,
				&question, &problem),
			    STATUS_OK);
			policy_decide(policy, &question.facts, NULL, NULL, &a);
			policy_decide(
			    policy, &question.facts, on_step, &heard, &b);
			assert_true(same(&a, &b));
			assert_true(heard > 0);
		}
		loaded += policy != NULL;
		policy_unref(policy);
	}
	assert_true(cases < 1000 || loaded > 10);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_of_rules_changes_nothing),
		cmocka_unit_test(a_deny_added_never_opens),
		cmocka_unit_test(fewer_facts_never_allow_what_more_facts_deny),
		cmocka_unit_test(explain_agrees_with_decide),
		cmocka_unit_test(the_thousandth_answer_is_the_first),
		cmocka_unit_test(a_layer_added_never_opens),
		cmocka_unit_test(rules_are_found_by_their_paths),
	};

	cases = drafts_cases(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
