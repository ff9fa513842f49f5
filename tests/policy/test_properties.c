/*
 * What must hold for every policy and every question: random ones from small
 * alphabets, so that they meet often; the same ones in every run.
 */
#include "policy/explain.h"

#include "policy/document.h"
#include "policy/question.h"
#include "policy/stack.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CASES 20000
#define RULES_MAX 5
#define HEARD_MAX 10

static uint64_t state_of_chance = 0x9e3779b97f4a7c15U;

/* xorshift64*: no secret is made of it. */
static unsigned
chance(unsigned below)
{
	state_of_chance ^= state_of_chance >> 12;
	state_of_chance ^= state_of_chance << 25;
	state_of_chance ^= state_of_chance >> 27;
	return (unsigned)((state_of_chance * 0x2545f4914f6cdd1dU) >> 33) %
	       below;
}

#define PICK(list) (list)[chance(sizeof(list) / sizeof((list)[0]))]

static const char *const targets[] = { "\"host\": [\"a.test\"]",
	"\"host\": [\"*.test\"], \"wide\": true",
	"\"host\": [\"*.a.test\", \"b.test\"]", "\"host\": [\"x*.a.test\"]",
	"\"host\": [\"*\"], \"wide\": true", "\"address\": [\"10.0.0.0/8\"]",
	"\"address\": [\"10.1.0.0/16\"]",
	"\"address\": [\"0.0.0.0/0\"], \"wide\": true" };
static const char *const conditions[] = { "", "", "", ", \"port\": [443]",
	", \"access\": \"write\"", ", \"access\": \"any\"",
	", \"methods\": [\"POST\"]", ", \"path\": [\"/a/**\"]",
	", \"path\": [\"/a/b\", \"/*\"]", ", \"query\": {\"q\": \"1*\"}",
	", \"upgrade\": [\"websocket\"]",
	", \"access\": \"any\", \"tls\": \"passthrough\"",
	", \"port\": [443], \"protocol\": \"tcp\"",
	", \"protocol\": \"ssh\", \"port\": [22, 443]",
	", \"valid\": {\"until\": \"1970-01-01T00:00:01Z\"}" };
static const char *const urls[] = { "https://a.test/a/b", "https://a.test/",
	"https://b.test/a?q=12", "https://x.a.test/a/b?q=2",
	"http://xx.a.test/b", "wss://a.test/a", "https://10.1.2.3/a/b",
	"https://10.2.2.3/", "ssh://a.test:443", "ssh://x.a.test",
	"tcp://b.test:443", "udp://a.test:443", "https://c.test/a",
	"https://127.0.0.1/", "https://8.8.8.8/?q=1" };
static const char *const methods[] = { "GET ", "POST ", "HEAD ", "PUT ", "" };
static const char *const stages[] = { "@name ", "@connect ", "@hello ",
	"@hello! ", "" };

struct draft {
	char rules[RULES_MAX + 1][300];
	size_t count;
};

static void
draft_rule(struct draft *draft, bool deny)
{
	const char *target = PICK(targets), *condition = PICK(conditions);
	const char *action = deny ? ", \"action\": \"deny\"" : "";
	char *rule = draft->rules[draft->count];

	assert_true(snprintf(rule, sizeof(draft->rules[0]),
			"{\"id\": \"r%zu\", %s%s%s}", draft->count, target,
			condition, action) < (int)sizeof(draft->rules[0]));
	draft->count++;
}

static struct policy *
load(const struct draft *draft, bool backwards)
{
	char text[2000];
	struct problems problems = { 0 };
	struct policy *policy = NULL;
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	cursor_put_text(&out, "{\"version\": 1, \"rules\": [");
	for (size_t i = 0; i < draft->count; i++) {
		size_t at = backwards ? draft->count - 1 - i : i;

		cursor_put_text(&out, i > 0 ? "," : "");
		cursor_put_text(&out, draft->rules[at]);
	}
	cursor_put_text(&out, "]}");
	assert_true(cursor_written(&out));
	if (document_load(cursor_of(text, out.used), "random", &policy,
		&problems) != STATUS_OK)
		policy = NULL;
	problems_done(&problems);
	return policy;
}

/* A draft that loads, and its policy. */
static struct policy *
draft_policy(struct draft *draft)
{
	struct policy *policy;

	do {
		size_t count = 1 + chance(RULES_MAX - 1);

		draft->count = 0;
		while (draft->count < count)
			draft_rule(draft, chance(3) == 0);
		policy = load(draft, false);
	} while (policy == NULL);
	return policy;
}

static void
draft_question(struct question *question, const char *stage)
{
	struct problem problem;
	const char *url = PICK(urls);
	char words[200];
	int length =
	    snprintf(words, sizeof(words), "%s%s%s", stage, PICK(methods), url);

	assert_true(length > 0 && length < (int)sizeof(words));
	assert_int_equal(question_read(cursor_of(words, (size_t)length),
			     chance(2) == 0 ? 0 : 2000000, question, &problem),
	    STATUS_OK);
}

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
	for (unsigned i = 0; i < CASES / 10; i++) {
		struct policy *policy = draft_policy(&draft);
		struct policy *other = load(&draft, true);

		assert_non_null(other);
		for (unsigned k = 0; k < 10; k++) {
			struct verdict a, b;

			draft_question(&question, PICK(stages));
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
	for (unsigned i = 0; i < CASES / 10; i++) {
		struct policy *policy = draft_policy(&draft);
		struct policy *stricter;

		draft_rule(&draft, true);
		stricter = load(&draft, false);
		for (unsigned k = 0; stricter != NULL && k < 10; k++) {
			struct verdict a, b;

			draft_question(&question, PICK(stages));
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
	for (unsigned i = 0; i < CASES; i++) {
		uint64_t start = state_of_chance;
		struct verdict a, b;

		draft_question(&early, stages[chance(4)]);
		state_of_chance = start;
		(void)chance(4);
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
	for (unsigned i = 0; i < CASES / 10; i++) {
		struct policy *policy = draft_policy(&draft);
		struct stack *stack =
		    stack_new((const struct policy *const *)&policy, 1);

		assert_non_null(stack);
		for (unsigned k = 0; k < 10; k++) {
			struct heard heard = { .count = 0 };
			struct verdict a, b, c;
			bool found = false;

			draft_question(&question, PICK(stages));
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
	for (unsigned i = 0; i < CASES / 10; i++) {
		const struct policy *layers[2] = { draft_policy(&draft),
			draft_policy(&draft) };
		struct stack *one = stack_new(layers, 1);
		struct stack *two = stack_new(layers, 2);

		assert_non_null(one);
		assert_non_null(two);
		for (unsigned k = 0; k < 10; k++) {
			struct verdict a, b;

			draft_question(&question, PICK(stages));
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_of_rules_changes_nothing),
		cmocka_unit_test(a_deny_added_never_opens),
		cmocka_unit_test(fewer_facts_never_allow_what_more_facts_deny),
		cmocka_unit_test(explain_agrees_with_decide),
		cmocka_unit_test(the_thousandth_answer_is_the_first),
		cmocka_unit_test(a_layer_added_never_opens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
