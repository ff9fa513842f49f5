/*
 * asker - a program, or a message, that conditions on one leave.
 *
 * Written as the words of a question (policy/question); nothing is written
 * where an unknown program, or no message at all, is what they leave.
 */
#ifndef POLICY_ASKER_H
#define POLICY_ASKER_H

#include "schema/attr.h"
#include "schema/limits.h"

#include <stdbool.h>
#include <stddef.h>

struct cursor_writer;
struct rule;

/* What a rule asks of one of both, or the opposite of it. */
struct asker_condition {
	const struct rule *rule; /* borrowed */
	bool negated;
};

struct asker {
	struct asker_condition list[LIMIT_REGION_CONDITIONS];
	size_t count;
};

/* STATUS_NOT_FOUND when they leave none, STATUS_FULL, STATUS_NO_MEMORY. */
int asker_sample_program(const struct asker *asker, struct cursor_writer *out)
    MUST_CHECK;
int asker_sample_message(const struct asker *asker, struct cursor_writer *out)
    MUST_CHECK;

#endif
