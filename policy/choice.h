/*
 * choice - all conditions of a list that are on the same thing.
 */
#ifndef POLICY_CHOICE_H
#define POLICY_CHOICE_H

#include "policy/condition.h"
#include "schema/limits.h"

struct choice {
	const struct condition *list[LIMIT_REGION_CONDITIONS];
	size_t count;
	int64_t now_us;
};

#endif
