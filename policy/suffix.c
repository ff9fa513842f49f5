#include "policy/suffix.h"

#include <libpsl.h>
#include <stddef.h>

bool
suffix_is_public(const char *name)
{
	const psl_ctx_t *list = psl_builtin();

	if (list == NULL || name[0] == '\0')
		return true;
	return psl_is_public_suffix(list, name) != 0;
}
