#include "gateway/files/copy.h"

#include "gateway/files/beneath.h"
#include "gateway/proc/fd.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MARKS "user.overlay."
#define PIECE 65536

/* What an overlay may set on one file is a handful of short names. */
#define LIST_BYTES 65536

/* A path to what a descriptor is of, for calls that take no descriptor. */
static bool
path_of(int fd, char out[64])
{
	return snprintf(out, 64, "/proc/self/fd/%d", fd) > 0;
}

int
copy_mode(int directory, const char *name, mode_t mode)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = beneath_open(directory, name, O_PATH | O_NOFOLLOW);
	char path[64];

	if (fd < 0 || !path_of(fd, path))
		return STATUS_SYSTEM;
	return chmod(path, mode & 01777) == 0 ? STATUS_OK : STATUS_SYSTEM;
}

int
copy_strip(int directory, const char *name)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = beneath_open(directory, name, O_PATH | O_NOFOLLOW);
	char path[64], names[LIST_BYTES];
	ssize_t length;

	if (fd < 0 || !path_of(fd, path))
		return STATUS_SYSTEM;
	length = listxattr(path, names, sizeof(names));
	if (length < 0)
		return errno == ENOTSUP ? STATUS_OK : STATUS_SYSTEM;
	for (ssize_t at = 0; at < length; at += (ssize_t)strlen(names + at) + 1)
		if (strncmp(names + at, MARKS, strlen(MARKS)) == 0 &&
		    removexattr(path, names + at) != 0)
			return STATUS_SYSTEM;
	return STATUS_OK;
}

static int
copy_bytes(int from, int to)
{
	char bytes[PIECE];
	ssize_t got;

	if (ioctl(to, FICLONE, from) == 0)
		return STATUS_OK;
	do {
		got = copy_file_range(from, NULL, to, NULL, SSIZE_MAX, 0);
	} while (got > 0);
	if (got == 0)
		return STATUS_OK;
	/* Begun or not: what is read now stands behind what is written. */
	while ((got = read(from, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, (size_t)got) != got)
			return STATUS_SYSTEM;
	return got == 0 ? STATUS_OK : STATUS_SYSTEM;
}

static int
copy_file(
    int from, const char *from_name, int to, const char *name, mode_t mode)
{
	ON_SCOPE_EXIT(fd_done)
	int source = beneath_open(from, from_name, O_RDONLY | O_NONBLOCK);
	ON_SCOPE_EXIT(fd_done) int fd = -1;
	struct timespec times[2];
	struct stat st;

	if (source < 0 || fstat(source, &st) != 0)
		return STATUS_SYSTEM;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return STATUS_SYSTEM;
	}
	fd = openat(to, name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	    S_IRUSR | S_IWUSR);
	if (fd < 0 || copy_bytes(source, fd) != STATUS_OK)
		return STATUS_SYSTEM;
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	if ((geteuid() == 0 && fchown(fd, st.st_uid, st.st_gid) != 0) ||
	    fchmod(fd, mode & 01777) != 0 || futimens(fd, times) != 0)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

static int
copy_link(int from, const char *from_name, int to, const char *name,
    const struct stat *st)
{
	char target[LIMIT_PATH];
	ssize_t length =
	    readlinkat(from, from_name, target, sizeof(target) - 1);

	if (length < 0)
		return STATUS_SYSTEM;
	target[length] = '\0';
	if (symlinkat(target, to, name) != 0 ||
	    (geteuid() == 0 && fchownat(to, name, st->st_uid, st->st_gid,
				   AT_SYMLINK_NOFOLLOW) != 0))
		return STATUS_SYSTEM;
	return STATUS_OK;
}

int
copy_replace(
    int from, const char *from_name, int to, const char *to_name, mode_t mode)
{
	char name[40];
	uint64_t draw;
	struct stat st;
	int status, error;

	if (fstatat(from, from_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    getrandom(&draw, sizeof(draw), 0) != (ssize_t)sizeof(draw) ||
	    snprintf(name, sizeof(name), ".exeat-%016llx",
		(unsigned long long)draw) < 0)
		return STATUS_SYSTEM;
	status = S_ISLNK(st.st_mode)
		     ? copy_link(from, from_name, to, name, &st)
		     : copy_file(from, from_name, to, name, mode);
	if (status == STATUS_OK && renameat(to, name, to, to_name) == 0)
		return STATUS_OK;
	error = errno;
	(void)unlinkat(to, name, 0);
	errno = error;
	return STATUS_SYSTEM;
}
