#include "broker/kinds.h"

#include "broker/mint_static.h"

#include <string.h>

static const struct mint *const kinds[] = {
	&mint_bearer,
	&mint_basic,
	&mint_header,
	&mint_query,
};

const struct mint *
kinds_find(const char *kind)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i]->kind, kind) == 0)
			return kinds[i];
	return NULL;
}
