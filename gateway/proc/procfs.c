#include "gateway/proc/procfs.h"

#include "schema/cursor.h"
#include "schema/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "4194304/task/4194304/children" and the like. */
#define NAME_ROOM 64

int
procfs_open(void)
{
	return open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool
print_name(char name[NAME_ROOM], pid_t pid, const char *entry)
{
	int length = snprintf(name, NAME_ROOM, "%d/%s", pid, entry);

	return length > 0 && length < NAME_ROOM;
}

/* Reads a whole small file; how much, 0 when that cannot be. */
static size_t
read_file(int folder, const char *name, char *out, size_t size)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got;

	if (fd < 0)
		return 0;
	do {
		got = read(fd, out + used, size - used);
		if (got > 0)
			used += (size_t)got;
	} while (got > 0 && used < size);
	(void)close(fd);
	return used;
}

/* The children of one thread, behind those that are there. */
static size_t
add_children(int task, const char *thread, pid_t *ret, size_t room)
{
	char name[NAME_ROOM], text[16384];
	int length = snprintf(name, sizeof(name), "%s/children", thread);
	struct cursor rest;
	size_t count = 0;
	uint64_t pid;

	if (length < 0 || (size_t)length >= sizeof(name))
		return 0;
	rest = cursor_of(text, read_file(task, name, text, sizeof(text)));
	while (count < room && cursor_decimal(&rest, INT32_MAX, &pid) &&
	       cursor_literal(&rest, " "))
		ret[count++] = (pid_t)pid;
	return count;
}

static DIR *
open_folder(int proc, pid_t pid, const char *entry)
{
	char name[NAME_ROOM];
	int fd;
	DIR *folder;

	if (!print_name(name, pid, entry))
		return NULL;
	fd = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	folder = fdopendir(fd);
	if (folder == NULL)
		(void)close(fd);
	return folder;
}

/* A child belongs to the thread that made it. */
static size_t
children_of(int proc, pid_t pid, pid_t *ret, size_t room)
{
	DIR *folder = open_folder(proc, pid, "task");
	const struct dirent *entry;
	size_t count = 0;

	if (folder == NULL)
		return 0;
	while (count < room && (entry = readdir(folder)) != NULL)
		if (entry->d_name[0] != '.')
			count += add_children(dirfd(folder), entry->d_name,
			    ret + count, room - count);
	(void)closedir(folder);
	return count;
}

size_t
procfs_below(int proc, pid_t root, pid_t *ret, size_t room)
{
	size_t count = children_of(proc, root, ret, room);

	for (size_t i = 0; i < count; i++)
		count += children_of(proc, ret[i], ret + count, room - count);
	return count;
}

/* Whether the entry of this name is the socket. */
static bool
is_socket(int folder, const char *name, const char *wanted)
{
	char link[NAME_ROOM];
	ssize_t length = readlinkat(folder, name, link, sizeof(link));

	return length > 0 && (size_t)length == strlen(wanted) &&
	       memcmp(link, wanted, (size_t)length) == 0;
}

/*
 * New connections mostly have the number of the last one, or the next: these
 * are tried before the whole table is read.
 */
static bool
is_near(int proc, pid_t pid, const char *wanted, int *hint)
{
	char name[NAME_ROOM];

	for (int fd = *hint; *hint >= 0 && fd < *hint + 2; fd++) {
		int length = snprintf(name, sizeof(name), "%d/fd/%d", pid, fd);

		if (length > 0 && (size_t)length < sizeof(name) &&
		    is_socket(proc, name, wanted)) {
			*hint = fd;
			return true;
		}
	}
	return false;
}

bool
procfs_holds_socket(int proc, pid_t pid, uint32_t inode, int *hint)
{
	char wanted[NAME_ROOM];
	const struct dirent *entry;
	DIR *folder;
	bool found = false;
	int length = snprintf(wanted, sizeof(wanted), "socket:[%u]", inode);

	if (length < 0 || (size_t)length >= sizeof(wanted))
		return false;
	if (is_near(proc, pid, wanted, hint))
		return true;
	folder = open_folder(proc, pid, "fd");
	if (folder == NULL)
		return false;
	for (int i = 0; i < LIMIT_PROCESS_FDS && !found; i++) {
		uint64_t fd;
		struct cursor text;

		entry = readdir(folder);
		if (entry == NULL)
			break;
		text = cursor_of_text(entry->d_name);
		if (!cursor_decimal(&text, INT32_MAX, &fd))
			continue;
		found = is_socket(dirfd(folder), entry->d_name, wanted);
		if (found)
			*hint = (int)fd;
	}
	(void)closedir(folder);
	return found;
}

/* Where a link of a process leads, without what the kernel says of a file
 * that is gone. */
static bool
read_link(int proc, pid_t pid, const char *entry, char *out, size_t size)
{
	static const char deleted[] = " (deleted)";
	char name[NAME_ROOM];
	size_t length, tail = sizeof(deleted) - 1;
	ssize_t got;

	if (!print_name(name, pid, entry))
		return false;
	got = readlinkat(proc, name, out, size);
	if (got <= 0 || (size_t)got >= size || out[0] != '/')
		return false;
	length = (size_t)got;
	if (length > tail && memcmp(out + length - tail, deleted, tail) == 0)
		length -= tail;
	out[length] = '\0';
	return true;
}

bool
procfs_exe(int proc, pid_t pid, char *out, size_t size)
{
	return read_link(proc, pid, "exe", out, size);
}

bool
procfs_descriptor(int proc, pid_t pid, int fd, char *out, size_t size)
{
	char entry[NAME_ROOM];
	int length = snprintf(entry, sizeof(entry), "fd/%d", fd);

	return length > 0 && (size_t)length < sizeof(entry) &&
	       read_link(proc, pid, entry, out, size);
}

int
procfs_open_exe(int proc, pid_t pid)
{
	char name[NAME_ROOM];

	if (!print_name(name, pid, "exe")) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return openat(proc, name, O_RDONLY | O_CLOEXEC);
}

size_t
procfs_cmdline(int proc, pid_t pid, char *out, size_t size)
{
	char name[NAME_ROOM];

	if (!print_name(name, pid, "cmdline"))
		return 0;
	return read_file(proc, name, out, size);
}
