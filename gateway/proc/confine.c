#include "gateway/proc/confine.h"

#include "gateway/proc/bpf.h"
#include "gateway/proc/corefile.h"
#include "gateway/proc/landlock.h"
#include "schema/status.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
static const bool is_sanitized = true;
#else
static const bool is_sanitized = false;
#endif

/* Calls with which a process that was taken over would go on elsewhere. */
static const unsigned deadly[] = {
	SYS_execve,
	SYS_execveat,
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_pidfd_getfd,
	SYS_bpf,
	SYS_io_uring_setup,
	SYS_mount,
	SYS_setns,
	SYS_unshare,
};

/* The same for who has no network. */
static const unsigned sockets[] = { SYS_socket, SYS_connect, SYS_bind };

/* A call, and the argument and flags for which alone it is allowed. */
struct allowed {
	unsigned number;
	uint8_t argument; /* looked at when flags is not 0 */
	uint32_t flags; /* none of these bits may be set */
};

/* Memory that holds what we make must not run. */
#define NOT_RUN 2, PROT_EXEC

/* Nothing is changed through what is opened so. */
#define TO_READ 2, (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)

/* What every program of ours lives on. */
static const struct allowed common[] = {
	/* frames, and descriptors that come with them */
	{ .number = SYS_recvmsg },
	{ .number = SYS_sendmsg },
	{ .number = SYS_read },
	{ .number = SYS_readv },
	{ .number = SYS_write },
	{ .number = SYS_writev },
	{ .number = SYS_close },
	{ .number = SYS_fcntl },
	{ .number = SYS_fstat },
	{ .number = SYS_newfstatat }, /* fstat() of the C library */
	{ .number = SYS_lseek },
	/* waiting */
	{ .number = SYS_epoll_pwait },
	{ .number = SYS_epoll_ctl },
	{ .number = SYS_ppoll },
	{ .number = SYS_timerfd_settime },
#if defined(__x86_64__)
	{ .number = SYS_epoll_wait },
	{ .number = SYS_poll },
#endif
	/* memory */
	{ SYS_mmap, NOT_RUN },
	{ SYS_mprotect, NOT_RUN },
	{ .number = SYS_munmap },
	{ .number = SYS_mremap },
	{ .number = SYS_brk },
	{ .number = SYS_madvise },
	{ .number = SYS_mlock }, /* secrets stay there */
	{ .number = SYS_munlock },
	{ .number = SYS_futex },
	/* time and chance */
	{ .number = SYS_clock_gettime },
	{ .number = SYS_gettimeofday },
	{ .number = SYS_getrandom },
	/* itself */
	{ .number = SYS_getpid },
	{ .number = SYS_gettid },
	{ .number = SYS_getuid },
	{ .number = SYS_geteuid },
	{ .number = SYS_rt_sigaction },
	{ .number = SYS_rt_sigprocmask },
	{ .number = SYS_rt_sigreturn },
	{ .number = SYS_restart_syscall },
	{ .number = SYS_tgkill }, /* abort() */
	{ .number = SYS_exit },
	{ .number = SYS_exit_group },
};

static const struct allowed gateway[] = {
	{ .number = SYS_connect },
	{ .number = SYS_bind },
	{ .number = SYS_accept4 },
	{ .number = SYS_recvfrom },
	{ .number = SYS_sendto },
	{ .number = SYS_recvmmsg },
	{ .number = SYS_sendmmsg },
	{ .number = SYS_shutdown },
	{ .number = SYS_getsockname },
	{ .number = SYS_getpeername },
	{ .number = SYS_getsockopt },
	{ .number = SYS_setsockopt },
	/* policies in sealed memory */
	{ .number = SYS_pread64 },
};

static const struct allowed lookout[] = {
	/* who connects, out of /proc, and the file of a program */
	{ SYS_openat, TO_READ },
	{ .number = SYS_getdents64 },
	{ .number = SYS_readlinkat },
	{ .number = SYS_sendto },
	{ .number = SYS_recvfrom },
};

/* Only with a folder, and behind a wall around everything else. */
static const struct allowed files[] = {
	{ .number = SYS_openat },
	{ .number = SYS_renameat },
	{ .number = SYS_renameat2 },
	{ .number = SYS_unlinkat },
	{ .number = SYS_fsync },
	{ .number = SYS_fdatasync },
	{ .number = SYS_flock },
	{ .number = SYS_fchmod },
};

/* SQLite, and what stands beside its file. */
static const struct allowed keeper[] = {
	{ .number = SYS_pread64 },
	{ .number = SYS_pwrite64 },
	{ .number = SYS_ftruncate },
	{ .number = SYS_fallocate },
	{ .number = SYS_faccessat },
	{ .number = SYS_faccessat2 },
	{ .number = SYS_fchmodat }, /* what is sealed is read-only */
	{ .number = SYS_readlinkat },
	{ .number = SYS_getdents64 },
	{ .number = SYS_fstatfs },
	{ .number = SYS_statfs },
	{ .number = SYS_getcwd },
	{ .number = SYS_fchown }, /* root's log belongs to whose file it is */
	{ .number = SYS_umask },
	{ .number = SYS_getgid },
	{ .number = SYS_getegid },
	{ .number = SYS_clock_nanosleep }, /* the file is locked */
#if defined(__x86_64__)
	/* as its C library still calls them */
	{ .number = SYS_access },
	{ .number = SYS_chmod },
	{ .number = SYS_readlink },
	{ .number = SYS_rename },
	{ .number = SYS_unlink },
#endif
};

