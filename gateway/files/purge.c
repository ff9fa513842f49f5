#include "gateway/files/purge.h"

#include "gateway/files/beneath.h"
#include "gateway/proc/fd.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct purge {
	int top;
	unsigned moved; /* directories that were moved up, for their names */
};

/* What its owner may not read or enter it may at least change. */
static int
unlock(int parent, const char *name)
{
	int fd = beneath_open(parent, name, O_PATH | O_DIRECTORY);
	char path[64];

	if (fd < 0)
		return -1;
	/* By its descriptor: the name could be a link by now. */
	if (snprintf(path, sizeof(path), "/proc/self/fd/%d", fd) > 0)
		(void)chmod(path, S_IRWXU);
	return fd;
}

static DIR *
open_directory(int parent, const char *name)
{
	ON_SCOPE_EXIT(fd_done) int locked = unlock(parent, name);
	DIR *stream;
	int fd;

	if (locked < 0)
		return NULL;
	fd = openat(locked, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	stream = fdopendir(fd);
	if (stream == NULL)
		(void)close(fd);
	return stream;
}

static bool
is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* A directory that is not empty gets a place directly below the top. */
static int
move_up(struct purge *purge, int from, const char *name)
{
	int locked;
	char up[32];

	if (unlinkat(from, name, AT_REMOVEDIR) == 0)
		return STATUS_OK;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return STATUS_SYSTEM;
	/* One that cannot be written cannot be moved: its ".." changes. */
	locked = unlock(from, name);
	fd_done(&locked);
	do {
		if (snprintf(up, sizeof(up), ".purge-%u", purge->moved++) < 0)
			return STATUS_TOO_LONG;
		if (renameat2(from, name, purge->top, up, RENAME_NOREPLACE) ==
		    0)
			return STATUS_OK;
	} while (errno == EEXIST);
	return STATUS_SYSTEM;
}

/* Empties one directory; what it held of directories lies at the top now. */
static int
empty(struct purge *purge, const char *name)
{
	DIR *stream = open_directory(purge->top, name);
	const struct dirent *entry;
	int status = stream == NULL ? STATUS_SYSTEM : STATUS_OK;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	while (status == STATUS_OK && (entry = readdir(stream)) != NULL) {
		int directory = dirfd(stream);

		if (is_dots(entry->d_name) ||
		    unlinkat(directory, entry->d_name, 0) == 0)
			continue;
		if (errno != EISDIR && errno != EPERM)
			status = STATUS_SYSTEM;
		else
			status = move_up(purge, directory, entry->d_name);
	}
	if (stream != NULL)
		(void)closedir(stream);
	return status;
}

/* One pass over what lies directly below the top. */
static int
pass(struct purge *purge, DIR *top, bool *ret_any)
{
	const struct dirent *entry;

	*ret_any = false;
	rewinddir(top);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	while ((entry = readdir(top)) != NULL) {
		if (is_dots(entry->d_name))
			continue;
		*ret_any = true;
		if (unlinkat(purge->top, entry->d_name, 0) == 0)
			continue;
		if (errno != EISDIR && errno != EPERM)
			return STATUS_SYSTEM;
		if (empty(purge, entry->d_name) != STATUS_OK ||
		    unlinkat(purge->top, entry->d_name, AT_REMOVEDIR) != 0)
			return STATUS_SYSTEM;
	}
	return STATUS_OK;
}

int
purge(int parent, const char *name)
{
	DIR *top = open_directory(parent, name);
	struct purge all = { .moved = 0 };
	bool any = true;
	int status = STATUS_OK;

	if (top == NULL) {
		if (errno == ENOENT)
			return STATUS_OK;
		return errno == ENOTDIR && unlinkat(parent, name, 0) == 0
			   ? STATUS_OK
			   : STATUS_SYSTEM;
	}
	all.top = dirfd(top);
	while (status == STATUS_OK && any)
		status = pass(&all, top, &any);
	(void)closedir(top);
	if (status != STATUS_OK)
		return status;
	return unlinkat(parent, name, AT_REMOVEDIR) == 0 ? STATUS_OK
							 : STATUS_SYSTEM;
}
