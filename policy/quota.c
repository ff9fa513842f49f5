#include "policy/quota.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static const char *const kind_names[] = {
	[QUOTA_REQUESTS] = "requests_per_minute",
	[QUOTA_CONNECTIONS] = "connections",
	[QUOTA_BYTES_OUT] = "bytes_out",
	[QUOTA_BYTES_IN] = "bytes_in",
};

static_assert(sizeof(kind_names) / sizeof(kind_names[0]) == QUOTA_KIND_COUNT,
    "every kind has a name");

const char *
quota_kind_name(enum quota_kind kind)
{
	return kind_names[kind];
}

bool
quota_is_stated(const struct quota *quota)
{
	for (size_t i = 0; i < QUOTA_KIND_COUNT; i++)
		if (quota->most[i] != 0)
			return true;
	return false;
}

bool
quota_equals(const struct quota *a, const struct quota *b)
{
	return memcmp(a->most, b->most, sizeof(a->most)) == 0;
}

bool
quota_within(const struct quota *narrow, const struct quota *wide)
{
	for (size_t i = 0; i < QUOTA_KIND_COUNT; i++)
		if (wide->most[i] != 0 &&
		    (narrow->most[i] == 0 || narrow->most[i] > wide->most[i]))
			return false;
	return true;
}
