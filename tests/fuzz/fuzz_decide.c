/*
 * A policy, a zero byte and a question in words: explain agrees with decide,
 * the last stage has an answer, and less knowledge never allows more.
 */
#include "policy/decide.h"

#include "policy/document.h"
#include "policy/explain.h"
#include "policy/question.h"
#include "policy/stack.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static struct question question;

static void
on_line(const struct rule *rule, const char *why, void *arg)
{
	(void)arg;
	if (rule == NULL || (why != NULL && strlen(why) >= EXPLAIN_WHY_MAX))
		abort();
}

static void
ask(const struct policy *policy, const struct facts *facts)
{
	struct facts early = *facts;
	struct verdict known, told, before;

	policy_decide(policy, facts, NULL, NULL, &known);
	explain_policy(policy, facts, on_line, NULL, &told);
	if (known.kind != told.kind || known.rule != told.rule ||
	    known.reason != told.reason)
		abort();
	if (facts->last && known.kind == VERDICT_NEED_MORE)
		abort();
	early.stage = STAGE_NAME;
	early.last = false;
	early.protocol = FACT_PROTOCOL_UNKNOWN;
	early.port = 0;
	policy_decide(policy, &early, NULL, NULL, &before);
	if (before.kind == VERDICT_ALLOW && known.kind != VERDICT_ALLOW)
		abort();
	if (before.kind == VERDICT_DENY && known.kind != VERDICT_DENY)
		abort();
}

static void
dial(const struct policy *policy, const struct facts *facts)
{
	struct stack *stack = stack_new(&policy, 1);
	struct address address = { .length = 4 };
	struct stack_settings settings;
	uint16_t ports[16];

	if (stack == NULL)
		return;
	stack_settings(stack, facts, &settings);
	(void)stack_ports(stack, ports, 16);
	if (stack_may_dial(stack, facts, &address))
		abort();
	stack_unref(stack);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cursor words = cursor_of(bytes, length), text;
	struct problems problems = { 0 };
	struct problem problem;
	struct policy *policy = NULL;

	if (!cursor_until(&words, 0, &text))
		return 0;
	if (document_load(text, "fuzz", &policy, &problems) == STATUS_OK &&
	    question_read(words, 0, &question, &problem) == STATUS_OK) {
		ask(policy, &question.facts);
		dial(policy, &question.facts);
	}
	policy_unref(policy);
	problems_done(&problems);
	return 0;
}
