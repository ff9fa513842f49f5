#include "gateway/proc/terminal.h"

#include "gateway/proc/fd.h"
#include "gateway/proc/loop.h"
#include "schema/status.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Keys that wait for the sandbox, and text that waits for the screen. */
#define TERMINAL_KEYS 4096
#define TERMINAL_TEXT 65536

/* How often a background job looks whether it is in the foreground again. */
#define TERMINAL_LOOK_US 250000

/* A screen that takes nothing for so long gets nothing more at the end. */
#define TERMINAL_LAST_MS 2000

/* What is on its way in one direction. */
struct lane {
	int from, to;
	struct event *readable, *writable;
	unsigned char *bytes;
	size_t room, used;
};

struct terminal {
	bool replaced[3]; /* which standard descriptors are a terminal */
	bool keys; /* the first is, so what is typed is ours to read */
	bool raw; /* every key goes through, once we are in the foreground */
	bool is_raw, ended;
	int outer; /* a description of its own, that never blocks */
	int master;
	int keeper; /* who waits for our end; -1: nobody */
	pid_t keeper_pid;
	struct terminal_look look;
	struct termios settings; /* of the outer, as they were before */
	struct event *timer;
	struct lane in, out;
};

/* ---- the outer terminal ---- */

/* Opened anew: a flag that is set on the user's own would outlive us. */
static int
open_outer(const struct terminal *terminal)
{
	for (int i = 0; i < 3; i++) {
		char path[32];
		int fd;

		if (!terminal->replaced[i] ||
		    snprintf(path, sizeof(path), "/proc/self/fd/%d", i) < 0)
			continue;
		fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0)
			return fd;
	}
	return open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

/* One that is not our session's knows no foreground. */
static bool
in_foreground(const struct terminal *terminal)
{
	pid_t group = tcgetpgrp(terminal->outer);

	return group < 0 || group == getpgrp();
}

/* Who is not in the foreground is stopped when it changes settings, unless
 * it does not hear of it. */
