/*
 * verdict - the answer to a question: what may happen, by which rule, why.
 */
#ifndef POLICY_VERDICT_H
#define POLICY_VERDICT_H

#include "schema/attr.h"
#include "schema/limits.h"
#include "schema/reason.h"

#include <stdbool.h>
#include <stddef.h>

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
	/*
	 * It is only watched: rule and reason are those of the refusal that
	 * it would have been.
	 */
	bool would_deny;
	enum verdict_tls tls;
	/* The rule that gave it, and its policy; NULL when none did. */
	const struct rule *rule;
	const struct policy *policy;
	/* What is not known and could matter: 1 << enum rule_term for each. */
	unsigned unknown;
	/*
	 * When it is allowed or asked for: the rule of each layer, outermost
	 * first.  The limits of all of them hold, and of all policies; a
	 * message is recorded when one of them logs it.
	 */
	const struct rule *openers[LIMIT_LAYERS];
	size_t opener_count;
};

bool verdict_allows(const struct verdict *verdict);

/*
 * The innermost rule that names a credential, or NULL: its credential goes
 * along, and its "clear" and "echo" say how.
 */
const struct rule *verdict_credential(const struct verdict *verdict);

/* Whether the messages in what is allowed are to be recorded. */
bool verdict_logs_mcp(const struct verdict *verdict);

const char *verdict_name(enum verdict_kind kind);

#endif
