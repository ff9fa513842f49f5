/*
 * honour - what of the language this build cannot carry out in a run.
 *
 * A policy may be checked, explained and compared whatever it says; but a run
 * never begins with a rule that would be ignored.  One table says what is
 * carried out; a key leaves it in the change that makes it work.
 */
#ifndef POLICY_HONOUR_H
#define POLICY_HONOUR_H

#include "schema/attr.h"

#include <stdbool.h>

struct policy;
struct rule;

struct honour_gap {
	const char *key; /* as it stands in the document */
	const struct rule *rule; /* that states it; NULL: the policy itself */
};

/* Finds the first such key; borrows from policy. */
bool honour_find_gap(const struct policy *policy, struct honour_gap *ret)
    MUST_CHECK;

/*
 * Finds the first rule whose credential has(name, arg) says is not there;
 * NULL when every one is.
 */
const struct rule *honour_find_stranger(const struct policy *policy,
    bool (*has)(const char *credential, void *arg), void *arg);

/* The first rule that denies addresses; NULL when none does. */
const struct rule *honour_find_address_denial(const struct policy *policy);

#endif
