#include "gateway/cli/signals.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int wanted[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1,
	SIGUSR2, SIGWINCH, SIGCONT };

struct signals {
	signals_call *call;
	void *arg;
	struct event *event;
	sigset_t before;
	int fd;
	bool blocked;
};

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct signals *signals = arg;
	struct signalfd_siginfo info;

	(void)what;
	if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	signals->call(
	    (int)info.ssi_signo, info.ssi_code == SI_KERNEL, signals->arg);
}

struct signals *
signals_new(struct loop *loop, signals_call *call, void *arg)
{
	struct signals *signals = calloc(1, sizeof(*signals));
	sigset_t set;

	if (signals == NULL)
		return NULL;
	*signals = (struct signals){ .call = call, .arg = arg };
	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		(void)sigaddset(&set, wanted[i]);
	signals->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd < 0)
		goto fail;
	signals->event = event_new(loop_base(loop), signals->fd,
	    EV_READ | EV_PERSIST, on_readable, signals);
	if (signals->event == NULL || event_add(signals->event, NULL) != 0)
		goto fail;
	signals->blocked = sigprocmask(SIG_BLOCK, &set, &signals->before) == 0;
	return signals;
fail:
	signals_free(signals);
	return NULL;
}

void
signals_free(struct signals *signals)
{
	if (signals == NULL)
		return;
	if (signals->event != NULL)
		event_free(signals->event);
	if (signals->fd >= 0)
		(void)close(signals->fd);
	if (signals->blocked)
		(void)sigprocmask(SIG_SETMASK, &signals->before, NULL);
	free(signals);
}
