#include "gateway/flow/handbook.h"

#include "gateway/flow/flow.h"
#include "gateway/flow/program.h"
#include "gateway/proc/clock.h"
#include "gateway/run/budget.h"
#include "gateway/run/run.h"
#include "policy/describe.h"
#include "policy/policy.h"
#include "policy/rule.h"
#include "policy/stack.h"
#include "schema/json.h"

/* A rule in words; longer ones are cut, and every string may double. */
#define RULE_WORDS ((size_t)2048)
#define RULE_ROOM (2 * (RULE_WORDS + (size_t)2 * LIMIT_RULE_TEXT))

void
handbook_whoami(const struct flow *flow, struct json *j)
{
	const struct sighting *program = program_sighting(flow->program);

	json_open(j, NULL, '{');
	json_text(j, "run", flow->plane->run->identity.run);
	if (program == NULL) {
		json_none(j, "program");
	} else {
		json_open(j, "program", '{');
		json_number(j, "pid", program->pid);
		json_text(j, "exe", program->exe);
		json_text(j, "argv", program->argv);
		json_close(j, '}');
	}
	json_close(j, '}');
}

static void
put_rule(const struct rule *rule, struct json *j)
{
	char text[RULE_WORDS];
	struct cursor_writer words = cursor_writer_of(text, sizeof(text));

	describe_rule(rule, &words);
	json_open(j, NULL, '{');
	json_text(j, "id", rule_id(rule));
	json_text(j, "action", rule_action_name(rule->action));
	json_bytes(j, "covers", cursor_of(text, words.used));
	if (rule_reason(rule) != NULL)
		json_text(j, "reason", rule_reason(rule));
	json_close(j, '}');
}

static void
put_layer(const struct policy *policy, struct json *j)
{
	size_t count = policy_rule_count(policy), i = 0;

	json_open(j, NULL, '{');
	json_text(j, "name", policy_name(policy));
	json_open(j, "rules", '[');
	for (; i < count && j->out->size - j->out->used > 2 * RULE_ROOM; i++)
		put_rule(policy_rule(policy, i), j);
	json_close(j, ']');
	json_number(j, "not_shown", (int64_t)(count - i));
	json_close(j, '}');
}

void
handbook_policy(const struct flow *flow, struct json *j)
{
	const struct stack *stack = flow->plane->run->stack;

	json_open(j, NULL, '{');
	json_text(j, "meaning",
	    "What no rule allows is denied.  A deny overrides an ask, an ask "
	    "overrides an allow, and every layer has to allow a request.  "
	    "Only the owner of this run can change the policy.");
	json_open(j, "layers", '[');
	for (size_t i = 0; i < stack_count(stack); i++)
		put_layer(stack_layer(stack, i), j);
	json_close(j, ']');
	json_close(j, '}');
}

void
handbook_limits(const struct flow *flow, struct json *j)
{
	struct run *run = flow->plane->run;

	json_open(j, NULL, '{');
	budget_describe(run->budget, run->stack, clock_monotonic_us(), j);
	json_close(j, '}');
}
