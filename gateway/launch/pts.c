#include "gateway/launch/pts.h"

#include "gateway/proc/fd.h"
#include "gateway/proc/terminal.h"
#include "schema/status.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

int
pts_open(const struct terminal_look *look, int *ret_master, int *ret_slave,
    struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done)
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	ON_SCOPE_EXIT(fd_done) int slave = -1;
	int unlock = 0;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) != 0)
		return problem_errno(reterr, "cannot make a terminal");
	/* By the master, so that no path can lead to another one. */
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 ||
	    (look->known && tcsetattr(slave, TCSANOW, &look->settings) != 0) ||
	    ioctl(slave, TIOCSWINSZ, &look->size) != 0)
		return problem_errno(reterr, "cannot set up a terminal");
	if (setsid() < 0 || ioctl(slave, TIOCSCTTY, 0) != 0)
		return problem_errno(reterr, "cannot lead a session");
	*ret_master = steal_fd(&master);
	*ret_slave = steal_fd(&slave);
	return STATUS_OK;
}

int
pts_enter(int slave, const bool replaced[3], struct problem *reterr)
{
	sigset_t background, before;
	int result;

	if (setpgid(0, 0) != 0)
		return problem_errno(reterr, "cannot make a process group");
	/* Who changes the foreground from behind is stopped, unless it does
	 * not hear of it. */
	(void)sigemptyset(&background);
	(void)sigaddset(&background, SIGTTOU);
	if (sigprocmask(SIG_BLOCK, &background, &before) != 0)
		return problem_errno(reterr, "cannot block a signal");
	result = tcsetpgrp(slave, getpid());
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (result != 0)
		return problem_errno(reterr, "cannot take the terminal");
	for (int fd = 0; fd < 3; fd++)
		if (replaced[fd] && dup2(slave, fd) != fd)
			return problem_errno(reterr, "cannot use the terminal");
	return STATUS_OK;
}
