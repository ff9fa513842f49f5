#include "gateway/proc/pipes.h"

#include "gateway/proc/fd.h"
#include "gateway/proc/loop.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DESCRIPTORS 3

/* The devices of memory: null, zero, random; there is nothing in them. */
#define MEMORY_MAJOR 1

struct lane {
	int inside; /* the sandbox's end; -1: it has the file's own */
	int ours; /* our end of the same pipe */
	struct event *event;
	size_t at, used; /* what was read of a file and waits */
};

struct pipes {
	struct lane lanes[DESCRIPTORS];
	bool same; /* standard error goes where standard output goes */
	unsigned char keys[PIPE_BUF]; /* of standard input */
	unsigned char bytes[LIMIT_RELAY_BYTES];
};

static bool
is_file(int fd, struct stat *ret)
{
	if (fstat(fd, ret) != 0)
		return false;
	if (S_ISFIFO(ret->st_mode) || S_ISSOCK(ret->st_mode))
		return false;
	return !S_ISCHR(ret->st_mode) ||
	       (major(ret->st_rdev) != MEMORY_MAJOR && isatty(fd) != 1);
}

static int
make_pipe(struct lane *lane, bool inward)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return STATUS_SYSTEM;
	lane->inside = ends[inward ? 0 : 1];
	lane->ours = ends[inward ? 1 : 0];
	return fcntl(lane->ours, F_SETFL, O_NONBLOCK) == 0 ? STATUS_OK
							   : STATUS_SYSTEM;
}

static bool
is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int
make_all(struct pipes *pipes)
{
	struct stat st[DESCRIPTORS] = { { 0 } };
	bool files[DESCRIPTORS];
	int status = STATUS_OK;

	for (int fd = 0; fd < DESCRIPTORS; fd++)
		files[fd] = is_file(fd, &st[fd]);
	/* Two pipes would change the order of what is said by both. */
	pipes->same = files[STDOUT_FILENO] && files[STDERR_FILENO] &&
		      is_same(&st[STDOUT_FILENO], &st[STDERR_FILENO]);
	for (int fd = 0; status == STATUS_OK && fd < DESCRIPTORS; fd++)
		if (files[fd] && !(fd == STDERR_FILENO && pipes->same))
			status =
			    make_pipe(&pipes->lanes[fd], fd == STDIN_FILENO);
	return status;
}

int
pipes_new(struct pipes **ret, struct problem *reterr)
{
	struct pipes *pipes = calloc(1, sizeof(*pipes));

	if (pipes == NULL)
		return problem_set(reterr, "there is no memory for pipes");
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		pipes->lanes[fd] = (struct lane){ .inside = -1, .ours = -1 };
	if (make_all(pipes) != STATUS_OK) {
		(void)problem_errno(reterr, "cannot make a pipe");
		pipes_free(pipes);
		return STATUS_PROBLEM;
	}
	*ret = pipes;
	return STATUS_OK;
}

static void
finish(struct lane *lane)
{
	if (lane->event != NULL)
		event_free(lane->event);
	lane->event = NULL;
	fd_done(&lane->ours);
}

/* False when there is nothing now, or nothing any more. */
static bool
copy_out(struct pipes *pipes, int fd)
{
	struct lane *lane = &pipes->lanes[fd];
	ssize_t got = read(lane->ours, pipes->bytes, sizeof(pipes->bytes));

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got <= 0) {
		finish(lane);
		return false;
	}
	for (ssize_t done = 0; done < got;) {
		ssize_t wrote =
		    write(fd, pipes->bytes + done, (size_t)(got - done));

		if (wrote < 0 && errno == EINTR)
			continue;
		/* Who writes in there learns it as from the file itself. */
		if (wrote <= 0) {
			finish(lane);
			return false;
		}
		done += wrote;
	}
	return true;
}

static void
on_text(evutil_socket_t ours, short what, void *arg)
{
	struct pipes *pipes = arg;

	(void)what;
	(void)copy_out(pipes, ours == pipes->lanes[STDOUT_FILENO].ours
				  ? STDOUT_FILENO
				  : STDERR_FILENO);
}

/* A file is always there to be read; it is the pipe that is waited for. */
static void
on_room(evutil_socket_t ours, short what, void *arg)
{
	struct pipes *pipes = arg;
	struct lane *lane = &pipes->lanes[STDIN_FILENO];
	ssize_t moved;

	(void)what;
	if (lane->used == 0) {
		/* No more than a pipe holds: the rest is the next reader's. */
		moved = read(STDIN_FILENO, pipes->keys, PIPE_BUF);
		if (moved < 0 && errno == EINTR)
			return;
		if (moved <= 0) {
			finish(lane);
			return;
		}
		lane->at = 0;
		lane->used = (size_t)moved;
	}
	moved = write(ours, pipes->keys + lane->at, lane->used);
	if (moved < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (moved < 0) {
		finish(lane);
		return;
	}
	lane->at += (size_t)moved;
	lane->used -= (size_t)moved;
}

int
pipes_give(
    const struct pipes *pipes, uid_t uid, gid_t gid, struct problem *reterr)
{
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		if (pipes->lanes[fd].inside >= 0 &&
		    fchown(pipes->lanes[fd].inside, uid, gid) != 0)
			return problem_errno(
			    reterr, "cannot give a pipe to the sandbox");
	return STATUS_OK;
}

void
pipes_ends(const struct pipes *pipes, int ret[DESCRIPTORS])
{
	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		int from = fd == STDERR_FILENO && pipes->same
			       ? pipes->lanes[STDOUT_FILENO].inside
			       : pipes->lanes[fd].inside;

		ret[fd] = from >= 0 ? from : fd;
	}
}

int
pipes_enter(const struct pipes *pipes, struct problem *reterr)
{
	int ends[DESCRIPTORS];

	pipes_ends(pipes, ends);
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		if (ends[fd] != fd && dup2(ends[fd], fd) != fd)
			return problem_errno(reterr, "cannot use a pipe");
	return STATUS_OK;
}

int
pipes_begin(struct pipes *pipes, struct loop *loop, struct problem *reterr)
{
	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		struct lane *lane = &pipes->lanes[fd];
		bool inward = fd == STDIN_FILENO;

		fd_done(&lane->inside);
		if (lane->ours < 0)
			continue;
		lane->event = event_new(loop_base(loop), lane->ours,
		    (short)((inward ? EV_WRITE : EV_READ) | EV_PERSIST),
		    inward ? on_room : on_text, pipes);
		if (lane->event == NULL || event_add(lane->event, NULL) != 0)
			return problem_set(
			    reterr, "there is no memory for a pipe");
	}
	return STATUS_OK;
}

void
pipes_free(struct pipes *pipes)
{
	if (pipes == NULL)
		return;
	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		struct lane *lane = &pipes->lanes[fd];

		fd_done(&lane->inside);
		while (fd != STDIN_FILENO && lane->event != NULL &&
		       copy_out(pipes, fd))
			;
		finish(lane);
	}
	free(pipes);
}
