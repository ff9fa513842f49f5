#include "gateway/launch/cgroup.h"

#include "gateway/proc/fd.h"
#include "schema/cursor.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define CGROUP_PREFIX "exeat-"
#define CGROUP_LIST 8192 /* /proc/self/cgroup; a dozen lines */
#define CGROUP_VALUE 4096
#define CGROUP_PERIOD_US 100000 /* the kernel's own */
#define CGROUP_TRIES 10 /* a sweeper may take a new group for a dead one */

static const char *const names[] = {
	[CGROUP_MEMORY] = "memory",
	[CGROUP_PIDS] = "pids",
	[CGROUP_CPU] = "cpu",
	[CGROUP_FREEZER] = "freezer",
};

static_assert(sizeof(names) / sizeof(names[0]) == CGROUP_CONTROLLER_COUNT,
    "every controller has a name");

/* ---- small files ---- */

static bool
read_text(int folder, const char *name, char *out, size_t size)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got = 1;

	while (fd >= 0 && got > 0 && used < size - 1) {
		got = read(fd, out + used, size - 1 - used);
		used += got > 0 ? (size_t)got : 0;
	}
	out[used] = '\0';
	return fd >= 0 && got >= 0;
}

static int
write_text(int folder, const char *name, const char *text)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = openat(folder, name, O_WRONLY | O_CLOEXEC);
	size_t length = strlen(text);

	if (fd < 0 || write(fd, text, length) != (ssize_t)length)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

static int
write_number(int folder, const char *name, uint64_t value)
{
	char text[24];

	if (snprintf(text, sizeof(text), "%llu", (unsigned long long)value) < 0)
		return STATUS_TOO_LONG;
	return write_text(folder, name, text);
}

/* The number behind a key at the start of a line; an empty key is the first
 * of the file. */
static uint64_t
read_number(int folder, const char *name, const char *key)
{
	char text[CGROUP_VALUE];
	struct cursor in, line;
	uint64_t value;

	if (!read_text(folder, name, text, sizeof(text)))
		return 0;
	in = cursor_of_text(text);
	while (cursor_until(&in, '\n', &line))
		if (cursor_literal(&line, key) &&
		    cursor_decimal(&line, UINT64_MAX, &value))
			return value;
	return 0;
}

/* ---- finding our own ---- */

/* "memory" among "cpu,memory". */
static bool
lists(struct cursor controllers, const char *name)
{
	struct cursor one;

	while (cursor_until(&controllers, ',', &one))
		if (cursor_equals(one, name))
			return true;
	return cursor_equals(controllers, name);
}

