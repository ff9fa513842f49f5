#include "policy/index.h"

#include "policy/pathindex.h"
#include "policy/rank.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* One pattern of one rule. */
struct entry {
	const struct rule *rule;
	const struct hostmatch *host; /* NULL: an address range */
	uint32_t target;
	bool wide; /* a range that stands for the public internet */
};

/* All entries with one key. */
struct node {
	const unsigned char *key;
	uint64_t hash;
	size_t length;
	size_t first, count; /* in entries */
	struct pathindex *paths; /* of many entries; else NULL */
};

/* Fewer entries than these are weighed one by one. */
#define MANY 16

#define CIDR_KEY 18 /* length, bits, and the address */

struct index {
	struct node *nodes;
	size_t node_count;
	uint32_t *slots; /* number of a node and one, or 0 */
	size_t slot_mask;
	struct entry *entries;
	unsigned char *cidr_keys;
	bool v4_bits[33], v6_bits[129]; /* prefix lengths in use */
};

/* FNV-1a, taken from the right so that a longer name goes on from a shorter. */
#define HASH_START UINT64_C(0xcbf29ce484222325)

static uint64_t
hash_byte(uint64_t hash, unsigned char byte)
{
	return (hash ^ byte) * UINT64_C(0x100000001b3);
}

static uint64_t
hash_bytes(const unsigned char *bytes, size_t length)
{
	uint64_t hash = HASH_START;

	while (length > 0)
		hash = hash_byte(hash, bytes[--length]);
	return hash;
}

/* The low bits of FNV alone are weak for short names. */
static size_t
slot_of(const struct index *index, uint64_t hash)
{
	return (size_t)(hash ^ hash >> 32) & index->slot_mask;
}

/* The slot of a key, or the empty one where it belongs. */
static size_t
find_slot(const struct index *index, const unsigned char *key, size_t length,
    uint64_t hash)
{
	size_t slot = slot_of(index, hash);

	while (index->slots[slot] != 0) {
		const struct node *node = &index->nodes[index->slots[slot] - 1];

		if (node->hash == hash && node->length == length &&
		    (length == 0 || memcmp(node->key, key, length) == 0))
			break;
		slot = (slot + 1) & index->slot_mask;
	}
	return slot;
}

static const struct node *
find_node(const struct index *index, const unsigned char *key, size_t length,
    uint64_t hash)
{
	uint32_t number = index->slots[find_slot(index, key, length, hash)];

	return number == 0 ? NULL : &index->nodes[number - 1];
}

static struct node *
make_node(struct index *index, const unsigned char *key, size_t length)
{
	uint64_t hash = hash_bytes(key, length);
	size_t slot = find_slot(index, key, length, hash);
	struct node *node;

	if (index->slots[slot] != 0)
		return &index->nodes[index->slots[slot] - 1];
	node = &index->nodes[index->node_count++];
	index->slots[slot] = (uint32_t)index->node_count;
	*node = (struct node){ .key = key, .hash = hash, .length = length };
	return node;
}

/* No name has a byte as small as these lengths. */
static void
write_cidr_key(
    unsigned char key[CIDR_KEY], const struct address *address, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	memset(key, 0, CIDR_KEY);
	key[0] = address->length;
	key[1] = (unsigned char)bits;
	memcpy(key + 2, address->bytes, whole);
	if (rest > 0)
		key[2 + whole] = (unsigned char)(address->bytes[whole] &
						 0xffU << (8 - rest));
}

static struct node *
node_of_host(struct index *index, const struct hostmatch *match)
{
	const char *zone = hostmatch_zone(match);
	const char *key = zone == NULL ? match->text : zone;

	return make_node(index, (const unsigned char *)key, strlen(key));
}

static struct node *
node_of_cidr(struct index *index, const struct cidr *cidr, size_t number)
{
	unsigned char *key = index->cidr_keys + number * CIDR_KEY;

	write_cidr_key(key, &cidr->address, cidr->bits);
	if (cidr->address.length == 4)
		index->v4_bits[cidr->bits] = true;
	else
		index->v6_bits[cidr->bits] = true;
	return make_node(index, key, CIDR_KEY);
}

static void
add_entry(struct index *index, struct node *node, const struct entry *entry)
{
	index->entries[node->first + node->count++] = *entry;
}

