#include "broker/vault.h"

#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

int
vault_init(struct vault *vault)
{
	vault->count = 0;
	vault->entries = calloc(LIMIT_CREDENTIALS, sizeof(*vault->entries));
	return vault->entries == NULL ? STATUS_NO_MEMORY : STATUS_OK;
}

void
vault_done(struct vault *vault)
{
	for (size_t i = 0; i < vault->count; i++)
		secret_free(STEAL(vault->entries[i].secret));
	vault->count = 0;
	free(STEAL(vault->entries));
}

static struct vault_entry *
find(struct vault *vault, const char *name)
{
	for (size_t i = 0; i < vault->count; i++)
		if (strcmp(vault->entries[i].name, name) == 0)
			return &vault->entries[i];
	return NULL;
}

const struct secret *
vault_put(struct vault *vault, const char *name, struct secret *secret)
{
	struct vault_entry *entry = find(vault, name);

	if (entry == NULL && vault->count < LIMIT_CREDENTIALS &&
	    strlen(name) <= LIMIT_CREDENTIAL_NAME) {
		entry = &vault->entries[vault->count++];
		*entry = (struct vault_entry){ .secret = NULL };
		memcpy(entry->name, name, strlen(name) + 1);
	}
	if (entry == NULL) {
		secret_free(secret);
		return NULL;
	}
	secret_free(entry->secret);
	entry->secret = secret;
	return secret;
}

void
vault_drop(struct vault *vault, const char *name)
{
	struct vault_entry *entry = find(vault, name);

	if (entry != NULL)
		secret_free(STEAL(entry->secret));
}
