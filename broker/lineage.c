#include "broker/lineage.h"

#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

struct lineage {
	struct lineage_entry *first, **last;
	size_t count;
};

struct lineage *
lineage_new(void)
{
	struct lineage *lineage = calloc(1, sizeof(*lineage));

	if (lineage != NULL)
		lineage->last = &lineage->first;
	return lineage;
}

void
lineage_free(struct lineage *lineage)
{
	if (lineage == NULL)
		return;
	while (lineage->first != NULL) {
		struct lineage_entry *entry = lineage->first;

		lineage->first = entry->next;
		free(entry);
	}
	free(lineage);
}

const struct lineage_entry *
lineage_find(const struct lineage *lineage, const char *id)
{
	const struct lineage_entry *entry = lineage->first;

	while (entry != NULL && strcmp(entry->token.id, id) != 0)
		entry = entry->next;
	return entry;
}

const struct lineage_entry *
lineage_first(const struct lineage *lineage)
{
	return lineage->first;
}

int
lineage_add(struct lineage *lineage, const struct token *token)
{
	const struct lineage_entry *parent = NULL;
	struct lineage_entry *entry;

	if (lineage->count >= LIMIT_TOKENS)
		return STATUS_FULL;
	if (token->depth > 0) {
		parent = lineage_find(lineage, token->parent);
		if (parent == NULL)
			return STATUS_NOT_FOUND;
		if (parent->revoked ||
		    parent->token.expires_s < token->expires_s)
			return STATUS_REFUSED;
	}
	entry = calloc(1, sizeof(*entry));
	if (entry == NULL)
		return STATUS_NO_MEMORY;
	entry->token = *token;
	entry->parent = parent;
	*lineage->last = entry;
	lineage->last = &entry->next;
	lineage->count++;
	return STATUS_OK;
}

int
lineage_revoke(struct lineage *lineage, const char *id, size_t *ret)
{
	struct lineage_entry *entry = lineage->first;
	size_t count = 0;
	bool found = false;

	/* Parents stand before their children, so once is enough. */
	for (; entry != NULL; entry = entry->next) {
		bool is_it = strcmp(entry->token.id, id) == 0;

		found = found || is_it;
		if (entry->revoked || (!is_it && (entry->parent == NULL ||
						     !entry->parent->revoked)))
			continue;
		entry->revoked = true;
		count++;
	}
	if (!found)
		return STATUS_NOT_FOUND;
	*ret = count;
	return STATUS_OK;
}

void
lineage_expire(struct lineage *lineage, int64_t now_s)
{
	struct lineage_entry **at = &lineage->first;

	while (*at != NULL) {
		struct lineage_entry *entry = *at;

		if (entry->token.expires_s > now_s) {
			at = &entry->next;
			continue;
		}
		*at = entry->next;
		lineage->count--;
		free(entry);
	}
	lineage->last = at;
}
