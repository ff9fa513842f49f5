#include "policy/pathindex.h"

#include <stdlib.h>
#include <string.h>

/* One path of one rule. */
struct twig {
	const struct pathmatch *path;
	uint64_t hash; /* of its beginning */
	uint16_t length; /* of it, in tokens */
	uint32_t place;
	uint32_t next; /* of the same slot, and one; 0: none */
};

struct pathindex {
	struct twig *twigs;
	size_t twig_count;
	uint32_t *slots; /* number of a twig and one, or 0 */
	size_t slot_mask;
	uint32_t *always; /* places of rules without a path, and of examples */
	size_t always_count;
	bool used[LIMIT_PATTERN + 1]; /* lengths of beginnings */
	size_t longest;
};

#define HASH_START UINT64_C(0xcbf29ce484222325)

static uint64_t
hash_token(uint64_t hash, uint16_t token)
{
	return (hash ^ token) * UINT64_C(0x100000001b3);
}

static size_t
slot_of(const struct pathindex *index, uint64_t hash)
{
	return (size_t)(hash ^ hash >> 32) & index->slot_mask;
}

/* What every path begins with that this one matches. */
static size_t
beginning_of(const struct pathmatch *path)
{
	size_t length = path->prefix;

	if (path->parent && length > path->length - 2)
		length = path->length - 2;
	return length;
}

static void
add_twig(struct pathindex *index, const struct pathmatch *path, uint32_t place)
{
	struct twig *twig = &index->twigs[index->twig_count++];
	size_t length = beginning_of(path), slot;

	*twig = (struct twig){ .path = path,
		.hash = HASH_START,
		.length = (uint16_t)length,
		.place = place };
	for (size_t i = 0; i < length; i++)
		twig->hash = hash_token(twig->hash, path->tokens[i]);
	slot = slot_of(index, twig->hash);
	twig->next = index->slots[slot];
	index->slots[slot] = (uint32_t)index->twig_count;
	index->used[length] = true;
	if (length > index->longest)
		index->longest = length;
}

/* ---- rules that ask the same but for their paths ---- */

static int
compare_sizes(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

static int
compare_times(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int
compare_texts(char *const *a, size_t a_count, char *const *b, size_t b_count)
{
	int order = compare_sizes(a_count, b_count);

	for (size_t i = 0; order == 0 && i < a_count; i++)
		order = strcmp(a[i], b[i]);
	return order;
}

static int
compare_ports(const struct rule *a, const struct rule *b)
{
	int order = compare_sizes(a->port_count, b->port_count);

	for (size_t i = 0; order == 0 && i < a->port_count; i++)
		order = a->ports[i].first != b->ports[i].first
			    ? a->ports[i].first - b->ports[i].first
			    : a->ports[i].last - b->ports[i].last;
	return order;
}

static int
compare_queries(const struct rule *a, const struct rule *b)
{
	int order = compare_sizes(a->query_count, b->query_count);

	for (size_t i = 0; order == 0 && i < a->query_count; i++) {
		order = strcmp(a->queries[i].name, b->queries[i].name);
		if (order == 0)
			order = strcmp(
			    a->queries[i].value.text, b->queries[i].value.text);
	}
	return order;
}

static int
compare_kinds(const struct rule *a, const struct rule *b)
{
	int order = (int)a->action - (int)b->action;

	if (order == 0)
		order = (int)a->protocol - (int)b->protocol;
	if (order == 0)
		order = (int)a->access - (int)b->access;
	if (order == 0)
		order = compare_times(a->valid_from_us, b->valid_from_us);
	if (order == 0)
		order = compare_times(a->valid_until_us, b->valid_until_us);
	return order;
}

/* How a rule is found counts, too: with its host it has its rank. */
static int
compare_targets(const struct rule *a, const struct rule *b)
{
	int order = compare_sizes(a->host_count, b->host_count);

	if (order == 0)
		order = compare_sizes(a->address_count, b->address_count);
	for (size_t i = 0; order == 0 && i < a->host_count; i++) {
		order = (int)a->hosts[i].kind - (int)b->hosts[i].kind;
		if (order == 0)
			order = strcmp(a->hosts[i].text, b->hosts[i].text);
	}
	for (size_t i = 0; order == 0 && i < a->address_count; i++)
		order = memcmp(&a->addresses[i], &b->addresses[i],
		    sizeof(a->addresses[i]));
	return order;
}

static int
compare_conditions(const struct rule *a, const struct rule *b)
{
	int order = compare_kinds(a, b);

	if (order == 0)
		order = compare_targets(a, b);
	if (order == 0)
		order = compare_ports(a, b);
	if (order == 0)
		order = compare_texts(
		    a->methods, a->method_count, b->methods, b->method_count);
	if (order == 0)
		order = compare_texts(a->upgrades, a->upgrade_count,
		    b->upgrades, b->upgrade_count);
	return order == 0 ? compare_queries(a, b) : order;
}

static int
compare_items(const void *x, const void *y)
{
	const struct pathindex_item *a = x, *b = y;
	int order = compare_conditions(a->rule, b->rule);

	return order != 0 ? order : strcmp(a->rule->id, b->rule->id);
}

static bool
reserve(struct pathindex *index, size_t twigs, size_t count)
{
	size_t slots = 16;

	while (slots < 2 * twigs)
		slots *= 2;
	index->slot_mask = slots - 1;
	index->slots = calloc(slots, sizeof(*index->slots));
	index->twigs = calloc(twigs + 1, sizeof(*index->twigs));
	index->always = calloc(count + 1, sizeof(*index->always));
	return index->slots != NULL && index->twigs != NULL &&
	       index->always != NULL;
}

struct pathindex *
pathindex_new(struct pathindex_item *items, size_t count)
{
	struct pathindex *index = calloc(1, sizeof(*index));
	size_t twigs = 0;

	for (size_t i = 0; i < count; i++)
		twigs += items[i].rule->path_count;
	if (index == NULL || !reserve(index, twigs, count)) {
		pathindex_free(index);
		return NULL;
	}
	if (count > 1)
		qsort(items, count, sizeof(*items), compare_items);
	for (size_t i = 0; i < count; i++) {
		const struct rule *rule = items[i].rule;
		bool first =
		    i == 0 || compare_conditions(items[i - 1].rule, rule) != 0;

		for (size_t k = 0; k < rule->path_count; k++)
			add_twig(index, &rule->paths[k], items[i].place);
		if (first || rule->path_count == 0)
			index->always[index->always_count++] = items[i].place;
	}
	return index;
}

void
pathindex_free(struct pathindex *index)
{
	if (index == NULL)
		return;
	free(index->twigs);
	free(index->slots);
	free(index->always);
	free(index);
}

static void
find_beginning(const struct pathindex *index, uint64_t hash, size_t length,
    pathindex_found *found, void *arg)
{
	uint32_t number = index->slots[slot_of(index, hash)];

	while (number != 0) {
		const struct twig *twig = &index->twigs[number - 1];

		/* One that only looks alike is weighed, and fails. */
		if (twig->hash == hash && twig->length == length)
			found(twig->place, arg);
		number = twig->next;
	}
}

void
pathindex_find(const struct pathindex *index, struct cursor path,
    pathindex_found *found, void *arg)
{
	uint64_t hash = HASH_START;
	uint16_t token;

	for (size_t i = 0; i < index->always_count; i++)
		found(index->always[i], arg);
	for (size_t length = 0; length <= index->longest; length++) {
		if (index->used[length])
			find_beginning(index, hash, length, found, arg);
		if (!pathmatch_next(&path, &token))
			break;
		hash = hash_token(hash, token);
	}
}
