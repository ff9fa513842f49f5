/*
 * crash - preloaded into an audit writer: ends it in the middle of a write of
 * one's choice, as a kill or as a power cut would.
 *
 * EXEAT_CRASH_AT is the number of the operation on a file: writing, cutting,
 * syncing, renaming, removing.  A write is torn: half of it is done.  With
 * EXEAT_CRASH_POWER all that was written to a file since it was last synced is
 * taken back.  With EXEAT_CRASH_NAMES, an empty folder of the same disk, so are
 * names as well: what was made, renamed or removed since its folder was last
 * synced.
 *
 * Only the process that it was loaded into counts, not its children.  It does
 * not give up what this needs: its seccomp and Landlock are not installed.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	UNDO_MAX = 65536,
	NAMES_MAX = 1024
};

/* What one write has replaced; the file as it was is longer or shorter. */
struct undo {
	dev_t device;
	ino_t inode;
	int fd;
	off_t offset, size;
	size_t length;
	char *bytes;
};

/* What has happened to a name. */
struct name {
	dev_t device; /* of its folder */
	ino_t inode;
	char path[PATH_MAX];
	char from[PATH_MAX]; /* it was renamed from there; or empty */
	char kept[PATH_MAX]; /* what stood there before; or empty */
	bool is_folder;
};

static struct {
	pid_t pid;
	long left; /* operations until the end; 0: none is chosen */
	bool power;
	const char *names;
	struct undo *list;
	size_t count;
	struct name *name;
	size_t name_count, kept;
} crash;

__attribute__((constructor)) static void
begin(void)
{
	const char *at = getenv("EXEAT_CRASH_AT");

	crash.pid = getpid();
	crash.left = at == NULL ? 0 : strtol(at, NULL, 10);
	crash.names = getenv("EXEAT_CRASH_NAMES");
	crash.power =
	    crash.names != NULL || getenv("EXEAT_CRASH_POWER") != NULL;
	if (crash.power)
		crash.list = calloc(UNDO_MAX, sizeof(*crash.list));
	if (crash.names != NULL)
		crash.name = calloc(NAMES_MAX, sizeof(*crash.name));
}

static bool
is_ours(void)
{
	return crash.left > 0 && getpid() == crash.pid;
}

static void
take_back(void)
{
	while (crash.count-- > 0) {
		const struct undo *undo = &crash.list[crash.count];
		struct stat st;

		/* Its number may be another file's by now. */
		if (fstat(undo->fd, &st) != 0 || st.st_dev != undo->device ||
		    st.st_ino != undo->inode)
			continue;
		if (undo->length > 0 &&
		    syscall(SYS_pwrite64, undo->fd, undo->bytes, undo->length,
			undo->offset) < 0)
			continue;
		(void)syscall(SYS_ftruncate, undo->fd, undo->size);
	}
}

/* The last first, so that each finds what it left. */
static void
take_names_back(void)
{
	while (crash.name_count-- > 0) {
		const struct name *name = &crash.name[crash.name_count];

		if (name->from[0] != '\0')
			(void)syscall(SYS_rename, name->path, name->from);
		else if (name->is_folder)
			(void)syscall(SYS_rmdir, name->path);
		else
			(void)syscall(SYS_unlink, name->path);
		if (name->kept[0] != '\0')
			(void)syscall(SYS_rename, name->kept, name->path);
	}
}

static void
end(void)
{
	if (crash.power)
		take_back();
	if (crash.names != NULL)
		take_names_back();
	(void)kill(crash.pid, SIGKILL);
	(void)pause();
}

/* Whether this operation is the last. */
static bool
is_last(void)
{
	return is_ours() && --crash.left == 0;
}