/* The directory of a group where systemd and containers mount them. */
static int
open_group(const char *mount, size_t length, struct cursor path)
{
	char text[LIMIT_PATH];
	int wrote = snprintf(text, sizeof(text), "/sys/fs/cgroup/%.*s%.*s",
	    (int)length, mount, (int)path.left, (const char *)path.at);

	if (wrote < 0 || (size_t)wrote >= sizeof(text))
		return -1;
	return open(text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool
is_kind(int fd, long magic)
{
	struct statfs fs;

	return fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == magic;
}

static int
open_unified(struct cursor path)
{
	ON_SCOPE_EXIT(fd_done) int fd = open_group("", 0, path);

	if (!is_kind(fd, CGROUP2_SUPER_MAGIC)) {
		fd_done(&fd);
		fd = open_group("unified", strlen("unified"), path);
	}
	return is_kind(fd, CGROUP2_SUPER_MAGIC) ? steal_fd(&fd) : -1;
}

/* ---- making one ---- */

/* Nobody holds its lock: it is a dead run's, and goes if it is empty. */
static void
sweep_one(int parent, const char *name)
{
	ON_SCOPE_EXIT(fd_done)
	int group = openat(
	    parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (group < 0 || flock(group, LOCK_EX | LOCK_NB) != 0)
		return;
	/* Who was killed while it was frozen has yet to die of it. */
	(void)!write_text(group, "freezer.state", "THAWED");
	(void)unlinkat(parent, name, AT_REMOVEDIR);
}

static void
sweep(int parent)
{
	int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (list == NULL) {
		fd_done(&fd);
		return;
	}
	while ((entry = readdir(list)) != NULL)
		if (strncmp(entry->d_name, CGROUP_PREFIX,
			strlen(CGROUP_PREFIX)) == 0)
			sweep_one(parent, entry->d_name);
	(void)closedir(list);
}

/* Locked before anybody could take it for a dead one. */
static int
make_group(int parent, const char *name)
{
	for (int i = 0; i < CGROUP_TRIES; i++) {
		ON_SCOPE_EXIT(fd_done) int group = -1;
		struct stat st;

		if (mkdirat(parent, name, 0755) != 0 && errno != EEXIST)
			return -1;
		group =
		    openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (group >= 0 && flock(group, LOCK_EX | LOCK_NB) == 0 &&
		    fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return steal_fd(&group);
	}
	return -1;
}

/* False when another one has the controller already. */
static bool
take(struct cgroup *cgroup, enum cgroup_controller controller, int parent,
    int group, bool v2)
{
	if (cgroup->groups[controller] >= 0)
		return false;
	cgroup->groups[controller] = fcntl(group, F_DUPFD_CLOEXEC, 0);
	cgroup->parents[controller] = fcntl(parent, F_DUPFD_CLOEXEC, 0);
	cgroup->v2[controller] = v2;
	return cgroup->groups[controller] >= 0;
}

static void
make_v1(struct cgroup *cgroup, struct cursor controllers, struct cursor path)
{
	ON_SCOPE_EXIT(fd_done)
	int parent =
	    open_group((const char *)controllers.at, controllers.left, path);
	ON_SCOPE_EXIT(fd_done) int group = -1;

	if (!is_kind(parent, CGROUP_SUPER_MAGIC))
		return;
	sweep(parent);
	group = make_group(parent, cgroup->name);
	for (int i = 0; group >= 0 && i < CGROUP_CONTROLLER_COUNT; i++)
		if (lists(controllers, names[i]))
			(void)take(cgroup, (enum cgroup_controller)i, parent,
			    group, false);
}

/* The freezer is there without any controller. */
static void
make_v2(struct cgroup *cgroup, struct cursor path)
{
	ON_SCOPE_EXIT(fd_done) int parent = open_unified(path);
	ON_SCOPE_EXIT(fd_done) int group = -1;
	char list[CGROUP_VALUE];
	bool used = false;

	if (parent < 0)
		return;
	/* Refused where processes are in it; then what is on already counts. */
	(void)!write_text(
	    parent, "cgroup.subtree_control", "+memory +pids +cpu");
	sweep(parent);
	group = make_group(parent, cgroup->name);
	if (group < 0 ||
	    !read_text(group, "cgroup.controllers", list, sizeof(list)))
		return;
	for (int i = 0; i < CGROUP_FREEZER; i++)
		if (strstr(list, names[i]) != NULL &&
		    take(
			cgroup, (enum cgroup_controller)i, parent, group, true))
			used = true;
	if (faccessat(group, "cgroup.freeze", W_OK, AT_EACCESS) == 0 &&
	    take(cgroup, CGROUP_FREEZER, parent, group, true))
		used = true;
	if (!used)
		(void)unlinkat(parent, cgroup->name, AT_REMOVEDIR);
}

/* A line is "number:controllers:path"; version 2 has no controllers. */
static void
make_line(struct cgroup *cgroup, struct cursor line)
{
	struct cursor number, controllers;

	if (!cursor_until(&line, ':', &number) ||
	    !cursor_until(&line, ':', &controllers))
		return;
	if (controllers.left == 0)
		make_v2(cgroup, line);
	else
		for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
			if (lists(controllers, names[i])) {
				make_v1(cgroup, controllers, line);
				return;
			}
}

void
cgroup_make(const char *run, struct cgroup *ret)
{
	char text[CGROUP_LIST];
	struct cursor in, line;

	for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		ret->groups[i] = ret->parents[i] = -1;
		ret->v2[i] = false;
	}
	if (snprintf(ret->name, sizeof(ret->name), CGROUP_PREFIX "%s-%d", run,
		getpid()) >= (int)sizeof(ret->name) ||
	    !read_text(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)))
		return;
	in = cursor_of_text(text);
	while (cursor_until(&in, '\n', &line))
		make_line(ret, line);
}

void
cgroup_done(struct cgroup *cgroup)
{
	for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		if (cgroup->groups[i] >= 0)
			(void)unlinkat(
			    cgroup->parents[i], cgroup->name, AT_REMOVEDIR);
		fd_done(&cgroup->groups[i]);
		fd_done(&cgroup->parents[i]);
	}
}

/* ---- using it ---- */

bool
cgroup_has(const struct cgroup *cgroup, enum cgroup_controller controller)
{
	return cgroup->groups[controller] >= 0;
}

static int
limit_memory(int group, bool v2, uint64_t bytes)
{
	int status = write_number(
	    group, v2 ? "memory.max" : "memory.limit_in_bytes", bytes);

	if (status != STATUS_OK)
		return status;
	/* Without swap the limit is what it says; not every kernel has it. */
	if (v2) {
		(void)!write_text(group, "memory.swap.max", "0");
		(void)!write_text(group, "memory.oom.group", "1");
	} else
		(void)!write_number(
		    group, "memory.memsw.limit_in_bytes", bytes);
	return STATUS_OK;
}

static int
limit_cpu(int group, bool v2, uint64_t thousandths)
{
	uint64_t quota = thousandths * (CGROUP_PERIOD_US / 1000);
	char text[64];

	if (v2) {
		if (snprintf(text, sizeof(text), "%llu %d",
			(unsigned long long)quota, CGROUP_PERIOD_US) < 0)
			return STATUS_TOO_LONG;
		return write_text(group, "cpu.max", text);
	}
	if (write_number(group, "cpu.cfs_period_us", CGROUP_PERIOD_US) !=
	    STATUS_OK)
		return STATUS_SYSTEM;
	return write_number(group, "cpu.cfs_quota_us", quota);
}

int
cgroup_limit(const struct cgroup *cgroup, enum cgroup_controller controller,
    uint64_t value)
{
	int group = cgroup->groups[controller];
	bool v2 = cgroup->v2[controller];

	switch (controller) {
	case CGROUP_MEMORY:
		return limit_memory(group, v2, value);
	case CGROUP_PIDS:
		return write_number(group, "pids.max", value);
	case CGROUP_CPU:
		return limit_cpu(group, v2, value);
	case CGROUP_FREEZER:
	case CGROUP_CONTROLLER_COUNT:
		break;
	}
	return STATUS_SYSTEM;
}

int
cgroup_add(const struct cgroup *cgroup, pid_t pid)
{
	for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		if (cgroup->groups[i] >= 0 &&
		    write_number(cgroup->groups[i], "cgroup.procs",
			(uint64_t)pid) != STATUS_OK)
			return STATUS_SYSTEM;
	return STATUS_OK;
}

int
cgroup_freeze(const struct cgroup *cgroup, bool frozen)
{
	int group = cgroup->groups[CGROUP_FREEZER];

	if (cgroup->v2[CGROUP_FREEZER])
		return write_text(group, "cgroup.freeze", frozen ? "1" : "0");
	return write_text(group, "freezer.state", frozen ? "FROZEN" : "THAWED");
}

bool
cgroup_is_frozen(const struct cgroup *cgroup)
{
	int group = cgroup->groups[CGROUP_FREEZER];
	char text[32];

	if (cgroup->v2[CGROUP_FREEZER])
		return read_number(group, "cgroup.events", "frozen ") == 1;
	return read_text(group, "freezer.state", text, sizeof(text)) &&
	       strcmp(text, "FROZEN\n") == 0;
}

uint64_t
cgroup_kills(const struct cgroup *cgroup)
{
	int group = cgroup->groups[CGROUP_MEMORY];

	if (group < 0)
		return 0;
	return read_number(group,
	    cgroup->v2[CGROUP_MEMORY] ? "memory.events" : "memory.oom_control",
	    "oom_kill ");
}

uint64_t
cgroup_peak(const struct cgroup *cgroup, enum cgroup_controller controller)
{
	int group = cgroup->groups[controller];

	if (group < 0)
		return 0;
	if (controller == CGROUP_PIDS)
		return read_number(group, "pids.peak", "");
	return read_number(group,
	    cgroup->v2[controller] ? "memory.peak"
				   : "memory.max_usage_in_bytes",
	    "");
}
