/*
 * crash - preloaded into an audit writer: ends it in the middle of a write of
 * one's choice, as a kill or as a power cut would.
 *
 * EXEAT_CRASH_AT is the number of the operation on a file: writing, cutting,
 * syncing, renaming, removing.  A write is torn: half of it is done.  With
 * EXEAT_CRASH_POWER all that was written to a file since it was last synced is
 * taken back.  Names stay: a disk could also lose a file's making or renaming,
 * and that is not tried here.
 *
 * Only the process that it was loaded into counts, not its children.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	UNDO_MAX = 65536
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

static struct {
	pid_t pid;
	long left; /* operations until the end; 0: none is chosen */
	bool power;
	struct undo *list;
	size_t count;
} crash;

__attribute__((constructor)) static void
begin(void)
{
	const char *at = getenv("EXEAT_CRASH_AT");

	crash.pid = getpid();
	crash.left = at == NULL ? 0 : strtol(at, NULL, 10);
	crash.power = getenv("EXEAT_CRASH_POWER") != NULL;
	if (crash.power)
		crash.list = calloc(UNDO_MAX, sizeof(*crash.list));
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

static void
end(void)
{
	if (crash.power)
		take_back();
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
	if (result == 0)
		forget(fd);
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
	if (is_last())
		end();
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
	if (is_last())
		end();
	return (int)syscall(SYS_renameat2, from, old, to, new, 0);
}

int
rename(const char *old, const char *new)
{
	return renameat(AT_FDCWD, old, AT_FDCWD, new);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
