#include "gateway/cli/needs.h"

#include "policy/honour.h"
#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

int
needs_add_name(struct needs *needs, const char *name)
{
	for (size_t i = 0; i < needs->count; i++)
		if (strcmp(needs->names[i], name) == 0)
			return STATUS_OK;
	if (needs->count == LIMIT_CREDENTIALS ||
	    strlen(name) > LIMIT_CREDENTIAL_NAME)
		return STATUS_FULL;
	if (needs->names == NULL)
		needs->names = calloc(LIMIT_CREDENTIALS, sizeof(*needs->names));
	if (needs->names == NULL)
		return STATUS_NO_MEMORY;
	memcpy(needs->names[needs->count++], name, strlen(name) + 1);
	return STATUS_OK;
}

/* Ends the search at the first name that there is no room for. */
static bool
has(const char *credential, void *arg)
{
	return needs_add_name(arg, credential) == STATUS_OK;
}

int
needs_add(struct needs *needs, const struct policy *policy)
{
	if (honour_find_stranger(policy, has, needs) != NULL)
		return STATUS_FULL;
	return STATUS_OK;
}

void
needs_done(struct needs *needs)
{
	free(STEAL(needs->names));
	needs->count = 0;
}
