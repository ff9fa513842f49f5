#include "policy/decide.h"

#include "policy/index.h"
#include "policy/rank.h"

#include <string.h>

/* The most specific of the rules that were put to it. */
struct best {
	const struct rule *rule; /* NULL: none yet */
	uint32_t rank;
};

struct weighing {
	const struct facts *facts;
	decide_step *step;
	void *arg;
	struct best sure[RULE_ACTION_COUNT]; /* all conditions hold */
	struct best maybe[RULE_ACTION_COUNT]; /* none fails, some are unknown */
	unsigned unknown; /* what any of them would have to know */
	struct best near; /* one condition of an allow rule fails */
	enum reason near_reason;
};

/* Equally specific rules are told apart by id, so that order never matters. */
static bool
outranks(const struct best *best, const struct rule *rule, uint32_t rank)
{
	if (best->rule == NULL || rank != best->rank)
		return best->rule == NULL || rank > best->rank;
	return strcmp(rule->id, best->rule->id) < 0;
}

static void
consider(struct best *best, const struct rule *rule, uint32_t rank)
{
	if (outranks(best, rule, rank))
		*best = (struct best){ .rule = rule, .rank = rank };
}

static uint32_t
rank_of(
    const struct rule *rule, uint32_t target, const struct rule_match *match)
{
	return rank_of_rule(
	    target, match->path_literal, rule->access == RULE_METHODS);
}

/* The reason when this one condition is all that failed; else no_rule. */
static enum reason
reason_of_failure(const struct rule_match *match)
{
	static const struct {
		enum rule_term term;
		enum reason reason;
	} told[] = {
		{ TERM_METHOD, REASON_METHOD },
		{ TERM_PATH, REASON_PATH },
		{ TERM_UPGRADE, REASON_UPGRADE },
	};

	if (match->unknown != 0)
		return REASON_NO_RULE;
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		if (match->failed == 1U << told[i].term)
			return told[i].reason;
	return REASON_NO_RULE;
}

static void
consider_near(struct weighing *w, const struct rule *rule, uint32_t rank,
    const struct rule_match *match)
{
	enum reason reason = reason_of_failure(match);

	if (rule->action == RULE_DENY || reason == REASON_NO_RULE ||
	    !outranks(&w->near, rule, rank))
		return;
	consider(&w->near, rule, rank);
	w->near_reason = reason;
}

static void
weigh(const struct rule *rule, uint32_t target, void *arg)
{
	struct weighing *w = arg;
	struct rule_match match;
	uint32_t rank;

	rule_weigh(rule, w->facts, &match);
	rank = rank_of(rule, target, &match);
	switch (match.answer) {
	case ANSWER_YES:
		consider(&w->sure[rule->action], rule, rank);
		break;
	case ANSWER_UNKNOWN:
		consider(&w->maybe[rule->action], rule, rank);
		w->unknown |= match.unknown;
		break;
	case ANSWER_NO:
		consider_near(w, rule, rank, &match);
		break;
	}
	if (w->step != NULL)
		w->step(rule, &match, w->arg);
}

/* Whether what is unknown could still give the allowed other settings. */
struct contest {
	const struct facts *facts;
	const struct best *allow;
	bool open;
};

static void
challenge(const struct rule *rule, uint32_t target, void *arg)
{
	struct contest *contest = arg;
	struct rule_match match;

	if (rule->action != RULE_ALLOW ||
	    rule_settings_equal(rule, contest->allow->rule))
		return;
	rule_weigh(rule, contest->facts, &match);
	if (match.answer == ANSWER_UNKNOWN &&
	    rank_of(rule, target, &match) >= contest->allow->rank)
		contest->open = true;
}

static bool
is_contested(const struct policy *policy, const struct weighing *w)
{
	struct contest contest = { .facts = w->facts,
		.allow = &w->sure[RULE_ALLOW] };

	if (w->maybe[RULE_ALLOW].rule == NULL)
		return false;
	index_find(policy_index(policy), w->facts, challenge, &contest);
	return contest.open;
}

static void
answer(struct verdict *ret, enum verdict_kind kind, enum reason reason,
    const struct rule *rule)
{
	ret->kind = kind;
	ret->reason = reason;
	ret->rule = rule;
	if (kind == VERDICT_ALLOW && rule_is_opaque(rule))
		ret->tls = VERDICT_TLS_PASSTHROUGH;
	if (kind == VERDICT_ALLOW || kind == VERDICT_ASK)
		ret->openers[ret->opener_count++] = rule;
}

