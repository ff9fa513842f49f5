#include "gateway/dns/names.h"

#include "schema/limits.h"
#include "schema/status.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * Name number i has the address with number FIRST + i in either range; the
 * first 256 stay free for what the sandbox itself uses (its resolver).
 */
enum {
	FIRST = 256,
	GROWTH = 64
};

static const uint8_t v4_prefix[2] = { 198, 18 };
static const uint8_t v6_prefix[6] = { 0xfd, 0x65, 0x78, 0x65, 0x61, 0x74 };

static_assert(FIRST + LIMIT_NAMES <= 1 << 17, "198.18.0.0/15 holds them all");

struct names {
	struct hostname *list;
	size_t count, room;
	uint32_t *buckets; /* number + 1, 0 is empty; open addressing */
	size_t bucket_count;
};

/* FNV-1a; the sandbox can only slow itself down with collisions. */
static size_t
hash_of(const struct hostname *name)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < name->length; i++) {
		hash ^= (unsigned char)name->text[i];
		hash *= 0x100000001b3;
	}
	return (size_t)(hash ^ hash >> 32);
}

struct names *
names_new(void)
{
	return calloc(1, sizeof(struct names));
}

void
names_free(struct names *names)
{
	if (names == NULL)
		return;
	free(names->list);
	free(names->buckets);
	free(names);
}

/* The bucket that holds name, or the empty one where it would go. */
static uint32_t *
bucket_of(const struct names *names, const struct hostname *name)
{
	size_t at = hash_of(name) & (names->bucket_count - 1);

	for (;;) {
		uint32_t *bucket = &names->buckets[at];

		if (*bucket == 0 ||
		    hostname_equals(&names->list[*bucket - 1], name))
			return bucket;
		at = (at + 1) & (names->bucket_count - 1);
	}
}

/* Keeps the table at most half full. */
static int
make_room(struct names *names)
{
	size_t room = names->room == 0 ? GROWTH : names->room * 2;
	struct hostname *list;
	uint32_t *buckets;

	if (names->count < names->room)
		return STATUS_OK;
	list = reallocarray(names->list, room, sizeof(*list));
	if (list == NULL)
		return STATUS_NO_MEMORY;
	names->list = list;
	buckets = calloc(room * 2, sizeof(*buckets));
	if (buckets == NULL)
		return STATUS_NO_MEMORY;
	free(names->buckets);
	names->buckets = buckets;
	names->bucket_count = room * 2;
	names->room = room;
	for (size_t i = 0; i < names->count; i++)
		*bucket_of(names, &names->list[i]) = (uint32_t)(i + 1);
	return STATUS_OK;
}

bool
names_know(const struct names *names, const struct hostname *name)
{
	return names->count > 0 && *bucket_of(names, name) != 0;
}

static struct name_addresses
addresses_of(size_t number)
{
	uint32_t offset = FIRST + (uint32_t)number;
	uint8_t v4[4] = { v4_prefix[0],
		(uint8_t)(v4_prefix[1] + (offset >> 16)),
		(uint8_t)(offset >> 8), (uint8_t)offset };
	uint8_t v6[16] = { 0 };

	memcpy(v6, v6_prefix, sizeof(v6_prefix));
	v6[13] = (uint8_t)(offset >> 16);
	v6[14] = (uint8_t)(offset >> 8);
	v6[15] = (uint8_t)offset;
	return (struct name_addresses){ .v4 = address_v4(v4),
		.v6 = address_v6(v6) };
}

int
names_give(struct names *names, const struct hostname *name,
    struct name_addresses *ret, bool *ret_new)
{
	uint32_t *bucket = NULL;
	int status;

	if (names->count > 0)
		bucket = bucket_of(names, name);
	if (bucket != NULL && *bucket != 0) {
		*ret = addresses_of(*bucket - 1);
		*ret_new = false;
		return STATUS_OK;
	}
	if (names->count >= LIMIT_NAMES)
		return STATUS_FULL;
	status = make_room(names);
	if (status != STATUS_OK)
		return status;
	names->list[names->count] = *name;
	bucket = bucket_of(names, name);
	*bucket = (uint32_t)++names->count;
	*ret = addresses_of(names->count - 1);
	*ret_new = true;
	return STATUS_OK;
}

/* The offset of address in its range; false when it lies in neither. */
static bool
offset_of(const struct address *address, uint32_t *ret)
{
	static const uint8_t zeroes[7] = { 0 };
	const uint8_t *b = address->bytes;

	if (address->length == 4) {
		if (b[0] != v4_prefix[0] || (b[1] & 0xfe) != v4_prefix[1])
			return false;
		*ret = (uint32_t)(b[1] & 1) << 16 | (uint32_t)b[2] << 8 | b[3];
		return true;
	}
	if (address->length != 16 ||
	    memcmp(b, v6_prefix, sizeof(v6_prefix)) != 0)
		return false;
	/* Elsewhere in the /48 stands no name: an offset that none has. */
	*ret = UINT32_MAX;
	if (memcmp(b + 6, zeroes, sizeof(zeroes)) == 0)
		*ret = (uint32_t)b[13] << 16 | (uint32_t)b[14] << 8 | b[15];
	return true;
}

const struct hostname *
names_find(const struct names *names, const struct address *address)
{
	uint32_t offset;

	if (!offset_of(address, &offset) || offset < FIRST ||
	    offset - FIRST >= names->count)
		return NULL;
	return &names->list[offset - FIRST];
}

bool
names_is_synthetic(const struct address *address)
{
	uint32_t offset;

	return offset_of(address, &offset);
}

bool
names_is_internal(const struct hostname *name)
{
	return name->length == sizeof(NAMES_INTERNAL) - 1 &&
	       memcmp(name->text, NAMES_INTERNAL, name->length) == 0;
}

bool
names_is_metadata(const struct hostname *name)
{
	return name->length == sizeof(NAMES_METADATA) - 1 &&
	       memcmp(name->text, NAMES_METADATA, name->length) == 0;
}

size_t
names_count(const struct names *names)
{
	return names->count;
}
