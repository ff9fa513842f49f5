#include "gateway/launch/terminal.h"

#include "schema/status.h"

#include <signal.h>
#include <unistd.h>

struct terminal
terminal_look(void)
{
	struct terminal terminal = { .ours = getpgrp(), .theirs = -1 };
	pid_t foreground = tcgetpgrp(STDIN_FILENO);

	terminal.shared = foreground >= 0 &&
			  tcgetsid(STDIN_FILENO) == getsid(0) &&
			  tcgetattr(STDIN_FILENO, &terminal.settings) == 0;
	terminal.lent = terminal.shared && foreground == terminal.ours;
	return terminal;
}

/* Who is not in the foreground is stopped when it changes the foreground,
 * unless it does not hear of it. */
static int
set_foreground(pid_t group)
{
	sigset_t mine, before;
	int result;

	(void)sigemptyset(&mine);
	(void)sigaddset(&mine, SIGTTOU);
	if (sigprocmask(SIG_BLOCK, &mine, &before) != 0)
		return -1;
	result = tcsetpgrp(STDIN_FILENO, group);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return result;
}

int
terminal_enter(const struct terminal *terminal, struct problem *reterr)
{
	if (!terminal->shared)
		return setsid() < 0
			   ? problem_errno(reterr, "cannot make a session")
			   : STATUS_OK;
	if (!terminal->lent)
		return STATUS_OK;
	if (setpgid(0, 0) != 0 || set_foreground(getpid()) != 0)
		return problem_errno(reterr, "cannot take the terminal");
	return STATUS_OK;
}

void
terminal_stop(struct terminal *terminal)
{
	if (!terminal->lent)
		return;
	terminal->theirs = tcgetpgrp(STDIN_FILENO);
	(void)set_foreground(terminal->ours);
	/* The whole group: it is one job of the shell that started it. */
	(void)kill(0, SIGSTOP);
}

void
terminal_resume(struct terminal *terminal)
{
	if (!terminal->lent || terminal->theirs <= 0 ||
	    tcgetpgrp(STDIN_FILENO) != terminal->ours)
		return;
	(void)set_foreground(terminal->theirs);
}

void
terminal_restore(struct terminal *terminal)
{
	if (!terminal->lent)
		return;
	(void)set_foreground(terminal->ours);
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->settings);
}
