#include "schema/status.h"

#include <assert.h>
#include <stddef.h>

static const char *const names[] = {
	[-STATUS_OK] = "ok",
	[-STATUS_NO_MEMORY] = "no memory",
	[-STATUS_TOO_LONG] = "too long",
	[-STATUS_MALFORMED] = "malformed",
	[-STATUS_FULL] = "full",
	[-STATUS_NOT_FOUND] = "not found",
	[-STATUS_REFUSED] = "refused",
	[-STATUS_SYSTEM] = "system error",
	[-STATUS_CLOSED] = "closed",
	[-STATUS_TIMEOUT] = "timed out",
	[-STATUS_PROBLEM] = "problem",
	[-STATUS_AGAIN] = "again",
};

static_assert(sizeof(names) / sizeof(names[0]) == STATUS_COUNT,
    "every status has a name");

const char *
status_name(int status)
{
	if (status > 0 || status <= -STATUS_COUNT)
		return "unknown";
	return names[-status];
}
