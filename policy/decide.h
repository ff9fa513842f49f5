/*
 * decide - put a question to one policy.
 *
 * Rules have no order: a deny that matches overrides an ask, an ask overrides
 * an allow, and if nothing matches the answer is deny.  A fact not yet known
 * makes a condition neither true nor false: while a deny could still match
 * what some rule may allow, the answer is need_more.  At the last stage the
 * unknown counts against the request, as a match for deny and ask and a miss
 * for allow.
 *
 * An ask for TLS that nobody looks into says that a person would have been
 * asked about what is in it.  Only those that look back at a connection are
 * answered so: a gateway looks into it, since no rule that asks is about
 * bytes that pass unread, and puts each request to us.
 *
 * When nothing matches, the reason is the one condition that kept the most
 * specific allow rule from matching, if that was its method, path or upgrade.
 *
 * Pure: no clock, no I/O, no allocation; facts carry the time.
 */
#ifndef POLICY_DECIDE_H
#define POLICY_DECIDE_H

#include "policy/facts.h"
#include "policy/policy.h"
#include "policy/rule.h"
#include "policy/verdict.h"

/* Told of every rule weighed: its target matched, this is how the rest did. */
typedef void decide_step(
    const struct rule *rule, const struct rule_match *match, void *arg);

/*
 * Fills *ret and cannot fail.  Borrows policy and facts for the call; ret
 * borrows its rule from policy, so hold a reference while you hold a verdict.
 * step may be NULL.
 */
void policy_decide(const struct policy *policy, const struct facts *facts,
    decide_step *step, void *arg, struct verdict *ret);

/*
 * What all rules of a host together say of a connection to it, which is made
 * before all is known of its requests.
 */
struct policy_opening {
	bool all_private; /* every one allows addresses that are not public */
	bool any_credential; /* one names a credential */
};

/*
 * The allow rule that would open the connection of an attempt which nothing
 * denies for certain: the most specific one that matches or still may.  NULL
 * when there is none.  *ret is about every such rule.
 */
const struct rule *policy_opener(const struct policy *policy,
    const struct facts *facts, struct policy_opening *ret);

#endif
