#include "policy/verdict.h"

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

const char *
verdict_name(enum verdict_kind kind)
{
	return kind_names[kind];
}