/* The rule that holds, or where there is none the one that may. */
static const struct rule *
sure_or_maybe(const struct weighing *w, enum rule_action action)
{
	const struct rule *rule = w->sure[action].rule;

	return rule != NULL ? rule : w->maybe[action].rule;
}

/* No more facts come: the unknown counts against the request. */
static void
answer_last(const struct weighing *w, struct verdict *ret)
{
	const struct rule *deny = w->maybe[RULE_DENY].rule;
	const struct rule *ask = sure_or_maybe(w, RULE_ASK);
	const struct rule *allow = w->sure[RULE_ALLOW].rule;

	if (deny != NULL)
		answer(ret, VERDICT_DENY, REASON_DENIED, deny);
	else if (ask != NULL)
		answer(ret, VERDICT_ASK, REASON_APPROVAL_NEEDED, ask);
	else if (allow != NULL)
		answer(ret, VERDICT_ALLOW, REASON_NONE, allow);
	else
		answer(ret, VERDICT_DENY, w->near_reason, NULL);
}

/* More facts can come: what they could change is not answered yet. */
static void
answer_early(
    const struct policy *policy, const struct weighing *w, struct verdict *ret)
{
	const struct rule *ask = w->sure[RULE_ASK].rule;
	const struct rule *allow = w->sure[RULE_ALLOW].rule;

	if (sure_or_maybe(w, RULE_ASK) == NULL &&
	    sure_or_maybe(w, RULE_ALLOW) == NULL)
		answer(ret, VERDICT_DENY, w->near_reason, NULL);
	else if (w->maybe[RULE_DENY].rule == NULL && ask != NULL)
		answer(ret, VERDICT_ASK, REASON_APPROVAL_NEEDED, ask);
	else if (w->maybe[RULE_DENY].rule != NULL ||
		 w->maybe[RULE_ASK].rule != NULL || allow == NULL ||
		 is_contested(policy, w))
		answer(ret, VERDICT_NEED_MORE, REASON_NONE, NULL);
	else
		answer(ret, VERDICT_ALLOW, REASON_NONE, allow);
}

void
policy_decide(const struct policy *policy, const struct facts *facts,
    decide_step *step, void *arg, struct verdict *ret)
{
	struct weighing w = { .facts = facts,
		.step = step,
		.arg = arg,
		.near_reason = REASON_NO_RULE };
	struct verdict verdict = { .policy = policy,
		.tls = VERDICT_TLS_INSPECT };

	if (step != NULL)
		index_find_all(policy_index(policy), facts, weigh, &w);
	else
		index_find(policy_index(policy), facts, weigh, &w);
	if (w.sure[RULE_DENY].rule != NULL)
		answer(&verdict, VERDICT_DENY, REASON_DENIED,
		    w.sure[RULE_DENY].rule);
	else if (facts->last)
		answer_last(&w, &verdict);
	else
		answer_early(policy, &w, &verdict);
	if (verdict.rule == NULL)
		verdict.policy = NULL;
	verdict.unknown = w.unknown;
	*ret = verdict;
}

struct opening {
	const struct facts *facts;
	struct best opener;
	uint32_t target; /* of the opener's pattern */
	struct policy_opening found;
};

static void
weigh_opener(const struct rule *rule, uint32_t target, void *arg)
{
	struct opening *o = arg;
	struct rule_match match;

	if (rule->action == RULE_DENY)
		return;
	rule_weigh(rule, o->facts, &match);
	if (match.answer == ANSWER_NO ||
	    (match.answer == ANSWER_UNKNOWN && o->facts->last))
		return;
	/* A more specific host speaks for its connections alone. */
	if (o->opener.rule == NULL || target > o->target) {
		o->opener.rule = NULL;
		o->target = target;
		o->found = (struct policy_opening){ .all_private = true };
	}
	if (target < o->target)
		return;
	o->found.all_private = o->found.all_private && rule->private_addresses;
	if (rule->credential != NULL)
		o->found.any_credential = true;
	consider(&o->opener, rule, rank_of(rule, target, &match));
}

const struct rule *
policy_opener(const struct policy *policy, const struct facts *facts,
    struct policy_opening *ret)
{
	struct opening opening = { .facts = facts };
	struct verdict verdict;

	policy_decide(policy, facts, NULL, NULL, &verdict);
	if (verdict.kind == VERDICT_DENY)
		return NULL;
	index_find(policy_index(policy), facts, weigh_opener, &opening);
	*ret = opening.found;
	return opening.opener.rule;
}