static void
set_outer(const struct terminal *terminal, const struct termios *settings)
{
	sigset_t mine, before;

	(void)sigemptyset(&mine);
	(void)sigaddset(&mine, SIGTTOU);
	if (sigprocmask(SIG_BLOCK, &mine, &before) != 0)
		return;
	(void)tcsetattr(terminal->outer, TCSADRAIN, settings);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

static void
go_raw(struct terminal *terminal)
{
	struct termios settings = terminal->settings;

	if (!terminal->raw || terminal->is_raw || !in_foreground(terminal))
		return;
	cfmakeraw(&settings);
	set_outer(terminal, &settings);
	terminal->is_raw = true;
}

static void
put_back(struct terminal *terminal)
{
	if (!terminal->is_raw)
		return;
	set_outer(terminal, &terminal->settings);
	terminal->is_raw = false;
}

/* Waits for a word or for our end; only our end makes it put things back. */
static NORETURN void
keep(const struct terminal *terminal, int life)
{
	sigset_t all;
	char word;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	if (dup2(life, STDIN_FILENO) == STDIN_FILENO &&
	    dup2(terminal->outer, STDOUT_FILENO) == STDOUT_FILENO &&
	    close_range(STDERR_FILENO, ~0U, 0) == 0 &&
	    read(STDIN_FILENO, &word, 1) == 0)
		(void)tcsetattr(STDOUT_FILENO, TCSADRAIN, &terminal->settings);
	_exit(0);
}

static void
start_keeper(struct terminal *terminal)
{
	int life[2];
	pid_t pid;

	if (pipe2(life, O_CLOEXEC) != 0)
		return;
	pid = fork();
	if (pid == 0) {
		(void)close(life[1]);
		keep(terminal, life[0]);
	}
	(void)close(life[0]);
	/* Without it only a kill of ourselves would leave things as they are.
	 */
	if (pid < 0) {
		(void)close(life[1]);
		return;
	}
	terminal->keeper = life[1];
	terminal->keeper_pid = pid;
}

static void
end_keeper(struct terminal *terminal)
{
	if (terminal->keeper < 0)
		return;
	(void)!write(terminal->keeper, "", 1);
	fd_done(&terminal->keeper);
	(void)waitpid(terminal->keeper_pid, NULL, 0);
}

/* ---- looking ---- */

static void
look(struct terminal *terminal)
{
	(void)ioctl(terminal->outer, TIOCGWINSZ, &terminal->look.size);
	terminal->look.settings = terminal->settings;
	terminal->look.known = true;
	if (terminal->raw)
		return;
	/* What the outer one does already this one must not do again. */
	terminal->look.settings.c_lflag &= (tcflag_t)~ECHO;
	terminal->look.settings.c_oflag &= (tcflag_t)~OPOST;
}

int
terminal_new(bool wanted, struct terminal **ret, struct problem *reterr)
{
	struct terminal *terminal = calloc(1, sizeof(*terminal));
	bool any = false;

	if (terminal == NULL)
		return problem_set(reterr, "there is no memory for a terminal");
	terminal->outer = terminal->master = terminal->keeper = -1;
	for (int fd = 0; fd < 3; fd++) {
		terminal->replaced[fd] = isatty(fd) == 1;
		any = any || terminal->replaced[fd];
	}
	terminal->keys = terminal->replaced[STDIN_FILENO];
	terminal->raw =
	    wanted && terminal->keys && terminal->replaced[STDOUT_FILENO];
	if (any) {
		terminal->outer = open_outer(terminal);
		if (terminal->outer < 0 ||
		    tcgetattr(terminal->outer, &terminal->settings) != 0) {
			(void)problem_errno(reterr, "cannot open the terminal");
			terminal_free(terminal);
			return STATUS_PROBLEM;
		}
		look(terminal);
	}
	*ret = terminal;
	return STATUS_OK;
}

bool
terminal_is_there(const struct terminal *terminal)
{
	return terminal->outer >= 0;
}

bool
terminal_waits(const struct terminal *terminal)
{
	return terminal->outer >= 0 && terminal->timer == NULL;
}

const bool *
terminal_replaced(const struct terminal *terminal)
{
	return terminal->replaced;
}

const struct terminal_look *
terminal_look(const struct terminal *terminal)
{
	return &terminal->look;
}

/* ---- copying ---- */

static void
update(struct terminal *terminal)
{
	struct lane *in = &terminal->in, *out = &terminal->out;
	bool reads =
	    terminal->keys && in->used < in->room && in_foreground(terminal);

	(void)(reads ? event_add(in->readable, NULL) : event_del(in->readable));
	(void)(in->used > 0 ? event_add(in->writable, NULL)
			    : event_del(in->writable));
	(void)(out->used < out->room && !terminal->ended
		   ? event_add(out->readable, NULL)
		   : event_del(out->readable));
	(void)(out->used > 0 ? event_add(out->writable, NULL)
			     : event_del(out->writable));
}

/* 1 when something came, 0 when nothing is there now, -1 at the end. */
static int
fill(struct lane *lane)
{
	ssize_t got =
	    read(lane->from, lane->bytes + lane->used, lane->room - lane->used);

	if (got > 0) {
		lane->used += (size_t)got;
		return 1;
	}
	return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static void
empty(struct lane *lane)
{
	ssize_t wrote = write(lane->to, lane->bytes, lane->used);

	if (wrote < 0) {
		/* Nobody is there any more: it is of no use to keep it. */
		if (errno != EAGAIN && errno != EINTR)
			lane->used = 0;
		return;
	}
	lane->used -= (size_t)wrote;
	memmove(lane->bytes, lane->bytes + wrote, lane->used);
}

/* Its window is closed, or whoever was logged in there is gone. */
static bool
is_hung_up(const struct terminal *terminal)
{
	struct termios settings;

	return tcgetattr(terminal->outer, &settings) != 0 && errno == EIO;
}

/*
 * The kernel tells a terminal's session leader alone, which need not be us,
 * so we tell ourselves.  What runs in there has no terminal any more, either.
 */
static void
hang_up(struct terminal *terminal)
{
	struct event *const events[] = { terminal->in.readable,
		terminal->in.writable, terminal->out.readable,
		terminal->out.writable, terminal->timer };

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		(void)event_del(events[i]);
	terminal->is_raw = terminal->raw = false;
	terminal->in.to = terminal->out.from = -1;
	fd_done(&terminal->master);
	(void)raise(SIGHUP);
}

/* The end of what is typed is a key in there, as it was one out here. */
static void
on_keys(evutil_socket_t fd, short what, void *arg)
{
	struct terminal *terminal = arg;

	(void)fd;
	(void)what;
	if (in_foreground(terminal) && fill(&terminal->in) < 0) {
		if (is_hung_up(terminal)) {
			hang_up(terminal);
			return;
		}
		if (terminal->is_raw)
			terminal->keys = false;
		else if (terminal->in.used < terminal->in.room)
			terminal->in.bytes[terminal->in.used++] =
			    terminal->settings.c_cc[VEOF];
	}
	update(terminal);
}

static void
on_text(evutil_socket_t fd, short what, void *arg)
{
	struct terminal *terminal = arg;

	(void)fd;
	(void)what;
	/* The sandbox's last program has closed it; another may open it. */
	if (fill(&terminal->out) < 0)
		terminal->ended = true;
	update(terminal);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct terminal *terminal = arg;

	(void)what;
	empty(fd == terminal->master ? &terminal->in : &terminal->out);
	update(terminal);
}

/* A shell moves jobs to the foreground without a word to them, and who reads
 * no keys is not told of a hang-up. */
static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct terminal *terminal = arg;

	(void)fd;
	(void)what;
	if (is_hung_up(terminal)) {
		hang_up(terminal);
		return;
	}
	/* The command's end of it may have been opened again. */
	terminal->ended = false;
	go_raw(terminal);
	update(terminal);
}

static bool
open_lane(struct lane *lane, struct loop *loop, size_t room,
    event_callback_fn on_readable, struct terminal *terminal)
{
	lane->bytes = calloc(1, room);
	lane->room = room;
	lane->readable = event_new(loop_base(loop), lane->from,
	    EV_READ | EV_PERSIST, on_readable, terminal);
	lane->writable = event_new(loop_base(loop), lane->to,
	    EV_WRITE | EV_PERSIST, on_writable, terminal);
	return lane->bytes != NULL && lane->readable != NULL &&
	       lane->writable != NULL;
}

static void
close_lane(struct lane *lane)
{
	if (lane->readable != NULL)
		event_free(lane->readable);
	if (lane->writable != NULL)
		event_free(lane->writable);
	free(lane->bytes);
}

int
terminal_begin(struct terminal *terminal, struct loop *loop, int master,
    struct problem *reterr)
{
	static const struct timeval look = { .tv_usec = TERMINAL_LOOK_US };

	terminal->master = master;
	terminal->in = (struct lane){ .from = terminal->outer, .to = master };
	terminal->out = (struct lane){ .from = master, .to = terminal->outer };
	terminal->timer =
	    event_new(loop_base(loop), -1, EV_PERSIST, on_timer, terminal);
	if (terminal->timer == NULL || event_add(terminal->timer, &look) != 0 ||
	    fcntl(master, F_SETFL, O_NONBLOCK) != 0 ||
	    !open_lane(&terminal->in, loop, TERMINAL_KEYS, on_keys, terminal) ||
	    !open_lane(&terminal->out, loop, TERMINAL_TEXT, on_text, terminal))
		return problem_set(reterr, "there is no memory for a terminal");
	if (terminal->raw)
		start_keeper(terminal);
	go_raw(terminal);
	update(terminal);
	return STATUS_OK;
}

void
terminal_stop(struct terminal *terminal)
{
	put_back(terminal);
	/* The whole group: it is one job of the shell that started it. */
	(void)kill(0, SIGSTOP);
}

void
terminal_resume(struct terminal *terminal)
{
	if (terminal->master < 0)
		return;
	terminal_resize(terminal);
	go_raw(terminal);
	update(terminal);
}

void
terminal_resize(struct terminal *terminal)
{
	struct winsize size;

	if (terminal->master >= 0 &&
	    ioctl(terminal->outer, TIOCGWINSZ, &size) == 0)
		(void)ioctl(terminal->master, TIOCSWINSZ, &size);
}

bool
terminal_signal(struct terminal *terminal, int number)
{
	return terminal->master >= 0 &&
	       ioctl(terminal->master, TIOCSIG, number) == 0;
}

/* Its last words, when nobody in there can add to them. */
static void
flush(struct terminal *terminal)
{
	struct lane *out = &terminal->out;
	int more = 1;

	while (out->bytes != NULL && (more > 0 || out->used > 0)) {
		struct pollfd wait = { .fd = out->to, .events = POLLOUT };

		if (out->used < out->room)
			more = fill(out);
		if (out->used == 0)
			continue;
		if (poll(&wait, 1, TERMINAL_LAST_MS) != 1 ||
		    (wait.revents & POLLOUT) == 0)
			return;
		empty(out);
	}
}

void
terminal_free(struct terminal *terminal)
{
	if (terminal == NULL)
		return;
	flush(terminal);
	put_back(terminal);
	end_keeper(terminal);
	close_lane(&terminal->in);
	close_lane(&terminal->out);
	if (terminal->timer != NULL)
		event_free(terminal->timer);
	fd_done(&terminal->master);
	fd_done(&terminal->outer);
	free(terminal);
}
