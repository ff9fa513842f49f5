#include "gateway/launch/devices.h"

#include "gateway/launch/mounts.h"
#include "gateway/launch/userns.h"
#include "gateway/proc/fd.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SHM_BYTES 268435456
#define DEV_BYTES 65536

static const char *const nodes[] = { "/dev/null", "/dev/zero", "/dev/full",
	"/dev/random", "/dev/urandom", "/dev/tty" };

static const struct {
	const char *at, *target;
} links[] = {
	{ "/dev/ptmx", "pts/ptmx" },
	{ "/dev/fd", "/proc/self/fd" },
	{ "/dev/stdin", "/proc/self/fd/0" },
	{ "/dev/stdout", "/proc/self/fd/1" },
	{ "/dev/stderr", "/proc/self/fd/2" },
};

/* About the machine, or a way to change it. */
static const char *const masked[] = { "kcore", "keys", "key-users",
	"timer_list", "kallsyms", "kpagecount", "kpageflags", "kpagecgroup",
	"sched_debug", "scsi", "acpi", "config.gz", "latency_stats",
	"interrupts", "asound" };
static const char *const read_only[] = { "sys", "bus", "fs", "irq",
	"sysrq-trigger" };

/* A device node must keep being one: nodev is what the bind leaves out. */
static int
bind_node(struct mounts *mounts, const char *path, struct problem *reterr)
{
	return mounts_bind(
	    mounts, path, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, reterr);
}

static int
put_terminals(struct mounts *mounts, struct problem *reterr)
{
	static const struct mounts_option options[] = { { "newinstance", NULL },
		{ "ptmxmode", "0666" }, { "mode", "620" }, { NULL, NULL } };
	ON_SCOPE_EXIT(fd_done) int tree = -1;
	int status = mounts_filesystem("devpts", options,
	    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, &tree, reterr);

	if (status != STATUS_OK)
		return status;
	return mounts_attach(mounts, tree, "/dev/pts", reterr);
}

static int
fill_dev(struct mounts *mounts, struct problem *reterr)
{
	int status = STATUS_OK;

	for (size_t i = 0;
	     status == STATUS_OK && i < sizeof(nodes) / sizeof(nodes[0]); i++)
		status = bind_node(mounts, nodes[i], reterr);
	for (size_t i = 0;
	     status == STATUS_OK && i < sizeof(links) / sizeof(links[0]); i++)
		status =
		    mounts_link(mounts, links[i].at, links[i].target, reterr);
	if (status == STATUS_OK)
		status = put_terminals(mounts, reterr);
	if (status == STATUS_OK)
		status = mounts_tmpfs(
		    mounts, "/dev/shm", SHM_BYTES, "1777", 0, reterr);
	return status;
}

int
devices_build(struct mounts *mounts, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int dev = -1;
	int status = mounts_tmpfs(
	    mounts, "/dev", DEV_BYTES, "755", MOUNT_ATTR_NOEXEC, reterr);

	if (status == STATUS_OK)
		status = mounts_directory(mounts, "/dev", 0755, &dev, reterr);
	if (status == STATUS_OK)
		status = fill_dev(mounts, reterr);
	if (status != STATUS_OK)
		return status;
	if (mounts_restrict(dev, false, MOUNT_ATTR_RDONLY) != STATUS_OK)
		return problem_errno(reterr, "cannot make /dev read-only");
	return STATUS_OK;
}

static int
open_in_proc(int proc, const char *name, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, proc, name, &how, sizeof(how));
}

static int
write_setting(
    int proc, const char *name, const char *value, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int fd = open_in_proc(proc, name, O_WRONLY);

	if (fd < 0 || write(fd, value, strlen(value)) != (ssize_t)strlen(value))
		return problem_errno(reterr, "cannot set /proc/%s", name);
	return STATUS_OK;
}

/* Of the sandbox's own network and user namespace, and of no other. */
static int
write_settings(int proc, bool nested, struct problem *reterr)
{
	char group[32];
	int status;

	if (snprintf(group, sizeof(group), "%d %d", USERNS_ID, USERNS_ID) < 0)
		return STATUS_TOO_LONG;
	status = write_setting(
	    proc, "sys/net/ipv4/ip_unprivileged_port_start", "0", reterr);
	if (status == STATUS_OK)
		status = write_setting(
		    proc, "sys/net/ipv4/ping_group_range", group, reterr);
	if (status == STATUS_OK && !nested)
		status = write_setting(
		    proc, "sys/user/max_user_namespaces", "0", reterr);
	return status;
}

static int
mask(struct mounts *mounts, int proc, const char *name, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int target = open_in_proc(proc, name, O_PATH);

	if (target < 0)
		return errno == ENOENT ? STATUS_OK
				       : problem_errno(reterr,
					     "cannot find /proc/%s", name);
	if (mounts_hide(mounts, target) != STATUS_OK)
		return problem_errno(reterr, "cannot mask /proc/%s", name);
	return STATUS_OK;
}

/* A copy of the place, read-only, over itself. */
static int
freeze(int proc, const char *name, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int target = open_in_proc(proc, name, O_PATH);
	ON_SCOPE_EXIT(fd_done) int tree = -1;
	int status;

	if (target < 0)
		return errno == ENOENT ? STATUS_OK
				       : problem_errno(reterr,
					     "cannot find /proc/%s", name);
	status = mounts_copy(target, "",
	    MOUNTS_BOUND | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, &tree,
	    reterr);
	if (status != STATUS_OK)
		return status;
	if (move_mount(tree, "", target, "",
		MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
		return problem_errno(
		    reterr, "cannot make /proc/%s read-only", name);
	return STATUS_OK;
}

static int
attach_proc(struct mounts *mounts, int *ret_fd, struct problem *reterr)
{
	static const struct mounts_option none[] = { { NULL, NULL } };
	ON_SCOPE_EXIT(fd_done) int tree = -1;
	int status = mounts_filesystem(
	    "proc", none, MOUNTS_BOUND | MOUNT_ATTR_NOEXEC, &tree, reterr);

	if (status != STATUS_OK)
		return problem_cure(reterr,
		    "this container masks parts of its /proc, so the kernel "
		    "allows no other: start it with an unmasked /proc, or run "
		    "exeat outside of it");
	status = mounts_attach(mounts, tree, "/proc", reterr);
	if (status == STATUS_OK)
		*ret_fd = steal_fd(&tree);
	return status;
}

int
devices_proc(struct mounts *mounts, bool nested, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int proc = -1;
	struct statfs fs;
	int status = attach_proc(mounts, &proc, reterr);

	if (status != STATUS_OK)
		return status;
	/* What is written here must be written into a real /proc. */
	if (fstatfs(proc, &fs) != 0 || fs.f_type != PROC_SUPER_MAGIC)
		return problem_set(reterr, "the sandbox's /proc is none");
	status = write_settings(proc, nested, reterr);
	if (nested)
		return status;
	for (size_t i = 0;
	     status == STATUS_OK && i < sizeof(masked) / sizeof(masked[0]); i++)
		status = mask(mounts, proc, masked[i], reterr);
	for (size_t i = 0; status == STATUS_OK &&
			   i < sizeof(read_only) / sizeof(read_only[0]);
	     i++)
		status = freeze(proc, read_only[i], reterr);
	return status;
}