static void
remember(int fd, off_t offset, size_t length)
{
	struct undo *undo;
	struct stat st;
	ssize_t got;

	if (!is_ours() || !crash.power || fstat(fd, &st) != 0 ||
	    !S_ISREG(st.st_mode))
		return;
	/* A test that forgets would prove nothing. */
	if (crash.count == UNDO_MAX)
		_exit(1);
	undo = &crash.list[crash.count];
	*undo = (struct undo){ .device = st.st_dev,
		.inode = st.st_ino,
		.fd = fd,
		.offset = offset,
		.size = st.st_size,
		.bytes = malloc(length + 1) };
	if (undo->bytes == NULL)
		_exit(1);
	got = pread(fd, undo->bytes, length, offset);
	undo->length = got < 0 ? 0 : (size_t)got;
	crash.count++;
}

/* What is on the disk stays there. */
static void
forget(int fd)
{
	size_t kept = 0;
	struct stat st;

	if (!is_ours() || !crash.power || fstat(fd, &st) != 0)
		return;
	for (size_t i = 0; i < crash.count; i++) {
		if (crash.list[i].device == st.st_dev &&
		    crash.list[i].inode == st.st_ino)
			free(crash.list[i].bytes);
		else
			crash.list[kept++] = crash.list[i];
	}
	crash.count = kept;
}

/* A path that means the same wherever one stands. */
static void
find_path(int folder, const char *path, char out[PATH_MAX])
{
	char link[64], base[PATH_MAX] = "";

	if (folder != AT_FDCWD && path[0] != '/') {
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
		if (readlink(link, base, sizeof(base) - 2) < 0)
			_exit(1);
		base[strlen(base)] = '/';
	}
	if (snprintf(out, PATH_MAX, "%s%s", base, path) >= PATH_MAX)
		_exit(1);
}

/* The entry about to be filled; NULL when names are not looked at. */
static struct name *
begin_name(int folder, const char *path)
{
	char parent[PATH_MAX], *slash;
	struct name *name;
	struct stat st;

	if (!is_ours() || crash.names == NULL)
		return NULL;
	if (crash.name_count == NAMES_MAX)
		_exit(1);
	name = &crash.name[crash.name_count];
	memset(name, 0, sizeof(*name));
	find_path(folder, path, name->path);
	memcpy(parent, name->path, sizeof(parent));
	slash = strrchr(parent, '/');
	if (slash == NULL)
		parent[0] = '.';
	(slash == NULL ? parent + 1 : slash)[0] = '\0';
	if (stat(parent[0] == '\0' ? "/" : parent, &st) != 0)
		_exit(1);
	name->device = st.st_dev;
	name->inode = st.st_ino;
	return name;
}

/* What stands at the name, if anything does, can come back. */
static void
keep(struct name *name)
{
	if (access(name->path, F_OK) != 0)
		return;
	(void)snprintf(name->kept, sizeof(name->kept), "%s/%zu", crash.names,
	    ++crash.kept);
	if (link(name->path, name->kept) != 0)
		_exit(1);
}

static void
forget_names(int fd)
{
	size_t kept = 0;
	struct stat st;

	if (!is_ours() || crash.names == NULL || fstat(fd, &st) != 0 ||
	    !S_ISDIR(st.st_mode))
		return;
	for (size_t i = 0; i < crash.name_count; i++) {
		struct name *name = &crash.name[i];

		if (name->device != st.st_dev || name->inode != st.st_ino)
			crash.name[kept++] = *name;
		else if (name->kept[0] != '\0')
			(void)syscall(SYS_unlink, name->kept);
	}
	crash.name_count = kept;
}

static bool
is_file(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): theirs are
   reserved */

ssize_t
pwrite64(int fd, const void *bytes, size_t length, off_t offset)
{
	remember(fd, offset, length);
	if (is_last()) {
		(void)syscall(SYS_pwrite64, fd, bytes, length / 2, offset);
		end();
	}
	return syscall(SYS_pwrite64, fd, bytes, length, offset);
}

ssize_t
write(int fd, const void *bytes, size_t length)
{
	if (is_file(fd)) {
		remember(fd, lseek(fd, 0, SEEK_CUR), length);
		if (is_last()) {
			(void)syscall(SYS_write, fd, bytes, length / 2);
			end();
		}
	}
	return syscall(SYS_write, fd, bytes, length);
}

