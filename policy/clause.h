/*
 * clause - one rule of the document, key by key, from a table.
 */
#ifndef POLICY_CLAUSE_H
#define POLICY_CLAUSE_H

#include "policy/hostlist.h"
#include "policy/report.h"
#include "policy/rule.h"

#include <jansson.h>

/* What the rules of one document are read with; all borrowed. */
struct clause_context {
	const struct report *report;
	const struct hostset *sets;
	size_t set_count;
};

/*
 * Gives a rule, to be freed with rule_done().  False when there is something
 * wrong with it; every problem of it is reported and *ret left alone.
 */
bool clause_read(const struct clause_context *context, json_t *value,
    const struct place *place, struct rule *ret) MUST_CHECK;

#endif
