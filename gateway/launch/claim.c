#include "gateway/launch/claim.h"

#include <string.h>
#include <sys/uio.h>

#define CLAIM_PAGE 4096 /* the smallest there is */
#define CLAIM_POINTERS 64

/* Up to length bytes, and never over the end of a page that may be the last
 * of its mapping. */
static size_t
read_some(pid_t tid, uint64_t from, void *out, size_t length)
{
	size_t page = CLAIM_PAGE - (size_t)(from % CLAIM_PAGE);
	struct iovec ours = { out, length < page ? length : page };
	struct iovec theirs = { .iov_len = ours.iov_len };
	ssize_t got;

	memcpy(&theirs.iov_base, &from, sizeof(theirs.iov_base));
	got = process_vm_readv(tid, &ours, 1, &theirs, 1, 0);
	return got < 0 ? 0 : (size_t)got;
}

/* A string into out; how long it is, or size when its end was not seen. */
static size_t
read_string(pid_t tid, uint64_t from, char *out, size_t size)
{
	size_t used = 0;

	while (used < size) {
		size_t got =
		    read_some(tid, from + used, out + used, size - used);
		const char *end = got == 0 ? NULL : memchr(out + used, 0, got);

		if (end != NULL)
			return (size_t)(end - out);
		if (got == 0)
			break;
		used += got;
	}
	return size;
}

static void
read_argv(pid_t tid, uint64_t argv, struct claim *ret)
{
	uint64_t pointers[CLAIM_POINTERS] = { 0 };
	size_t bytes = read_some(tid, argv, pointers, sizeof(pointers));

	/* A vector across the end of a page. */
	if (bytes < sizeof(pointers))
		bytes += read_some(tid, argv + bytes,
		    (unsigned char *)pointers + bytes,
		    sizeof(pointers) - bytes);
	for (size_t i = 0; i < bytes / sizeof(pointers[0]); i++) {
		size_t room = sizeof(ret->argv) - ret->length, length;

		if (pointers[i] == 0)
			return;
		length = room < 2 ? room
				  : read_string(tid, pointers[i],
					ret->argv + ret->length, room);
		if (length >= room) {
			ret->cut = true;
			ret->length = sizeof(ret->argv) - 1;
			ret->argv[ret->length] = '\0';
			return;
		}
		ret->length += length + 1;
	}
	ret->cut = true;
}

void
claim_read(pid_t tid, uint64_t path, uint64_t argv, struct claim *ret)
{
	ret->path[0] = ret->argv[0] = '\0';
	ret->length = 0;
	ret->cut = false;
	if (path != 0 && read_string(tid, path, ret->path,
			     sizeof(ret->path) - 1) >= sizeof(ret->path) - 1)
		ret->path[sizeof(ret->path) - 1] = '\0';
	if (argv != 0)
		read_argv(tid, argv, ret);
}

bool
claim_matches(const struct claim *claim, const char *cmdline, size_t length)
{
	const char *rest;
	size_t first, left, name;

	if (claim->cut)
		return length >= claim->length &&
		       memcmp(claim->argv, cmdline, claim->length) == 0;
	if (length == claim->length &&
	    memcmp(claim->argv, cmdline, length) == 0)
		return true;
	/* The interpreter of a script stands before it, and its name is in the
	 * place of the first word. */
	first = strnlen(claim->argv, claim->length) + 1;
	if (first > claim->length)
		return false;
	rest = claim->argv + first;
	left = claim->length - first;
	name = strlen(claim->path) + 1;
	/* The whole word, so that no other word can hold it. */
	return length > left + name &&
	       memcmp(cmdline + length - left, rest, left) == 0 &&
	       memcmp(cmdline + length - left - name, claim->path, name) == 0 &&
	       cmdline[length - left - name - 1] == '\0';
}
