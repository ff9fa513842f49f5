#include "gateway/launch/claim.h"

#include "gateway/launch/remote.h"

#include <string.h>

#define CLAIM_POINTERS 64
#define CLAIM_NAME 15 /* of a process, as the kernel keeps it */

/* Bytes, over as many pages as it takes; how many there were. */
static size_t
read_bytes(struct remote *remote, uint64_t from, void *out, size_t size)
{
	struct cursor page;
	size_t used = 0;

	while (used < size && remote_at(remote, from + used, &page)) {
		size_t room = size - used;
		size_t length = page.left < room ? page.left : room;

		memcpy((unsigned char *)out + used, page.at, length);
		used += length;
	}
	return used;
}

/* A string into out, of size; *ret_length is how much of it there was.  False
 * when its end was not seen: then out is full or holds the readable part. */
static bool
read_string(struct remote *remote, uint64_t from, char *out, size_t size,
    size_t *ret_length)
{
	struct cursor page;
	const unsigned char *end = NULL;
	size_t used = 0;

	while (end == NULL && used < size - 1 &&
	       remote_at(remote, from + used, &page)) {
		size_t room = size - 1 - used;
		size_t length = page.left < room ? page.left : room;

		end = memchr(page.at, 0, length);
		if (end != NULL)
			length = (size_t)(end - page.at);
		memcpy(out + used, page.at, length);
		used += length;
	}
	out[used] = '\0';
	*ret_length = used;
	return end != NULL;
}

static void
read_argv(struct remote *remote, uint64_t argv, struct claim *ret)
{
	uint64_t pointers[CLAIM_POINTERS];
	size_t count = read_bytes(remote, argv, pointers, sizeof(pointers)) /
		       sizeof(pointers[0]);
	size_t used = 0;

	while (used < count && pointers[used] != 0)
		used++;
	remote_want(remote, pointers, used);
	for (size_t i = 0; i < used && !ret->cut; i++) {
		size_t room = sizeof(ret->argv) - ret->length, length = 0;

		ret->cut =
		    room == 0 || !read_string(remote, pointers[i],
				     ret->argv + ret->length, room, &length);
		ret->length += ret->cut ? length : length + 1;
	}
	/* Or there are more words than we look at. */
	if (used == count)
		ret->cut = true;
}

void
claim_read(
    struct remote *remote, uint64_t path, uint64_t argv, struct claim *ret)
{
	const uint64_t first[] = { path, argv };
	size_t length;

	ret->path[0] = ret->argv[0] = '\0';
	ret->length = 0;
	ret->cut = false;
	remote_want(remote, first, sizeof(first) / sizeof(first[0]));
	if (path != 0)
		(void)!read_string(
		    remote, path, ret->path, sizeof(ret->path), &length);
	if (argv != 0)
		read_argv(remote, argv, ret);
}

/* The kernel names a process after the script, not its interpreter. */
static bool
is_named(const struct claim *claim, const char *name)
{
	const char *slash = strrchr(claim->path, '/');
	const char *base = slash == NULL ? claim->path : slash + 1;
	size_t length = strlen(name);

	return strncmp(base, name, length) == 0 &&
	       (base[length] == '\0' || length == CLAIM_NAME);
}

/* The interpreter of a script stands before it, and its name is in the place
 * of the first word. */
static bool
is_script(const struct claim *claim, const char *cmdline, size_t length)
{
	size_t first = strnlen(claim->argv, claim->length) + 1;
	size_t name = strlen(claim->path) + 1;
	const char *rest = claim->argv + first;
	size_t left = claim->length - first;

	/* The whole word, so that no other word can hold it. */
	return first <= claim->length && length > left + name &&
	       memcmp(cmdline + length - left, rest, left) == 0 &&
	       memcmp(cmdline + length - left - name, claim->path, name) == 0 &&
	       cmdline[length - left - name - 1] == '\0';
}

bool
claim_matches(const struct claim *claim, const char *name, const char *cmdline,
    size_t length)
{
	if (claim->cut)
		return length >= claim->length &&
		       memcmp(claim->argv, cmdline, claim->length) == 0;
	if (length == claim->length &&
	    memcmp(claim->argv, cmdline, length) == 0)
		return true;
	/* One that only holds those words, as env(1) does, keeps its name. */
	return is_named(claim, name) && is_script(claim, cmdline, length);
}
