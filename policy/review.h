/*
 * review - what is wrong with rules that each read well: one by the other.
 *
 * A duplicate id, a rule that a deny leaves nothing of, and two rules of which
 * nobody could say whose settings hold.
 */
#ifndef POLICY_REVIEW_H
#define POLICY_REVIEW_H

#include "policy/policy.h"
#include "policy/report.h"

/* places[n] is where in the document rule n of the policy stands. */
void review_policy(const struct policy *policy, const struct place *places,
    const struct report *report);

#endif
