/*
 * compare - what one stack of policies allows that another does not.
 *
 * Decided over the rules, not by trying requests: what some rule of every
 * layer opens and none denies is a region (policy/region); from it is taken
 * all that the other stack allows, and what is left is a difference.  Nothing
 * left is a proof.  Each difference comes with one request, put to both
 * stacks.
 *
 * A rule that sends the same request elsewhere ("private", "resolve",
 * "upstream_ca"), or with another credential or more openly ("credential",
 * "clear", "echo"), is a difference, too; here doubt counts as one: a rule for
 * several hosts may come before another for one of them only.  So it
 * does where a region is cut into too many pieces to tell.  How much is let
 * through ("limits") is not weighed: the limits of every layer hold.
 */
#ifndef POLICY_COMPARE_H
#define POLICY_COMPARE_H

#include "policy/region.h"

#include <stdbool.h>
#include <stdint.h>

struct stack;

enum compare_kind {
	COMPARE_ALLOWS, /* allowed, and was not */
	COMPARE_ASKS, /* a person may allow it, and nobody could */
	COMPARE_PRIVATE, /* reaches addresses that are not public */
	COMPARE_RESOLVE, /* goes to another address */
	COMPARE_TRUST, /* trusts another authority */
	COMPARE_CREDENTIAL, /* uses another credential, or more openly */
	COMPARE_UNDECIDED, /* too many pieces to tell */
	COMPARE_KIND_COUNT
};

struct compare_difference {
	enum compare_kind kind;
	const struct rule *rule; /* of the innermost layer that opens it */
	const struct region *region;
	const char *witness; /* a question in words, or NULL: none was made */
	bool confirmed; /* both stacks answer the witness as is said here */
};

/* False ends the comparison. */
typedef bool compare_found(
    const struct compare_difference *difference, void *arg);

/*
 * Tells every difference that is in b and not in a.  now_us is when requests
 * are made, where they say no time.  STATUS_NO_MEMORY: nothing is proved.
 */
int compare_stacks(const struct stack *a, const struct stack *b, int64_t now_us,
    compare_found *found, void *arg) MUST_CHECK;

const char *compare_kind_name(enum compare_kind kind);

#endif
