/*
 * Any bytes as a policy: a policy or problems, never both; and the policy
 * answers every question the same way twice.
 */
#include "policy/document.h"

#include "policy/decide.h"
#include "policy/describe.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void
describe_all(const struct policy *policy)
{
	char words[4096];

	for (size_t i = 0; i < policy_rule_count(policy); i++) {
		struct cursor_writer out =
		    cursor_writer_of(words, sizeof(words));

		describe_rule(policy_rule(policy, i), &out);
	}
}

/* No rule, no way out: a name that the document cannot hold. */
static void
ask_for_nobody(const struct policy *policy)
{
	struct facts facts = { .stage = STAGE_REQUEST,
		.last = true,
		.port = 443,
		.protocol = FACT_PROTOCOL_HTTP,
		.method = "GET" };
	struct verdict verdict;

	policy_decide(policy, &facts, NULL, NULL, &verdict);
	if (verdict.kind != VERDICT_DENY)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct problems problems = { 0 };
	struct policy *policy = NULL;
	int status =
	    document_load(cursor_of(bytes, length), "fuzz", &policy, &problems);

	if ((status == STATUS_OK) == problems_any(&problems) ||
	    (status == STATUS_OK) != (policy != NULL))
		abort();
	if (policy != NULL) {
		describe_all(policy);
		ask_for_nobody(policy);
	}
	policy_unref(policy);
	problems_done(&problems);
	return 0;
}
