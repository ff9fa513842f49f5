#include "gateway/proc/confine.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* What a child of ours ends with: a signal above 128, else what it says. */
enum {
	WENT_WELL = 0,
	CONFINED_NOT = 90
};

typedef int attempt(void);

/* Confines a child as a program of ours and lets it try something. */
static int
confined_in(enum confine_program program, int folder, attempt *try)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (confine_enter(program, folder, NULL) != STATUS_OK)
			_exit(CONFINED_NOT);
		_exit(try());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

static int
confined_as(enum confine_program program, attempt *try)
{
	return confined_in(program, -1, try);
}

static int
confined(attempt *try)
{
	return confined_as(CONFINE_BROKER, try);
}

static int
nothing(void)
{
	return WENT_WELL;
}

static int
inet(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 ? errno : 0;
}

static int
inet6(void)
{
	return socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0) < 0 ? errno : 0;
}

static int
packets(void)
{
	return socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0) < 0 ? errno : 0;
}

/* EPERM if that is the answer for each; else what the first other one gets. */
static int
any_other_family(void)
{
	for (int family = 0; family < 64; family++) {
		if (family == AF_INET || family == AF_INET6)
			continue;
		if (socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0) >= 0)
			return WENT_WELL;
		if (errno != EPERM)
			return errno;
	}
	return EPERM;
}

static int
program(void)
{
	static char *const words[] = { NULL };

	return execve("/bin/true", words, words) != 0 ? errno : 0;
}

static int
trace(void)
{
	return syscall(SYS_ptrace, 0, 0, 0, 0) != 0 ? errno : 0;
}

static int
ring(void)
{
	return syscall(SYS_io_uring_setup, 1, NULL) != 0 ? errno : 0;
}

static int
read_file(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 ? errno : 0;
}

static int
write_file(void)
{
	return open("/tmp/exeat-confined", O_WRONLY | O_CREAT | O_CLOEXEC,
		   0600) < 0
		   ? errno
		   : 0;
}

static int
make_folder(void)
{
	return syscall(SYS_mkdirat, AT_FDCWD, "/tmp/exeat-confined", 0700) != 0
		   ? errno
		   : 0;
}

static int
run_memory(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? errno : 0;
}

static int
fork_again(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) < 0 ? errno : 0;
}

static int
be_traced(void)
{
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0 ? errno : 0;
}

/* What it lives on. */
static int
live(void)
{
	struct msghdr message = { .msg_iovlen = 0 };
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED || mlock(page, 4096) != 0 ||
	    munmap(page, 4096) != 0)
		return 1;
	/* Nothing is open there, and that is all that is wrong. */
	if (sendmsg(1000, &message, 0) == 0 || errno != EBADF)
		return 2;
	return WENT_WELL;
}

static bool
is_sanitized(void)
{
	/* The list is left out then, and its calls go through. */
	return confined(fork_again) != EPERM;
}

static void
what_takes_over_kills(void **state)
{
	static attempt *const attempts[] = { inet, inet6, packets, program,
		trace, ring };

	(void)state;
	if (is_sanitized())
		skip();
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++)
		assert_int_equal(confined(attempts[i]), 128 + SIGSYS);
}

static void
what_it_does_not_need_fails(void **state)
{
	static attempt *const attempts[] = { read_file, write_file, make_folder,
		run_memory, fork_again, be_traced };

	(void)state;
	if (is_sanitized())
		skip();
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++)
		assert_int_equal(confined(attempts[i]), EPERM);
}

static void
what_it_needs_goes_on(void **state)
{
	(void)state;
	assert_int_equal(confined(nothing), WENT_WELL);
	assert_int_equal(confined(live), WENT_WELL);
}

static void
who_looks_for_programs_reads_and_changes_nothing(void **state)
{
	(void)state;
	if (is_sanitized())
		skip();
	assert_int_equal(confined_as(CONFINE_LOOKOUT, read_file), WENT_WELL);
	assert_int_equal(confined_as(CONFINE_LOOKOUT, write_file), EPERM);
	assert_int_equal(confined_as(CONFINE_LOOKOUT, make_folder), EPERM);
	assert_int_equal(confined_as(CONFINE_LOOKOUT, fork_again), EPERM);
	assert_int_equal(confined_as(CONFINE_LOOKOUT, inet), 128 + SIGSYS);
	assert_int_equal(confined_as(CONFINE_LOOKOUT, program), 128 + SIGSYS);
}

