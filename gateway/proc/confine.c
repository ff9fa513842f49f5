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
	SYS_socket,
	SYS_connect,
	SYS_bind,
	SYS_mount,
	SYS_setns,
	SYS_unshare,
};

/* A call, and the argument and flags for which alone it is allowed. */
struct allowed {
	unsigned number;
	uint8_t argument; /* looked at when flags is not 0 */
	uint32_t flags; /* none of these bits may be set */
};

/* Memory that holds what we make must not run. */
#define NOT_RUN 2, PROT_EXEC

static const struct allowed broker[] = {
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
	{ .number = SYS_mlock },
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

static const struct list {
	const struct allowed *calls;
	size_t count;
} lists[] = {
	[CONFINE_BROKER] = { broker, sizeof(broker) / sizeof(broker[0]) },
};

static_assert(sizeof(lists) / sizeof(lists[0]) == CONFINE_PROGRAM_COUNT,
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

static int
keep_to(const struct list *list, bool with_files)
{
	struct bpf filter = { .length = 0 };

	bpf_native_only(&filter);
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
		bpf_when(&filter, BPF_JEQ, deadly[i]);
		bpf_answer(&filter, SECCOMP_RET_KILL_PROCESS);
	}
	for (size_t i = 0; i < list->count; i++)
		put_call(&filter, &list->calls[i]);
	for (size_t i = 0; with_files && i < sizeof(files) / sizeof(files[0]);
	     i++)
		put_call(&filter, &files[i]);
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
	int status = confine_private(reterr);

	if (status != STATUS_OK)
		return status;
	if (is_sanitized)
		return STATUS_OK;
	status = landlock_close(folder);
	/* Where there is no wall, no call opens a file either. */
	if (status == STATUS_SYSTEM ||
	    (status == STATUS_NOT_FOUND && folder >= 0))
		return problem_errno(reterr, "cannot give up files");
	if (keep_to(&lists[program], folder >= 0) != STATUS_OK)
		return problem_errno(reterr, "cannot give up system calls");
	return STATUS_OK;
}
