/*
 * verdict - the answer to a question: what may happen, by which rule, why.
 */
#ifndef POLICY_VERDICT_H
#define POLICY_VERDICT_H

#include "schema/attr.h"
#include "schema/reason.h"

#include <stdbool.h>

struct policy;
struct rule;

/* From the strictest to the widest; layers intersect in this order. */
enum verdict_kind {
	VERDICT_DENY,
	VERDICT_NEED_MORE,
	VERDICT_ASK,
	VERDICT_ALLOW,
	VERDICT_KIND_COUNT
};

enum verdict_tls {
	VERDICT_TLS_INSPECT,
	VERDICT_TLS_PASSTHROUGH
};

struct verdict {
	enum verdict_kind kind;
	enum reason reason; /* REASON_NONE when allowed */
	enum verdict_tls tls;
	/* The rule that gave it, and its policy; NULL when none did. */
	const struct rule *rule;
	const struct policy *policy;
};

bool verdict_allows(const struct verdict *verdict);
const char *verdict_name(enum verdict_kind kind);

#endif
