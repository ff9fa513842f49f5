#include "gateway/files/removed.h"

#include "gateway/files/beneath.h"
#include "gateway/files/change.h"
#include "gateway/files/sensitive.h"
#include "gateway/files/stack.h"
#include "gateway/proc/fd.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Directories that are still to be looked into, a list that only grows. */
struct removed {
	const struct stack *stack;
	struct change *change;
	char **paths; /* owned */
	size_t first, count, room;
	unsigned entries;
};

/* Takes path. */
static int
add(struct removed *removed, char *path)
{
	size_t more = removed->room == 0 ? 16 : removed->room * 2;
	char **larger;

	if (path == NULL)
		return STATUS_NO_MEMORY;
	if (removed->count == removed->room) {
		larger =
		    reallocarray(removed->paths, more, sizeof(*removed->paths));
		if (larger == NULL) {
			free(path);
			return STATUS_NO_MEMORY;
		}
		removed->paths = larger;
		removed->room = more;
	}
	removed->paths[removed->count++] = path;
	return STATUS_OK;
}

static void
ask(struct change *change)
{
	if (change->class != CHANGE_SAFE)
		return;
	change->class = CHANGE_REVIEW;
	change->reason = CHANGE_COVERS;
}

static int
look_at(struct removed *removed, int directory, const char *folder,
    const char *name)
{
	struct stat st;
	char *path;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return STATUS_OK;
	/* Too many to look at them all: then it is not for us to say. */
	if (++removed->entries > LIMIT_REMOVED ||
	    fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		ask(removed->change);
		return STATUS_OK;
	}
	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return STATUS_NO_MEMORY;
	if (sensitive_is_watched(path) || sensitive_is_secret(name, NULL))
		ask(removed->change);
	if (S_ISDIR(st.st_mode))
		return add(removed, path);
	free(path);
	if (change_is_newer(removed->stack, &st))
		change_conflicts(removed->change);
	return STATUS_OK;
}

/* What cannot be looked into is not removed unasked. */
static int
look_into(struct removed *removed, const char *path)
{
	int fd =
	    beneath_open(removed->stack->base, path, O_RDONLY | O_DIRECTORY);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int status = STATUS_OK;

	if (stream == NULL) {
		fd_done(&fd);
		ask(removed->change);
		return STATUS_OK;
	}
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	while (status == STATUS_OK && (entry = readdir(stream)) != NULL &&
	       removed->change->class != CHANGE_CONFLICT)
		status = look_at(removed, fd, path, entry->d_name);
	(void)closedir(stream);
	return status;
}

int
removed_look(const struct stack *stack, const char *path, struct change *change)
{
	struct removed removed = { .stack = stack, .change = change };
	int status = add(&removed, strdup(path));

	if (stack_hides_below(stack, path))
		ask(change);
	while (status == STATUS_OK && removed.first < removed.count &&
	       removed.entries <= LIMIT_REMOVED &&
	       change->class != CHANGE_CONFLICT)
		status = look_into(&removed, removed.paths[removed.first++]);
	for (size_t i = 0; i < removed.count; i++)
		free(removed.paths[i]);
	free(removed.paths);
	return status;
}
