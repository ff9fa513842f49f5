#include "gateway/audit/dictionary.h"

#include "schema/limits.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* A power of two, so that chains stay short up to LIMIT_AUDIT_STRINGS. */
enum {
	SLOT_BITS = 16,
	SLOT_COUNT = 1 << SLOT_BITS
};

struct entry {
	struct entry *below; /* in its slot */
	struct entry *older; /* by time of adding */
	int64_t id;
	uint32_t slot;
	size_t length;
	enum dictionary_table table;
	unsigned char key[];
};

struct dictionary {
	struct entry *slots[SLOT_COUNT];
	struct entry *newest;
	size_t count, fresh; /* fresh: since dictionary_begin() */
	uint64_t seed; /* names come from sandboxes: chains stay unguessable */
};

static uint32_t
slot_of(const struct dictionary *dictionary, enum dictionary_table table,
    struct cursor key)
{
	const uint64_t prime = UINT64_C(0x100000001b3);
	uint64_t hash = (dictionary->seed ^ (uint64_t)table) * prime;

	for (size_t i = 0; i < key.left; i++)
		hash = (hash ^ key.at[i]) * prime;
	hash ^= hash >> 29;
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(hash >> (64 - SLOT_BITS));
}

struct dictionary *
dictionary_new(void)
{
	struct dictionary *dictionary = calloc(1, sizeof(*dictionary));

	if (dictionary == NULL)
		return NULL;
	if (getrandom(&dictionary->seed, sizeof(dictionary->seed), 0) !=
	    (ssize_t)sizeof(dictionary->seed)) {
		free(dictionary);
		return NULL;
	}
	return dictionary;
}

/* What was added last stands first in its slot. */
static void
drop_newest(struct dictionary *dictionary)
{
	struct entry *entry = dictionary->newest;

	dictionary->slots[entry->slot] = entry->below;
	dictionary->newest = entry->older;
	dictionary->count--;
	free(entry);
}

void
dictionary_free(struct dictionary *dictionary)
{
	if (dictionary == NULL)
		return;
	while (dictionary->newest != NULL)
		drop_newest(dictionary);
	free(dictionary);
}

int64_t
dictionary_find(const struct dictionary *dictionary,
    enum dictionary_table table, struct cursor key)
{
	const struct entry *entry =
	    dictionary->slots[slot_of(dictionary, table, key)];

	for (; entry != NULL; entry = entry->below)
		if (entry->table == table && entry->length == key.left &&
		    memcmp(entry->key, key.at, key.left) == 0)
			return entry->id;
	return 0;
}

void
dictionary_add(struct dictionary *dictionary, enum dictionary_table table,
    struct cursor key, int64_t id)
{
	struct entry *entry = calloc(1, sizeof(*entry) + key.left);

	if (entry == NULL)
		return;
	entry->id = id;
	entry->table = table;
	entry->length = key.left;
	entry->slot = slot_of(dictionary, table, key);
	if (key.left > 0)
		memcpy(entry->key, key.at, key.left);
	entry->below = dictionary->slots[entry->slot];
	dictionary->slots[entry->slot] = entry;
	entry->older = dictionary->newest;
	dictionary->newest = entry;
	dictionary->count++;
	dictionary->fresh++;
}

void
dictionary_begin(struct dictionary *dictionary)
{
	if (dictionary->count >= LIMIT_AUDIT_STRINGS)
		while (dictionary->newest != NULL)
			drop_newest(dictionary);
	dictionary->fresh = 0;
}

void
dictionary_forget(struct dictionary *dictionary)
{
	for (; dictionary->fresh > 0; dictionary->fresh--)
		drop_newest(dictionary);
}
