/*
 * coherence - whether the parts of one rule go together.
 *
 * A setting that would have no effect, a condition that nobody could judge
 * and a pattern as wide as the internet are refused when the rule is read,
 * and not ignored when it is asked.
 */
#ifndef POLICY_COHERENCE_H
#define POLICY_COHERENCE_H

#include "policy/report.h"
#include "policy/rule.h"

/* Which keys the document states, as far as the rule does not show it. */
struct coherence_stated {
	bool access, tls, private_addresses, port, ask, clear, mcp;
};

/* Reports what does not go together, and puts in ports not stated. */
void coherence_check(struct rule *rule, const struct coherence_stated *stated,
    const struct place *place, const struct report *report);

#endif
