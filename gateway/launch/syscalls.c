#include "gateway/launch/syscalls.h"

#include "gateway/proc/bpf.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Calls that are younger than the headers we build with.  Numbers from 424 on
 * are the same on every architecture.
 */
enum {
	NEW_FCHMODAT2 = 452,
	NEW_OPEN_TREE_ATTR = 467,
	LAST_KNOWN = 469 /* file_setattr, Linux 6.17 */
};

/* Who is spared a line of the table. */
enum spared {
	SPARE_NOBODY,
	SPARE_NESTED, /* a sandbox in which sandboxes may be made */
	SPARE_DEBUGGERS
};

struct denied {
	unsigned number;
	uint16_t error;
	enum spared spared;
};

static const struct denied table[] = {
	/* Surface of the kernel with a history of exploits, or an effect on
	 * the whole machine. */
	{ SYS_bpf, EPERM, SPARE_NOBODY },
	{ SYS_perf_event_open, EPERM, SPARE_NOBODY },
	{ SYS_userfaultfd, EPERM, SPARE_NOBODY },
	{ SYS_kexec_load, EPERM, SPARE_NOBODY },
	{ SYS_kexec_file_load, EPERM, SPARE_NOBODY },
	{ SYS_init_module, EPERM, SPARE_NOBODY },
	{ SYS_finit_module, EPERM, SPARE_NOBODY },
	{ SYS_delete_module, EPERM, SPARE_NOBODY },
	{ SYS_acct, EPERM, SPARE_NOBODY },
	{ SYS_quotactl, EPERM, SPARE_NOBODY },
	{ SYS_quotactl_fd, EPERM, SPARE_NOBODY },
	{ SYS_swapon, EPERM, SPARE_NOBODY },
	{ SYS_swapoff, EPERM, SPARE_NOBODY },
	{ SYS_reboot, EPERM, SPARE_NOBODY },
	{ SYS_vhangup, EPERM, SPARE_NOBODY },
	{ SYS_fanotify_init, EPERM, SPARE_NOBODY },
	{ SYS_lookup_dcookie, EPERM, SPARE_NOBODY },
#if defined(__x86_64__)
	{ SYS_iopl, EPERM, SPARE_NOBODY },
	{ SYS_ioperm, EPERM, SPARE_NOBODY },
	{ SYS_modify_ldt, EPERM, SPARE_NOBODY },
	{ SYS_uselib, ENOSYS, SPARE_NOBODY },
	{ SYS_ustat, ENOSYS, SPARE_NOBODY },
	{ SYS_sysfs, ENOSYS, SPARE_NOBODY },
	{ SYS_create_module, ENOSYS, SPARE_NOBODY },
#endif
	{ SYS_nfsservctl, ENOSYS, SPARE_NOBODY },
	/* Makes sockets and opens files past this filter.  Not known, so that
	 * libuv falls back to its threads. */
	{ SYS_io_uring_setup, ENOSYS, SPARE_NOBODY },
	{ SYS_io_uring_enter, ENOSYS, SPARE_NOBODY },
	{ SYS_io_uring_register, ENOSYS, SPARE_NOBODY },
	/* Keyrings belong to users, not to namespaces. */
	{ SYS_add_key, EPERM, SPARE_NOBODY },
	{ SYS_request_key, EPERM, SPARE_NOBODY },
	{ SYS_keyctl, EPERM, SPARE_NOBODY },
	/* Its mode lies in memory; whoever asks knows openat too. */
	{ SYS_openat2, ENOSYS, SPARE_NOBODY },
	/* Files past the view. */
	{ SYS_open_by_handle_at, EPERM, SPARE_NOBODY },
	/* The log and the clock of the machine. */
	{ SYS_syslog, EPERM, SPARE_NOBODY },
	{ SYS_settimeofday, EPERM, SPARE_NOBODY },
	{ SYS_clock_settime, EPERM, SPARE_NOBODY },
	/* The view itself. */
	{ SYS_mount, EPERM, SPARE_NESTED },
	{ SYS_umount2, EPERM, SPARE_NESTED },
	{ SYS_pivot_root, EPERM, SPARE_NESTED },
	{ SYS_fsopen, EPERM, SPARE_NESTED },
	{ SYS_fsconfig, EPERM, SPARE_NESTED },
	{ SYS_fsmount, EPERM, SPARE_NESTED },
	{ SYS_fspick, EPERM, SPARE_NESTED },
	{ SYS_move_mount, EPERM, SPARE_NESTED },
	{ SYS_open_tree, EPERM, SPARE_NESTED },
	{ SYS_mount_setattr, EPERM, SPARE_NESTED },
	{ NEW_OPEN_TREE_ATTR, EPERM, SPARE_NESTED },
	{ SYS_setns, EPERM, SPARE_NESTED },
	/* Looking into other processes of the sandbox. */
	{ SYS_ptrace, EPERM, SPARE_DEBUGGERS },
	{ SYS_process_vm_readv, EPERM, SPARE_DEBUGGERS },
	{ SYS_process_vm_writev, EPERM, SPARE_DEBUGGERS },
	{ SYS_pidfd_getfd, EPERM, SPARE_DEBUGGERS },
	{ SYS_kcmp, EPERM, SPARE_DEBUGGERS },
};

