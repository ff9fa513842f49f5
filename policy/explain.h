/*
 * explain - a verdict told in words, by listening to decide's steps.
 */
#ifndef POLICY_EXPLAIN_H
#define POLICY_EXPLAIN_H

#include "policy/decide.h"

#define EXPLAIN_WHY_MAX 600

/* why is NULL when all conditions of the rule hold. */
typedef void explain_line(const struct rule *rule, const char *why, void *arg);

/*
 * Fills *ret as policy_decide() does, and tells of every rule for this host,
 * and of every rule for a host that looks like it.
 */
void explain_policy(const struct policy *policy, const struct facts *facts,
    explain_line *line, void *arg, struct verdict *ret);

#endif