/*
 * Twice over the rules: first with fill false, which counts the entries of
 * each node, then to put them in their places.
 */
static void
walk_rules(
    struct index *index, const struct rule *rules, size_t count, bool fill)
{
	size_t cidrs = 0;

	for (size_t i = 0; i < count; i++) {
		struct entry entry = { .rule = &rules[i] };

		for (size_t k = 0; k < rules[i].host_count; k++) {
			struct node *node =
			    node_of_host(index, &rules[i].hosts[k]);

			entry.host = &rules[i].hosts[k];
			entry.target = rank_of_host(entry.host);
			if (fill)
				add_entry(index, node, &entry);
			else
				node->count++;
		}
		entry.host = NULL;
		for (size_t k = 0; k < rules[i].address_count; k++) {
			const struct cidr *cidr = &rules[i].addresses[k];
			struct node *node = node_of_cidr(index, cidr, cidrs++);

			entry.target = rank_of_cidr(cidr);
			entry.wide = cidr_is_wide(cidr);
			if (fill)
				add_entry(index, node, &entry);
			else
				node->count++;
		}
	}
}

static void
place_nodes(struct index *index)
{
	size_t first = 0;

	for (size_t i = 0; i < index->node_count; i++) {
		index->nodes[i].first = first;
		first += index->nodes[i].count;
		index->nodes[i].count = 0;
	}
}

static bool
reserve(struct index *index, size_t hosts, size_t cidrs)
{
	size_t slots = 16;

	while (slots < 2 * (hosts + cidrs))
		slots *= 2;
	index->slot_mask = slots - 1;
	index->slots = calloc(slots, sizeof(*index->slots));
	index->nodes = calloc(hosts + cidrs + 1, sizeof(*index->nodes));
	index->entries = calloc(hosts + cidrs + 1, sizeof(*index->entries));
	index->cidr_keys = calloc(cidrs + 1, CIDR_KEY);
	return index->slots != NULL && index->nodes != NULL &&
	       index->entries != NULL && index->cidr_keys != NULL;
}

/* The rules of one host by their paths; false when there is no memory. */
static bool
sort_paths(struct index *index, struct node *node)
{
	struct pathindex_item *items = calloc(node->count, sizeof(*items));

	if (items == NULL)
		return false;
	for (size_t i = 0; i < node->count; i++)
		items[i] = (struct pathindex_item){
			.rule = index->entries[node->first + i].rule,
			.place = (uint32_t)(node->first + i),
		};
	node->paths = pathindex_new(items, node->count);
	free(items);
	return node->paths != NULL;
}

struct index *
index_new(const struct rule *rules, size_t count)
{
	struct index *index = calloc(1, sizeof(*index));
	size_t hosts = 0, cidrs = 0;

	if (index == NULL)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		hosts += rules[i].host_count;
		cidrs += rules[i].address_count;
	}
	assert(hosts + cidrs < UINT32_MAX / 4);
	if (!reserve(index, hosts, cidrs)) {
		index_free(index);
		return NULL;
	}
	walk_rules(index, rules, count, false);
	place_nodes(index);
	walk_rules(index, rules, count, true);
	for (size_t i = 0; i < index->node_count; i++)
		if (index->nodes[i].count >= MANY &&
		    !sort_paths(index, &index->nodes[i])) {
			index_free(index);
			return NULL;
		}
	return index;
}

void
index_free(struct index *index)
{
	if (index == NULL)
		return;
	for (size_t i = 0; i < index->node_count; i++)
		pathindex_free(index->nodes[i].paths);
	free(index->slots);
	free(index->nodes);
	free(index->entries);
	free(index->cidr_keys);
	free(index);
}

/* One question: a name, or a pattern all of whose names are meant. */
struct walk {
	const struct index *index;
	const struct hostname *name;
	const struct hostmatch *pattern; /* or NULL */
	const struct urlpath *path; /* or NULL: rules for every path */
	bool whole, special; /* of the node that is visited */
	index_found *found;
	void *arg;
};

/* All of the internet is no way to say 169.254.169.254. */
static bool
reaches(const struct entry *entry, bool special)
{
	return !special || !entry->wide || entry->rule->action == RULE_DENY;
}