/* Typing into a terminal, pasting on a console, other line disciplines. */
static const unsigned ioctls[] = { TIOCSTI, TIOCLINUX, TIOCSETD };

/* Any flag that makes a namespace.  The time namespace's is one of clone's
 * exit signals, so only unshare can ask for it. */
#define NAMESPACES                                                     \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | \
	    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

/*
 * A file that lends its owner's rights to whoever runs it.  In here it means
 * nothing, but the workspace has other users outside.
 */
#define LENDS (S_ISUID | S_ISGID)

/* O_CREAT, or O_TMPFILE without the bits that it shares: there is a mode. */
#define CREATES (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))

/* Calls that give a file its mode, and which argument is that. */
static const struct {
	unsigned number;
	uint8_t mode;
} modes[] = {
#if defined(__x86_64__)
	{ SYS_chmod, 1 },
	{ SYS_creat, 1 },
	{ SYS_mknod, 1 },
#endif
	{ SYS_fchmod, 1 },
	{ SYS_fchmodat, 2 },
	{ NEW_FCHMODAT2, 2 },
	{ SYS_mknodat, 2 },
};

/* Calls that may make a file; which argument is the flags, before the mode. */
static const struct {
	unsigned number;
	uint8_t flags;
} opens[] = {
#if defined(__x86_64__)
	{ SYS_open, 1 },
#endif
	{ SYS_openat, 2 },
};

static void
put_machine(struct bpf *f)
{
	bpf_native_only(f);
	bpf_deny_when(f, BPF_JGT, LAST_KNOWN, ENOSYS);
}

static void
put_table(struct bpf *f, bool nested, bool ptrace)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i].spared == SPARE_NESTED && nested)
			continue;
		if (table[i].spared == SPARE_DEBUGGERS && ptrace)
			continue;
		bpf_deny_when(f, BPF_JEQ, table[i].number, table[i].error);
	}
}

static void
put_ioctl(struct bpf *f)
{
	size_t block = bpf_block_begin(f, SYS_ioctl, 1);

	for (size_t i = 0; i < sizeof(ioctls) / sizeof(ioctls[0]); i++)
		bpf_deny_when(f, BPF_JEQ, ioctls[i], EPERM);
	bpf_block_end(f, block);
}

