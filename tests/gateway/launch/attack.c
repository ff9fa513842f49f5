/*
 * attack - what a program in the sandbox may try, and must not be able to.
 *
 * Prints one line a try and exits with the number of holes found.  Run inside
 * by test_box.py; it takes nothing for granted but its own process.
 */
#include "schema/attr.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int
judge(const char *name, bool blocked)
{
	(void)printf("%s %s\n", blocked ? "ok  " : "HOLE", name);
	return blocked ? 0 : 1;
}

/* A call that must fail. */
#define REFUSED(name, call) judge(name, (call) < 0)

/* In a child that may be killed for it; what it returns is the question. */
static bool
child_fails(long (*attempt)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(attempt() < 0 ? 1 : 0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static long
clone3_user(void)
{
	struct clone_args args = { .flags = CLONE_NEWUSER | CLONE_NEWNET,
		.exit_signal = SIGCHLD };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return pid;
}

static long
foreign_call(void)
{
#if defined(__x86_64__)
	/* The 32 bit ABI: getpid, which would be harmless. */
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
	return result;
#else
	return -1;
#endif
}

static long
x32_call(void)
{
	return syscall(0x40000000 + SYS_getpid);
}

static int
try_namespaces(void)
{
	int holes = 0;

	holes += REFUSED("unshare user", unshare(CLONE_NEWUSER));
	holes += REFUSED(
	    "unshare user and net", unshare(CLONE_NEWUSER | CLONE_NEWNET));
	holes += REFUSED("unshare mount", unshare(CLONE_NEWNS));
	holes += REFUSED("unshare time", unshare(CLONE_NEWTIME));
	holes += REFUSED("clone with a user namespace",
	    syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
	holes +=
	    judge("clone3 with a user namespace", child_fails(clone3_user));
	holes += REFUSED("open a namespace of process 1",
	    open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC));
	holes += REFUSED("setns", setns(0, 0));
	return holes;
}

static int
try_mounts(void)
{
	int holes = 0;

	holes += REFUSED("mount", mount("x", "/tmp", "tmpfs", 0, NULL));
	holes += REFUSED("remount the root",
	    mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
	holes += REFUSED("unmount", umount2("/proc/sys", MNT_DETACH));
	holes += REFUSED("fsopen", fsopen("tmpfs", 0));
	holes +=
	    REFUSED("open_tree", open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE));
	holes +=
	    REFUSED("open_tree_attr", syscall(467, AT_FDCWD, "/", 1, 0, 0));
	holes += REFUSED("chroot", chroot("/tmp"));
	holes += REFUSED("mknod", mknod("/tmp/disk", S_IFBLK | 0600, 254 << 8));
	holes +=
	    REFUSED("open by handle", syscall(SYS_open_by_handle_at, 0, 0, 0));
	return holes;
}

static int
try_processes(void)
{
	static const char *const files[] = { "/proc/1/mem", "/proc/1/environ",
		"/proc/1/root/etc/passwd", "/proc/1/fd/3", "/proc/1/cwd/etc",
		"/proc/1/maps", "/proc/1/auxv" };
	int holes = 0;

	holes +=
	    REFUSED("ptrace process 1", ptrace(PTRACE_SEIZE, 1, NULL, NULL));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		holes +=
		    REFUSED(files[i], open(files[i], O_RDONLY | O_CLOEXEC));
	holes += REFUSED("write to process 1's program",
	    open("/proc/1/exe", O_WRONLY | O_CLOEXEC));
	holes +=
	    judge("kill process 1", kill(1, SIGKILL) != 0 || kill(1, 0) == 0);
	return holes;
}

static int
try_kernel(void)
{
	int holes = 0;

	holes += REFUSED("bpf", syscall(SYS_bpf, 0, 0, 0));
	holes += REFUSED("io_uring", syscall(SYS_io_uring_setup, 8, 0));
	holes += REFUSED("userfaultfd", syscall(SYS_userfaultfd, 1));
	holes += REFUSED(
	    "perf_event_open", syscall(SYS_perf_event_open, 0, 0, -1, -1, 0));
	holes += REFUSED("keyctl", syscall(SYS_keyctl, 0, -3, 1));
	holes +=
	    REFUSED("add_key", syscall(SYS_add_key, "user", "x", "y", 1, -3));
	holes += REFUSED("the kernel's log", syscall(SYS_syslog, 3, 0, 0));
	holes += REFUSED("the clock", syscall(SYS_settimeofday, 0, 0));
	holes += REFUSED("a call from the future", syscall(600));
	holes += judge("the 32 bit ABI", child_fails(foreign_call));
	holes += judge("the x32 ABI", child_fails(x32_call));
	holes += REFUSED("host name", sethostname("x", 1));
	holes += REFUSED("user 0", setuid(0));
	holes += REFUSED("other groups", syscall(SYS_setgroups, 0, 0));
	holes += REFUSED("raising a capability",
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0));
	holes += judge(
	    "no_new_privs is on", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	return holes;
}

static int
try_sockets(void)
{
	static const struct {
		const char *name;
		int family, type, protocol;
	} sockets[] = {
		{ "AF_VSOCK", AF_VSOCK, SOCK_STREAM, 0 },
		{ "AF_PACKET", AF_PACKET, SOCK_RAW, 0 },
		{ "AF_ALG", AF_ALG, SOCK_SEQPACKET, 0 },
		{ "AF_XDP", 44, SOCK_RAW, 0 },
		{ "AF_BLUETOOTH", AF_BLUETOOTH, SOCK_RAW, 0 },
		{ "AF_CAN", AF_CAN, SOCK_RAW, 1 },
		{ "netfilter", AF_NETLINK, SOCK_RAW, 12 },
		{ "audit", AF_NETLINK, SOCK_RAW, 9 },
		{ "sock_diag", AF_NETLINK, SOCK_RAW, 4 },
		{ "raw IPv4", AF_INET, SOCK_RAW, 1 },
		{ "raw IPv6", AF_INET6, SOCK_RAW, 58 },
	};
	int holes = 0, pair[2];

	for (size_t i = 0; i < sizeof(sockets) / sizeof(sockets[0]); i++)
		holes += REFUSED(sockets[i].name,
		    socket(sockets[i].family, sockets[i].type | SOCK_CLOEXEC,
			sockets[i].protocol));
	holes += REFUSED("a pair of another family",
	    socketpair(AF_TIPC, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	holes += judge("interfaces can be listed",
	    socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) >= 0);
	return holes;
}

static int
try_terminal(void)
{
	int holes = 0, terminal = open("/dev/ptmx", O_RDWR | O_CLOEXEC);

	holes += judge("a terminal of our own", terminal >= 0);
	holes += REFUSED("TIOCSTI", ioctl(terminal, TIOCSTI, "x"));
	holes += judge("TIOCSTI is refused by the filter", errno == EPERM);
	holes += REFUSED("TIOCSTI with a high bit",
	    ioctl(terminal, TIOCSTI | 1UL << 32, "x"));
	holes += judge("and that too", errno == EPERM);
	holes += REFUSED("TIOCLINUX", ioctl(terminal, TIOCLINUX, "\2"));
	return holes;
}

static int
try_files(void)
{
	static const char *const absent[] = { "/root", "/sys", "/boot", "/mnt",
		"/srv", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/mem",
		"/dev/vda", "/dev/vhost-vsock", "/dev/net", "/etc/shadow",
		"/etc/ssh", "/etc/sudoers", "/run/docker.sock", "/run/dbus",
		"/var/run/docker.sock", "/var/log", "/proc/kcore",
		"/proc/self/root/root", "/sys/fs/cgroup", "/home/agent/.ssh" };
	static const char *const writable[] = { "/new", "/usr/new", "/etc/new",
		"/dev/new", "/proc/sys/kernel/core_pattern",
		"/proc/sys/user/max_user_namespaces", "/proc/sysrq-trigger",
		"/proc/sys/net/ipv4/ip_forward", "/etc/resolv.conf",
		"/etc/ssl/certs/ca-certificates.crt" };
	int holes = 0;

	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		holes +=
		    REFUSED(absent[i], open(absent[i], O_RDONLY | O_CLOEXEC));
	for (size_t i = 0; i < sizeof(writable) / sizeof(writable[0]); i++)
		holes += REFUSED(writable[i],
		    open(writable[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	return holes;
}

/* By every call that can give a file its mode. */
static int
try_lending_rights(void)
{
	struct {
		uint64_t flags, mode, resolve;
	} how = { O_WRONLY | O_CREAT | O_CLOEXEC, 04755, 0 };
	int file = open("plain", O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	int holes = judge("a plain file", file >= 0);

	holes += REFUSED("chmod u+s", chmod("plain", 04755));
	holes += judge("by the filter", errno == EPERM);
	holes += REFUSED("chmod g+s", chmod("plain", 02755));
	holes += REFUSED("fchmod", fchmod(file, 06755));
	holes += REFUSED("fchmodat", fchmodat(AT_FDCWD, "plain", 04755, 0));
	holes +=
	    REFUSED("fchmodat2", syscall(452, AT_FDCWD, "plain", 04755, 0));
	holes += REFUSED("openat",
	    openat(AT_FDCWD, "s1", O_RDWR | O_CREAT | O_CLOEXEC, 04755));
	holes += REFUSED("an unnamed file",
	    openat(AT_FDCWD, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 04755));
	holes += REFUSED(
	    "openat2", syscall(SYS_openat2, AT_FDCWD, "s2", &how, sizeof(how)));
	holes +=
	    REFUSED("mknodat", mknodat(AT_FDCWD, "s3", S_IFREG | 04755, 0));
	/* NOLINTNEXTLINE(android-cloexec-creat): this very call is tried */
	holes += REFUSED("creat", creat("s4", 04755));
	holes += REFUSED("mknod", mknod("s6", S_IFREG | 02755, 0));
	holes += judge(
	    "a mode that means nothing", syscall(SYS_openat, AT_FDCWD, "plain",
					     O_RDONLY | O_CLOEXEC, 04755) >= 0);
	holes += judge("other modes", chmod("plain", 01777) == 0);
	return holes;
}

/* Standard descriptors, the directory we list, and nothing else. */
static int
try_descriptors(void)
{
	int holes = 0;

	for (int fd = 3; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			holes += judge("an inherited descriptor", false);
	return holes + judge("no inherited descriptor", holes == 0);
}

static int
try_limits(void)
{
	struct rlimit limit = { 0, 0 };
	bool core = getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max <= 1;
	bool processes =
	    getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_max <= 512;

	return judge("no core", core) + judge("few processes", processes);
}

static int
count_processes(void)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int count = 0;

	if (proc == NULL)
		return 0;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	while ((entry = readdir(proc)) != NULL)
		count += entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
	(void)closedir(proc);
	return count;
}

int
main(void)
{
	int holes = try_descriptors();

	holes +=
	    judge("only our own processes are seen", count_processes() == 2);
	holes += try_namespaces();
	holes += try_mounts();
	holes += try_processes();
	holes += try_kernel();
	holes += try_sockets();
	holes += try_terminal();
	holes += try_files();
	holes += try_lending_rights();
	holes += try_limits();
	(void)printf("%d holes\n", holes);
	return holes > 100 ? 100 : holes;
}
