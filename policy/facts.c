#include "policy/facts.h"

#include <assert.h>

static const char *const stage_names[] = {
	[STAGE_NAME] = "name",
	[STAGE_CONNECT] = "connect",
	[STAGE_HELLO] = "hello",
	[STAGE_REQUEST] = "request",
};

static_assert(sizeof(stage_names) / sizeof(stage_names[0]) == STAGE_COUNT,
    "every stage has a name");

const char *
stage_name(enum stage stage)
{
	return stage_names[stage];
}