static void
assert_internet_alone(enum confine_program who)
{
	assert_int_equal(confined_as(who, inet), WENT_WELL);
	assert_int_equal(confined_as(who, inet6), WENT_WELL);
	assert_int_equal(confined_as(who, packets), EPERM);
	assert_int_equal(confined_as(who, any_other_family), EPERM);
	assert_int_equal(confined_as(who, read_file), EPERM);
	assert_int_equal(confined_as(who, write_file), EPERM);
	assert_int_equal(confined_as(who, run_memory), EPERM);
	assert_int_equal(confined_as(who, fork_again), EPERM);
	assert_int_equal(confined_as(who, program), 128 + SIGSYS);
	assert_int_equal(confined_as(who, trace), 128 + SIGSYS);
}

static void
a_gateway_keeps_the_internet_and_nothing_else(void **state)
{
	(void)state;
	if (is_sanitized())
		skip();
	assert_internet_alone(CONFINE_GATEWAY);
	assert_internet_alone(CONFINE_FETCH);
}

static char kept[] = "/tmp/exeat-confined-XXXXXX";
static int folder_fd;

/* As what is kept there is replaced. */
static int
replace_in_folder(void)
{
	int fd = openat(
	    folder_fd, "new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, "text", 4) != 4 || fsync(fd) != 0 ||
	    close(fd) != 0 ||
	    renameat(folder_fd, "new", folder_fd, "kept") != 0 ||
	    fsync(folder_fd) != 0 || unlinkat(folder_fd, "kept", 0) != 0)
		return errno;
	return WENT_WELL;
}

/* As SQLite does with its log. */
static int
cut_in_folder(void)
{
	int fd = openat(folder_fd, "log", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || pwrite(fd, "text", 4, 0) != 4 || ftruncate(fd, 2) != 0 ||
	    close(fd) != 0 || unlinkat(folder_fd, "log", 0) != 0)
		return errno;
	return WENT_WELL;
}

static int
climb_out_of_folder(void)
{
	int fd = openat(folder_fd, "../../etc/passwd", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? errno : 0;
}

static void
assert_folder_alone(enum confine_program who)
{
	static attempt *const others[] = { read_file, write_file,
		climb_out_of_folder };

	assert_int_equal(
	    confined_in(who, folder_fd, replace_in_folder), WENT_WELL);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(
		    confined_in(who, folder_fd, others[i]), EACCES);
	assert_int_equal(confined_in(who, folder_fd, make_folder), EPERM);
	assert_int_equal(confined_in(who, folder_fd, fork_again), EPERM);
	assert_int_equal(confined_in(who, folder_fd, inet), 128 + SIGSYS);
	assert_int_equal(confined_in(who, folder_fd, program), 128 + SIGSYS);
}

static void
who_has_a_folder_handles_files_in_there_alone(void **state)
{
	(void)state;
	if (is_sanitized())
		skip();
	assert_non_null(mkdtemp(kept));
	folder_fd = open(kept, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder_fd >= 0);
	assert_folder_alone(CONFINE_BROKER);
	assert_folder_alone(CONFINE_WRITER);
	assert_folder_alone(CONFINE_KEEPER);
	assert_int_equal(
	    confined_in(CONFINE_WRITER, folder_fd, cut_in_folder), WENT_WELL);
	assert_int_equal(close(folder_fd), 0);
	assert_int_equal(rmdir(kept), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_takes_over_kills),
		cmocka_unit_test(what_it_does_not_need_fails),
		cmocka_unit_test(what_it_needs_goes_on),
		cmocka_unit_test(
		    who_looks_for_programs_reads_and_changes_nothing),
		cmocka_unit_test(a_gateway_keeps_the_internet_and_nothing_else),
		cmocka_unit_test(who_has_a_folder_handles_files_in_there_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