static bool
concerns(const struct entry *entry, const struct walk *walk)
{
	if (walk->name == NULL)
		return entry->host == NULL && reaches(entry, walk->special);
	if (entry->host == NULL)
		return false;
	if (walk->pattern != NULL)
		return hostmatch_covers(entry->host, walk->pattern);
	switch (entry->host->kind) {
	case HOSTMATCH_EXACT:
		return walk->whole;
	case HOSTMATCH_SUFFIX:
		return !walk->whole;
	case HOSTMATCH_GLOB:
		return !walk->whole && hostmatch_holds(entry->host, walk->name);
	}
	return false;
}

static void
visit_entry(uint32_t place, void *arg)
{
	const struct walk *walk = arg;
	const struct entry *entry = &walk->index->entries[place];

	if (concerns(entry, walk))
		walk->found(entry->rule, entry->target, walk->arg);
}

static void
visit_node(struct walk *walk, const struct node *node)
{
	if (node == NULL)
		return;
	if (walk->path != NULL && node->paths != NULL) {
		pathindex_find(node->paths,
		    cursor_of(walk->path->text, walk->path->length),
		    visit_entry, walk);
		return;
	}
	for (size_t i = 0; i < node->count; i++)
		visit_entry((uint32_t)(node->first + i), walk);
}

/* The entries at name[at..]; at 0 it is the whole name. */
static void
visit_zone(struct walk *walk, size_t at, uint64_t hash)
{
	const struct hostname *name = walk->name;

	walk->whole = at == 0;
	visit_node(
	    walk, find_node(walk->index, (const unsigned char *)name->text + at,
		      name->length - at, hash));
}

static void
visit_zones(struct walk *walk)
{
	const struct hostname *name = walk->name;
	uint64_t hash = HASH_START;

	if (name->length > 0)
		visit_zone(walk, name->length, hash);
	for (size_t at = name->length; at-- > 0;) {
		if (name->text[at] == '.')
			visit_zone(walk, at + 1, hash);
		hash = hash_byte(hash, (unsigned char)name->text[at]);
	}
	visit_zone(walk, 0, hash);
}

/* The entries of every range that holds all of this one. */
static void
visit_cidrs(struct walk *walk, const struct cidr *cidr)
{
	const struct address *address = &cidr->address;
	const bool *used =
	    address->length == 4 ? walk->index->v4_bits : walk->index->v6_bits;
	unsigned char key[CIDR_KEY];

	for (unsigned bits = 0; bits <= cidr->bits; bits++) {
		if (!used[bits])
			continue;
		write_cidr_key(key, address, bits);
		visit_node(walk, find_node(walk->index, key, CIDR_KEY,
				     hash_bytes(key, CIDR_KEY)));
	}
}

static void
find(struct walk *walk, const struct facts *facts)
{
	const struct cidr cidr = { .address = facts->literal,
		.bits = (uint8_t)(facts->literal.length * 8) };

	if (facts->by_name && facts->host.length > 0) {
		walk->name = &facts->host;
		visit_zones(walk);
	} else if (!facts->by_name && facts->literal.length > 0) {
		walk->special = address_kind(&facts->literal) != ADDRESS_PUBLIC;
		visit_cidrs(walk, &cidr);
	}
}

void
index_find_all(const struct index *index, const struct facts *facts,
    index_found *found, void *arg)
{
	struct walk walk = { .index = index, .found = found, .arg = arg };

	find(&walk, facts);
}

void
index_find(const struct index *index, const struct facts *facts,
    index_found *found, void *arg)
{
	struct walk walk = { .index = index,
		.path = facts->stage == STAGE_REQUEST ? facts->path : NULL,
		.found = found,
		.arg = arg };

	find(&walk, facts);
}

void
index_find_wider(const struct index *index, const struct hostmatch *match,
    index_found *found, void *arg)
{
	struct hostname name = { .length = match->length };
	struct walk walk = { .index = index,
		.name = &name,
		.pattern = match,
		.found = found,
		.arg = arg };

	memcpy(name.text, match->text, match->length);
	visit_zones(&walk);
}

void
index_find_wider_cidr(const struct index *index, const struct cidr *cidr,
    index_found *found, void *arg)
{
	struct walk walk = { .index = index, .found = found, .arg = arg };

	visit_cidrs(&walk, cidr);
}
