#include "policy/rank.h"

#include <assert.h>

/* From the top: kind (2 bits), path (11), methods (1), length (8). */
enum {
	LENGTH_BITS = 8,
	METHODS_SHIFT = LENGTH_BITS,
	PATH_SHIFT = METHODS_SHIFT + 1,
	PATH_BITS = 11,
	KIND_SHIFT = PATH_SHIFT + PATH_BITS
};

static_assert(LIMIT_PATTERN < 1 << PATH_BITS, "a path's length has room");
static_assert(LIMIT_HOST < 1 << LENGTH_BITS, "a host's length has room");

uint32_t
rank_of_host(const struct hostmatch *match)
{
	uint32_t kind = HOSTMATCH_SUFFIX - match->kind;

	return kind << KIND_SHIFT | match->length;
}

uint32_t
rank_of_cidr(const struct cidr *cidr)
{
	uint32_t kind = HOSTMATCH_SUFFIX - HOSTMATCH_EXACT;

	return kind << KIND_SHIFT | cidr->bits;
}

uint32_t
rank_of_rule(uint32_t target, size_t path, bool methods)
{
	return target | (uint32_t)path << PATH_SHIFT |
	       (uint32_t)methods << METHODS_SHIFT;
}