/* Local, IPv4, IPv6, and of netlink only routes: they list interfaces. */
static void
put_sockets(struct bpf *f)
{
	size_t block = bpf_block_begin(f, SYS_socket, 0);

	bpf_when(f, BPF_JEQ, AF_UNIX);
	bpf_answer(f, SECCOMP_RET_ALLOW);
	bpf_when(f, BPF_JEQ, AF_INET);
	bpf_answer(f, SECCOMP_RET_ALLOW);
	bpf_when(f, BPF_JEQ, AF_INET6);
	bpf_answer(f, SECCOMP_RET_ALLOW);
	bpf_emit(f, BPF_JMP | BPF_K | BPF_JEQ, AF_NETLINK, 1, 0);
	bpf_answer(f, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	bpf_load_argument(f, 2);
	bpf_emit(f, BPF_JMP | BPF_K | BPF_JEQ, 0 /* NETLINK_ROUTE */, 1, 0);
	bpf_answer(f, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	bpf_block_end(f, block);

	block = bpf_block_begin(f, SYS_socketpair, 0);
	bpf_emit(f, BPF_JMP | BPF_K | BPF_JEQ, AF_UNIX, 1, 0);
	bpf_answer(f, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	bpf_block_end(f, block);
}

static void
put_open(struct bpf *f, unsigned number, size_t flags)
{
	size_t block = bpf_block_begin(f, number, flags);

	/* Without a file to be made, the mode is whatever lies there. */
	bpf_emit(f, BPF_JMP | BPF_K | BPF_JSET, CREATES, 0, 3);
	bpf_load_argument(f, flags + 1);
	bpf_deny_when(f, BPF_JSET, LENDS, EPERM);
	bpf_block_end(f, block);
}

static void
put_modes(struct bpf *f)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		size_t block =
		    bpf_block_begin(f, modes[i].number, modes[i].mode);

		bpf_deny_when(f, BPF_JSET, LENDS, EPERM);
		bpf_block_end(f, block);
	}
	for (size_t i = 0; i < sizeof(opens) / sizeof(opens[0]); i++)
		put_open(f, opens[i].number, opens[i].flags);
}

/*
 * clone3 cannot be judged: its flags lie in memory.  It is left to the limit
 * of no user namespaces, without which no other can be made.
 */
static void
put_namespaces(struct bpf *f)
{
	size_t block = bpf_block_begin(f, SYS_clone, 0);

	bpf_deny_when(f, BPF_JSET, NAMESPACES, EPERM);
	bpf_block_end(f, block);
	block = bpf_block_begin(f, SYS_unshare, 0);
	bpf_deny_when(f, BPF_JSET, NAMESPACES | CLONE_NEWTIME, EPERM);
	bpf_block_end(f, block);
}

/* Before anything else is allowed; what is denied is denied all the same. */
static void
put_told(struct bpf *f)
{
	bpf_when(f, BPF_JEQ, SYS_execve);
	bpf_answer(f, SECCOMP_RET_USER_NOTIF);
	bpf_when(f, BPF_JEQ, SYS_execveat);
	bpf_answer(f, SECCOMP_RET_USER_NOTIF);
}

static void
build(struct bpf *filter, bool nested, bool ptrace, bool told)
{
	filter->length = 0;
	put_machine(filter);
	put_table(filter, nested, ptrace);
	put_ioctl(filter);
	put_sockets(filter);
	put_modes(filter);
	if (!nested)
		put_namespaces(filter);
	if (told)
		put_told(filter);
	bpf_answer(filter, SECCOMP_RET_ALLOW);
}

static int
fail_to_install(struct problem *reterr)
{
	(void)problem_errno(reterr, "cannot install the system call filter");
	return problem_cure(
	    reterr, "the kernel must have CONFIG_SECCOMP_FILTER");
}

int
syscalls_filter(bool nested, bool ptrace, struct problem *reterr)
{
	struct bpf filter;

	build(&filter, nested, ptrace, false);
	return bpf_install(&filter) == STATUS_OK ? STATUS_OK
						 : fail_to_install(reterr);
}

/* Younger than the headers we build with (Linux 5.19). */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

int
syscalls_filter_told(
    bool nested, bool ptrace, int *ret_listener, struct problem *reterr)
{
	static const unsigned long flags[] = {
		SECCOMP_FILTER_FLAG_NEW_LISTENER |
		    SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
		SECCOMP_FILTER_FLAG_NEW_LISTENER
	};
	struct bpf filter;
	struct sock_fprog program = { .filter = filter.code };

	build(&filter, nested, ptrace, true);
	program.len = (unsigned short)filter.length;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		long fd = syscall(
		    SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags[i], &program);

		if (fd >= 0) {
			*ret_listener = (int)fd;
			return STATUS_OK;
		}
		if (errno == EBUSY)
			return STATUS_REFUSED;
	}
	return fail_to_install(reterr);
}
