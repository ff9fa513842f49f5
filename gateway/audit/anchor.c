#include "gateway/audit/anchor.h"

#include "schema/limits.h"
#include "schema/status.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void
anchor_done(struct anchor *anchor)
{
	free(anchor->list);
	*anchor = (struct anchor){ .list = NULL };
}

static int
add(struct anchor *anchor, const struct checkpoint *checkpoint, size_t *room)
{
	size_t want = *room == 0 ? 64 : *room * 2;
	struct checkpoint *list;

	if (anchor->count == *room) {
		list = reallocarray(anchor->list, want, sizeof(*list));
		if (list == NULL)
			return STATUS_NO_MEMORY;
		anchor->list = list;
		*room = want;
	}
	anchor->list[anchor->count++] = *checkpoint;
	return STATUS_OK;
}

/* "NAME+KEYID+BASE64": a checkpoint's name has no plus in it. */
static bool
take_key(struct cursor *text, struct anchor *anchor)
{
	struct cursor rest = *text, line;

	if (!cursor_until(&rest, '\n', &line) || line.left == 0 ||
	    line.left >= sizeof(anchor->key) ||
	    memchr(line.at, '+', line.left) == NULL ||
	    memchr(line.at, '\0', line.left) != NULL)
		return false;
	memcpy(anchor->key, line.at, line.left);
	anchor->key[line.left] = '\0';
	*text = rest;
	return true;
}

static int
compare(const void *a, const void *b)
{
	const struct checkpoint *one = a, *two = b;

	return (one->size > two->size) - (one->size < two->size);
}

int
anchor_read(struct cursor text, const char *name, struct anchor *ret,
    struct problem *reterr)
{
	struct anchor anchor = { .list = NULL };
	struct checkpoint checkpoint;
	size_t room = 0;

	while (!cursor_is_empty(&text)) {
		if (cursor_literal(&text, "\n") || take_key(&text, &anchor))
			continue;
		if (checkpoint_read(&text, &checkpoint) != STATUS_OK) {
			(void)problem_set(reterr,
			    "%s is not a file of checkpoints behind the first "
			    "%zu",
			    name, anchor.count);
			goto fail;
		}
		if (add(&anchor, &checkpoint, &room) != STATUS_OK) {
			(void)problem_set(reterr, "no memory for %s", name);
			goto fail;
		}
	}
	if (anchor.count > 0)
		qsort(anchor.list, anchor.count, sizeof(*anchor.list), compare);
	*ret = anchor;
	return STATUS_OK;
fail:
	anchor_done(&anchor);
	return STATUS_PROBLEM;
}

static void
fd_done(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

/* Gives the bytes, which the caller frees. */
static int
read_file(const char *path, unsigned char **ret, size_t *ret_length,
    struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char *bytes;
	struct stat st;
	size_t used = 0, size;

	if (fd < 0 || fstat(fd, &st) != 0)
		return problem_errno(reterr, "cannot read %s", path);
	if (!S_ISREG(st.st_mode) || st.st_size > LIMIT_ANCHOR_BYTES)
		return problem_set(reterr,
		    "%s is no file of checkpoints, or "
		    "too large a one",
		    path);
	size = (size_t)st.st_size;
	bytes = calloc(1, size + 1);
	if (bytes == NULL)
		return problem_set(reterr, "no memory for %s", path);
	while (used < size) {
		ssize_t got = read(fd, bytes + used, size - used);

		if (got <= 0)
			break;
		used += (size_t)got;
	}
	*ret = bytes;
	*ret_length = used;
	return STATUS_OK;
}

int
anchor_load(const char *path, struct anchor *ret, struct problem *reterr)
{
	unsigned char *bytes = NULL;
	size_t length = 0;
	int status = read_file(path, &bytes, &length, reterr);

	if (status == STATUS_OK)
		status =
		    anchor_read(cursor_of(bytes, length), path, ret, reterr);
	free(bytes);
	return status;
}
