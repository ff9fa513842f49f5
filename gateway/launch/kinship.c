#include "gateway/launch/kinship.h"

#include "gateway/proc/fd.h"
#include "schema/cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KINSHIP_TEXT 2048 /* of a file of /proc; more than either has */

/* Younger than the headers we build with: pidfd(2), Linux 6.9 and 6.13. */
#define KINSHIP_THREAD O_EXCL /* PIDFD_THREAD */
#define KINSHIP_GET_INFO _IOWR(0xFF, 11, struct kinship_info)
#define KINSHIP_PID (UINT64_C(1) << 0)

struct kinship_info {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ids[8];
	int32_t exit_code;
};

struct kinship
kinship_of(int proc)
{
	return (struct kinship){ .proc = proc };
}

/* A small file of a process; its length, 0 when there is none. */
static size_t
read_text(int proc, pid_t pid, const char *name, char text[KINSHIP_TEXT])
{
	char path[32];
	ON_SCOPE_EXIT(fd_done) int fd = -1;
	ssize_t got;
	int length = snprintf(path, sizeof(path), "%d/%s", pid, name);

	if (length < 0 || (size_t)length >= sizeof(path))
		return 0;
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, KINSHIP_TEXT - 1);
	return got <= 0 ? 0 : (size_t)got;
}

/* A line "Name:	number" among others. */
static bool
read_line(struct cursor text, const char *name, pid_t *ret)
{
	struct cursor line;

	while (cursor_until(&text, '\n', &line)) {
		uint64_t number;

		if (!cursor_literal(&line, name) ||
		    !cursor_decimal(&line, INT32_MAX, &number))
			continue;
		*ret = (pid_t)number;
		return true;
	}
	return false;
}

static bool
find_by_file(const struct kinship *kinship, pid_t tid, struct kin *ret)
{
	char bytes[KINSHIP_TEXT];
	struct cursor text =
	    cursor_of(bytes, read_text(kinship->proc, tid, "status", bytes));
	struct kin kin;

	if (!read_line(text, "Tgid:\t", &kin.pid) ||
	    !read_line(text, "PPid:\t", &kin.parent))
		return false;
	*ret = kin;
	return true;
}

bool
kinship_find(struct kinship *kinship, pid_t tid, struct kin *ret)
{
	struct kinship_info info = { .mask = KINSHIP_PID };
	ON_SCOPE_EXIT(fd_done) int fd = -1;

	if (kinship->by_file)
		return find_by_file(kinship, tid, ret);
	fd = (int)syscall(SYS_pidfd_open, tid, KINSHIP_THREAD);
	if (fd >= 0 && ioctl(fd, KINSHIP_GET_INFO, &info) == 0) {
		*ret = (struct kin){ .pid = (pid_t)info.tgid,
			.parent = (pid_t)info.ppid };
		return true;
	}
	if (errno == ESRCH)
		return false;
	kinship->by_file = true;
	return find_by_file(kinship, tid, ret);
}

/* The name may hold anything; the time is the twentieth field behind it:
 * stat(5). */
bool
kinship_life(const struct kinship *kinship, pid_t pid, struct life *ret)
{
	char bytes[KINSHIP_TEXT];
	size_t length = read_text(kinship->proc, pid, "stat", bytes);
	const char *from = memchr(bytes, '(', length);
	const char *behind = memrchr(bytes, ')', length);
	int64_t second = sysconf(_SC_CLK_TCK);
	struct cursor text, word;
	uint64_t ticks;

	if (from == NULL || behind < from || second <= 0 ||
	    (size_t)(behind - from) > sizeof(ret->name))
		return false;
	text = cursor_of(behind + 1, length - (size_t)(behind + 1 - bytes));
	for (int i = 0; i < 20; i++)
		if (!cursor_until(&text, ' ', &word))
			return false;
	if (!cursor_decimal(&text, INT64_MAX / 1000000, &ticks))
		return false;
	ret->since_us = (int64_t)ticks * (1000000 / second);
	memcpy(ret->name, from + 1, (size_t)(behind - from) - 1);
	ret->name[behind - from - 1] = '\0';
	return true;
}