int
ftruncate64(int fd, off_t length)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && st.st_size > length)
		remember(fd, length, (size_t)(st.st_size - length));
	if (is_last())
		end();
	return (int)syscall(SYS_ftruncate, fd, length);
}

static int
sync_by(long call, int fd)
{
	int result;

	if (is_last())
		end();
	result = (int)syscall(call, fd);
	if (result == 0) {
		forget(fd);
		forget_names(fd);
	}
	return result;
}

int
fdatasync(int fd)
{
	return sync_by(SYS_fdatasync, fd);
}

int
fsync(int fd)
{
	return sync_by(SYS_fsync, fd);
}

int
unlinkat(int folder, const char *path, int flags)
{
	struct name *name;

	if (is_last())
		end();
	name = (flags & AT_REMOVEDIR) != 0 ? NULL : begin_name(folder, path);
	if (name != NULL) {
		keep(name);
		crash.name_count += name->kept[0] != '\0';
	}
	return (int)syscall(SYS_unlinkat, folder, path, flags);
}

int
unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}

int
renameat(int from, const char *old, int to, const char *new)
{
	struct name *name;
	int result;

	if (is_last())
		end();
	name = begin_name(to, new);
	if (name != NULL) {
		find_path(from, old, name->from);
		keep(name);
	}
	result = (int)syscall(SYS_renameat2, from, old, to, new, 0);
	if (result == 0 && name != NULL)
		crash.name_count++;
	return result;
}

int
rename(const char *old, const char *new)
{
	return renameat(AT_FDCWD, old, AT_FDCWD, new);
}

/* All others go on to the C library's. */
long
syscall(long number, ...)
{
	static long (*real)(long, ...);
	long words[6];
	va_list more;

	if (number == SYS_seccomp || number == SYS_landlock_restrict_self)
		return 0;
	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	va_start(more, number);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		/* It was begun above.
		   NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
		words[i] = va_arg(more, long);
	va_end(more);
	return real(
	    number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

/* Only the name of a file that was not there is at stake. */
static int
open_by(int folder, const char *path, int flags, va_list more)
{
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): the caller's */
	mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
	struct name *name = NULL;
	int fd;

	if ((flags & O_CREAT) != 0 && faccessat(folder, path, F_OK, 0) != 0)
		name = begin_name(folder, path);
	fd = (int)syscall(SYS_openat, folder, path, flags, mode);
	if (fd >= 0 && name != NULL)
		crash.name_count++;
	return fd;
}

int
openat64(int folder, const char *path, int flags, ...)
{
	va_list more;
	int fd;

	va_start(more, flags);
	fd = open_by(folder, path, flags, more);
	va_end(more);
	return fd;
}

int
open64(const char *path, int flags, ...)
{
	va_list more;
	int fd;

	va_start(more, flags);
	fd = open_by(AT_FDCWD, path, flags, more);
	va_end(more);
	return fd;
}

int
openat(int folder, const char *path, int flags, ...)
{
	va_list more;
	int fd;

	va_start(more, flags);
	fd = open_by(folder, path, flags, more);
	va_end(more);
	return fd;
}

int
open(const char *path, int flags, ...)
{
	va_list more;
	int fd;

	va_start(more, flags);
	fd = open_by(AT_FDCWD, path, flags, more);
	va_end(more);
	return fd;
}

int
mkdirat(int folder, const char *path, mode_t mode)
{
	struct name *name;
	int result;

	if (is_last())
		end();
	name = begin_name(folder, path);
	result = (int)syscall(SYS_mkdirat, folder, path, mode);
	if (result == 0 && name != NULL) {
		name->is_folder = true;
		crash.name_count++;
	}
	return result;
}

int
mkdir(const char *path, mode_t mode)
{
	return mkdirat(AT_FDCWD, path, mode);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
