/*
 * captive - a gateway that is taken over: on SIGUSR1 it tries what an intruder
 * would, from within, and says on stderr how each attempt ended.
 *
 * Linked with the gateway's own main; the product has no such thing.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static void
say(const char *what, long result)
{
	char line[80];
	int length = snprintf(line, sizeof(line), "captive: %s %s\n", what,
	    result >= 0 ? "went through" : strerrorname_np(errno));

	if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0)
		_exit(1);
}

static long
run_memory(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
		   ? -1
		   : 0;
}

/*
 * A socket of each family but the internet's, and of one past the last that
 * is known.  Only a refusal by us is silent: a kernel without the family has
 * another error for it.
 */
static void
try_families(void)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW,
		SOCK_SEQPACKET };
	long refused = 0;

	for (int family = 0; family <= AF_MAX; family++) {
		if (family == AF_INET || family == AF_INET6)
			continue;
		for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
			long made = socket(family, types[i] | SOCK_CLOEXEC, 0);

			if (made < 0 && errno == EPERM)
				refused++;
			else
				say("a socket of another family", made);
		}
	}
	say(refused > 0 ? "families" : "no family", -1);
}

/* The last attempt ends the process, if it is what it should be. */
static void
on_signal(int number)
{
	static char *const words[] = { NULL };

	(void)number;
	say("open", open("/etc/passwd", O_RDONLY | O_CLOEXEC));
	say("create",
	    open("/tmp/exeat-captive", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	say("proc", open("/proc/self/mem", O_RDWR | O_CLOEXEC));
	try_families();
	say("fork", syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	say("code", run_memory());
	say("inet", socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	say("exec", execve("/bin/true", words, words));
}

__attribute__((constructor)) static void
listen_for_it(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	if (sigaction(SIGUSR1, &action, NULL) != 0)
		_exit(1);
}
