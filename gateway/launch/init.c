#include "gateway/launch/init.h"

#include "gateway/launch/report.h"
#include "gateway/proc/fdpass.h"
#include "schema/cursor.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define INIT_WORD "--init"
#define INIT_ARGUMENTS 5 /* name, word, control, gate, command */

struct init {
	int control, children;
	pid_t command;
	bool ended;
};

bool
init_is_wanted(int argc, char **argv)
{
	return argc == INIT_ARGUMENTS && strcmp(argv[1], INIT_WORD) == 0 &&
	       getpid() == 1;
}

int
init_follow(int control)
{
	struct pollfd other = { .fd = control };
	int ready;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		return STATUS_SYSTEM;
	ready = poll(&other, 1, 0);
	/* Who cannot wait could not be init either. */
	if (ready < 0)
		return STATUS_SYSTEM;
	return (other.revents & (POLLHUP | POLLERR)) != 0 ? STATUS_CLOSED
							  : STATUS_OK;
}

int
init_become(
    int program, int control, int gate, pid_t command, struct problem *reterr)
{
	char name[] = "exeat-init", word[] = INIT_WORD;
	char numbers[3][16];
	char *argv[] = { name, word, numbers[0], numbers[1], numbers[2], NULL };
	char *envp[] = { NULL };
	const int values[] = { control, gate, command };

	for (size_t i = 0; i < 3; i++)
		if (snprintf(numbers[i], sizeof(numbers[i]), "%d", values[i]) <
		    0)
			return STATUS_TOO_LONG;
	if (fcntl(control, F_SETFD, 0) == 0 && fcntl(gate, F_SETFD, 0) == 0)
		(void)syscall(
		    SYS_execveat, program, "", argv, envp, AT_EMPTY_PATH);
	return problem_errno(reterr, "cannot execute the sandbox's init");
}

static bool
number_of(const char *text, int *ret)
{
	struct cursor in = cursor_of_text(text);
	uint64_t value;

	if (!cursor_decimal(&in, INT32_MAX, &value) || !cursor_is_empty(&in))
		return false;
	*ret = (int)value;
	return true;
}

static bool
tell(const struct init *init, enum report_kind kind, int value)
{
	struct report report = {
		.kind = kind, .stage = STAGE_COMMAND, .value = value
	};

	return report_send(init->control, &report, NULL) == STATUS_OK;
}

/* Everybody who ended is reaped; of the command it is told. */
static bool
reap(struct init *init)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	(void)!read(init->children, &info, sizeof(info));
	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != init->command)
			continue;
		if (WIFSTOPPED(status)) {
			if (!tell(init, REPORT_STOPPED, WSTOPSIG(status)))
				return false;
			continue;
		}
		init->ended = true;
		return tell(init, REPORT_ENDED, status);
	}
	return true;
}

static void
forward(const struct init *init, const struct report *report)
{
	pid_t group = getpgid(init->command);

	/* A group outside the sandbox has no number here. */
	if (report->kind == REPORT_SIGNAL_GROUP && group > 1)
		(void)kill(-group, report->value);
	else
		(void)kill(init->command, report->value);
}

static bool
obey(struct init *init)
{
	struct report report;
	struct fdpass fds;

	if (report_receive(init->control, &report, &fds) != STATUS_OK)
		return false;
	fdpass_done(&fds);
	if (report.kind == REPORT_PAUSE) {
		/* Everybody but ourselves, whoever has been born by now. */
		(void)kill(-1, report.value != 0 ? SIGSTOP : SIGCONT);
		return true;
	}
	if (report.kind != REPORT_SIGNAL && report.kind != REPORT_SIGNAL_GROUP)
		return false;
	if (report.value > 0 && report.value < NSIG)
		forward(init, &report);
	return true;
}

static void
serve(struct init *init)
{
	struct pollfd wait[2] = { { .fd = init->control, .events = POLLIN },
		{ .fd = init->children, .events = POLLIN } };

	while (!init->ended) {
		if (poll(wait, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		if (wait[1].revents != 0 && !reap(init))
			return;
		if (wait[0].revents != 0 && !obey(init))
			return;
	}
}

/* Nothing of the user's stays open in here: who reads the other end of our
 * standard output must see its end when the command closes it. */
static bool
let_go(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	bool done = null >= 0 && dup2(null, 0) == 0 && dup2(null, 1) == 1 &&
		    dup2(null, 2) == 2;

	if (null > 2)
		(void)close(null);
	return done;
}

/* Everything is there: the command runs when the launcher says so. */
static bool
wait_for_word(const struct init *init)
{
	struct report report;
	struct fdpass fds;

	if (!tell(init, REPORT_READY, 0) ||
	    report_receive(init->control, &report, &fds) != STATUS_OK)
		return false;
	fdpass_done(&fds);
	return report.kind == REPORT_RUN && tell(init, REPORT_STARTED, 0);
}

int
init_run(char **argv)
{
	struct init init = { .children = -1 };
	int gate;
	sigset_t all;

	if (!number_of(argv[2], &init.control) || !number_of(argv[3], &gate) ||
	    !number_of(argv[4], &init.command))
		return 125;
	(void)sigfillset(&all);
	if (prctl(PR_SET_DUMPABLE, 0) != 0 ||
	    init_follow(init.control) != STATUS_OK ||
	    sigprocmask(SIG_SETMASK, &all, NULL) != 0 || !let_go())
		return 125;
	(void)sigemptyset(&all);
	(void)sigaddset(&all, SIGCHLD);
	init.children = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (init.children < 0 || !wait_for_word(&init))
		return 125;
	/* Only now may the command run: we cannot be looked into any more. */
	if (write(gate, "", 1) != 1)
		return 125;
	(void)close(gate);
	serve(&init);
	return 0;
}
