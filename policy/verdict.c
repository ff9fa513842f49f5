#include "policy/verdict.h"

#include "policy/rule.h"

#include <assert.h>

static const char *const kind_names[] = {
	[VERDICT_DENY] = "deny",
	[VERDICT_NEED_MORE] = "need_more",
	[VERDICT_ASK] = "ask",
	[VERDICT_ALLOW] = "allow",
};

static_assert(sizeof(kind_names) / sizeof(kind_names[0]) == VERDICT_KIND_COUNT,
    "every verdict has a name");

bool
verdict_allows(const struct verdict *verdict)
{
	return verdict->kind == VERDICT_ALLOW;
}

const struct rule *
verdict_credential(const struct verdict *verdict)
{
	for (size_t i = verdict->opener_count; i-- > 0;)
		if (verdict->openers[i]->credential != NULL)
			return verdict->openers[i];
	return NULL;
}

bool
verdict_logs_mcp(const struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->opener_count; i++)
		if (verdict->openers[i]->log_mcp)
			return true;
	return false;
}

const char *
verdict_name(enum verdict_kind kind)
{
	return kind_names[kind];
}