static const struct allowed writer[] = {
	{ .number = SYS_accept4 },
	{ .number = SYS_getsockopt }, /* who connects */
	{ .number = SYS_getsockname },
	/* another keeper, and its end */
	{ .number = SYS_socketpair },
	{ .number = SYS_pidfd_send_signal },
	{ .number = SYS_waitid },
	{ .number = SYS_wait4 },
	{ .number = SYS_sched_yield },
};

#define LIST(list) .calls = (list), .count = sizeof(list) / sizeof((list)[0])

static const struct program {
	const struct allowed *calls; /* beside the common ones */
	size_t count;
	bool database; /* SQLite's calls, too */
	bool network; /* that of the internet; for others a socket is deadly */
	bool reads; /* opens files anywhere: no wall */
} programs[] = {
	[CONFINE_BROKER] = { .count = 0 },
	[CONFINE_GATEWAY] = { LIST(gateway), .network = true },
	[CONFINE_FETCH] = { LIST(gateway), .network = true },
	[CONFINE_LOOKOUT] = { LIST(lookout), .reads = true },
	[CONFINE_WRITER] = { LIST(writer), .database = true },
	[CONFINE_KEEPER] = { .database = true },
};

static_assert(sizeof(programs) / sizeof(programs[0]) == CONFINE_PROGRAM_COUNT,
    "every program has a list");

static void
put_call(struct bpf *filter, const struct allowed *call)
{
	size_t block;

	if (call->flags == 0) {
		bpf_when(filter, BPF_JEQ, call->number);
		bpf_answer(filter, SECCOMP_RET_ALLOW);
		return;
	}
	block = bpf_block_begin(filter, call->number, call->argument);
	bpf_deny_when(filter, BPF_JSET, call->flags, EPERM);
	bpf_block_end(filter, block);
}

static void
put_list(struct bpf *filter, const struct allowed *calls, size_t count)
{
	for (size_t i = 0; i < count; i++)
		put_call(filter, &calls[i]);
}

/*
 * Each family by its number: who may ask for another has the kernel load what
 * speaks it.  What gets to the end of a block is allowed.
 */
static void
put_internet(struct bpf *filter)
{
	size_t block = bpf_block_begin(filter, SYS_socket, 0);

	bpf_when(filter, BPF_JEQ, AF_INET);
	bpf_answer(filter, SECCOMP_RET_ALLOW);
	bpf_emit(filter, BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0);
	bpf_answer(filter, SECCOMP_RET_ERRNO | EPERM);
	bpf_block_end(filter, block);
}

static void
put_deadly(struct bpf *filter, const unsigned *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bpf_when(filter, BPF_JEQ, numbers[i]);
		bpf_answer(filter, SECCOMP_RET_KILL_PROCESS);
	}
}

static int
keep_to(const struct program *program, bool with_files)
{
	struct bpf filter = { .length = 0 };

	bpf_native_only(&filter);
	put_deadly(&filter, deadly, sizeof(deadly) / sizeof(deadly[0]));
	if (program->network)
		put_internet(&filter);
	else
		put_deadly(
		    &filter, sockets, sizeof(sockets) / sizeof(sockets[0]));
	put_list(&filter, common, sizeof(common) / sizeof(common[0]));
	put_list(&filter, program->calls, program->count);
	if (program->database)
		put_list(&filter, keeper, sizeof(keeper) / sizeof(keeper[0]));
	if (with_files)
		put_list(&filter, files, sizeof(files) / sizeof(files[0]));
	bpf_answer(&filter, SECCOMP_RET_ERRNO | EPERM);
	return bpf_install(&filter);
}

int
confine_private(struct problem *reterr)
{
	if (corefile_forbid() != STATUS_OK ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return problem_errno(
		    reterr, "cannot give up dumps and new privileges");
	return STATUS_OK;
}

int
confine_enter(enum confine_program program, int folder, struct problem *reterr)
{
	const struct program *list = &programs[program];
	int status = confine_private(reterr);

	if (status != STATUS_OK)
		return status;
	if (is_sanitized)
		return STATUS_OK;
	if (!list->reads)
		status = landlock_close(folder, list->network);
	/* Where there is no wall, no call opens a file either. */
	if (status == STATUS_SYSTEM ||
	    (status == STATUS_NOT_FOUND && folder >= 0))
		return problem_errno(reterr, "cannot give up files");
	if (keep_to(list, folder >= 0) != STATUS_OK)
		return problem_errno(reterr, "cannot give up system calls");
	return STATUS_OK;
}
