#include "gateway/audit/keeper.h"

#include "gateway/audit/tend.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/fdpass.h"
#include "gateway/proc/log.h"
#include "gateway/proc/loop.h"
#include "gateway/proc/spawn.h"
#include "schema/cursor.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <event2/event.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	TEXT = PROBLEM_TEXT_MAX + 2,
	LOWEST = 19,
	KEPT_FD = 3 /* the keeper's only one beside the first three */
};

/* Asked, not answered; answers come in order. */
struct asked {
	TAILQ_ENTRY(asked) entry;
	keeper_done *done;
	void *arg;
};

struct keeper {
	struct loop *loop;
	const char *audit;
	struct spawned spawned; /* pidfd is -1 when there is none */
	int fd; /* -1: it has died, and none took its place */
	unsigned deaths; /* since a job was answered */
	struct event *readable;
	TAILQ_HEAD(, asked) queue;
	size_t count;
};

/* ---- in the keeper ---- */

/* The job that a packet asks for, and what became of it. */
static void
answer(const char *audit, struct cursor packet)
{
	char text[TEXT] = ".";
	struct problem problem = { .text = "" };
	uint8_t job;
	uint64_t segment;
	int status = STATUS_MALFORMED, used = 1;

	if (cursor_u8(&packet, &job) && cursor_u64(&packet, &segment) &&
	    cursor_is_empty(&packet))
		status = job == KEEPER_TEND
			     ? tend(audit, &problem)
			     : tend_remove(audit, (int64_t)segment, &problem);
	if (status != STATUS_OK)
		used = snprintf(text, sizeof(text), "!%s",
		    problem.text[0] == '\0' ? status_name(status)
					    : problem.text);
	/* Its parent may be gone; then there is nobody to tell. */
	if (used > 0 && (size_t)used < sizeof(text))
		(void)!fdpass_send(KEPT_FD, text, (size_t)used, NULL, 0);
}

void
keeper_serve(const char *audit)
{
	unsigned char bytes[64];
	struct fdpass fds = { .count = 0 };
	int status = STATUS_AGAIN;
	size_t length;

	(void)setpriority(PRIO_PROCESS, 0, LOWEST);
	while (status == STATUS_OK || status == STATUS_AGAIN) {
		struct pollfd wait = { .fd = KEPT_FD, .events = POLLIN };

		if (poll(&wait, 1, -1) < 0)
			continue;
		status = fdpass_receive(
		    KEPT_FD, bytes, sizeof(bytes), &length, &fds);
		fdpass_done(&fds);
		if (status == STATUS_OK)
			answer(audit, cursor_of(bytes, length));
	}
}

/* ---- in the writer ---- */

static void
tell_first(struct keeper *keeper, const char *problem)
{
	struct asked *asked = TAILQ_FIRST(&keeper->queue);

	if (asked == NULL)
		return;
	TAILQ_REMOVE(&keeper->queue, asked, entry);
	keeper->count--;
	if (problem != NULL)
		log_warning("the keeper could not finish: %s", problem);
	if (asked->done != NULL)
		asked->done(asked->arg, problem);
	free(asked);
}

/* One answer, if there is one; STATUS_CLOSED when it is dead. */
static int
hear(struct keeper *keeper)
{
	char text[TEXT];
	struct fdpass fds = { .count = 0 };
	size_t length;
	int status =
	    fdpass_receive(keeper->fd, text, sizeof(text) - 1, &length, &fds);

	fdpass_done(&fds);
	if (status != STATUS_OK)
		return status;
	text[length] = '\0';
	keeper->deaths = 0;
	tell_first(keeper, text[0] == '!' ? text + 1 : NULL);
	return STATUS_OK;
}

static void on_readable(evutil_socket_t fd, short what, void *arg);

/*
 * Another run of our own program: a fork of a process that has a database open
 * may not open one.  It needs no environment.
 */
static int
begin(struct keeper *keeper, struct problem *reterr)
{
	const char *const argv[] = { "exeat-audit", KEEPER_OPTION,
		keeper->audit, NULL };
	const char *const envp[] = { NULL };
	struct spawn spawn = { .path = "/proc/self/exe",
		.argv = argv,
		.envp = envp,
		.fds = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO },
		.count = KEPT_FD + 1,
		.dies_with_parent = true };
	int pair[2], status;

	if (fdpass_pair(pair) != STATUS_OK)
		return problem_errno(reterr, "cannot start the keeper");
	keeper->fd = pair[0];
	spawn.fds[KEPT_FD] = pair[1];
	status = spawn_start(&spawn, &keeper->spawned, reterr);
	(void)close(pair[1]);
	if (status != STATUS_OK)
		return status;
	keeper->readable = event_new(loop_base(keeper->loop), keeper->fd,
	    EV_READ | EV_PERSIST, on_readable, keeper);
	if (keeper->readable == NULL || event_add(keeper->readable, NULL) != 0)
		return problem_set(reterr, "no memory for the keeper");
	return STATUS_OK;
}

/* Nothing is left of the process, nor of our end of the channel. */
static void
end(struct keeper *keeper)
{
	int ended;

	if (keeper->readable != NULL)
		event_free(keeper->readable);
	keeper->readable = NULL;
	if (keeper->fd >= 0)
		(void)close(steal_fd(&keeper->fd));
	if (keeper->spawned.pidfd < 0)
		return;
	(void)spawn_kill(&keeper->spawned, SIGKILL);
	(void)spawn_wait(&keeper->spawned, LIMIT_KEEPER_MS, &ended);
	spawned_done(&keeper->spawned);
}

/* Whoever waits for it is told; what was asked is asked again by them. */
static void
on_dead(struct keeper *keeper)
{
	struct problem problem = { .text = "it died too often" };

	end(keeper);
	if (++keeper->deaths < LIMIT_KEEPER_DEATHS &&
	    begin(keeper, &problem) == STATUS_OK)
		log_error("the keeper has died, and another one begins");
	else {
		end(keeper);
		log_error("the keeper has died, and segments stay unsealed "
			  "until the next writer: %s",
		    problem.text);
	}
	while (!TAILQ_EMPTY(&keeper->queue))
		tell_first(keeper, "the keeper has died");
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct keeper *keeper = arg;
	int status = hear(keeper);

	(void)fd;
	(void)what;
	if (status != STATUS_OK && status != STATUS_AGAIN)
		on_dead(keeper);
}

int
keeper_new(struct loop *loop, const char *audit, struct keeper **ret,
    struct problem *reterr)
{
	struct keeper *keeper = calloc(1, sizeof(*keeper));

	if (keeper == NULL)
		return problem_set(reterr, "no memory for the keeper");
	keeper->fd = -1;
	keeper->spawned.pidfd = -1;
	keeper->loop = loop;
	keeper->audit = audit;
	TAILQ_INIT(&keeper->queue);
	if (begin(keeper, reterr) != STATUS_OK) {
		keeper_free(keeper);
		return STATUS_PROBLEM;
	}
	*ret = keeper;
	return STATUS_OK;
}

/* What was asked before the end is mostly done in a moment. */
static void
settle(struct keeper *keeper)
{
	int64_t deadline =
	    clock_monotonic_us() + (int64_t)LIMIT_KEEPER_MS * 1000;

	while (keeper->count > 0) {
		struct pollfd wait = { .fd = keeper->fd, .events = POLLIN };
		int64_t left = (deadline - clock_monotonic_us()) / 1000;
		int status;

		if (left <= 0 || poll(&wait, 1, (int)left) < 0)
			return;
		status = hear(keeper);
		if (status != STATUS_OK && status != STATUS_AGAIN)
			return;
	}
}

void
keeper_free(struct keeper *keeper)
{
	struct asked *asked;
	struct asked *next;

	if (keeper == NULL)
		return;
	if (keeper->fd >= 0)
		settle(keeper);
	end(keeper);
	/* Whatever was not done is done by the next writer's. */
	for (asked = TAILQ_FIRST(&keeper->queue); asked != NULL; asked = next) {
		next = TAILQ_NEXT(asked, entry);
		free(asked);
	}
	free(keeper);
}

int
keeper_ask(struct keeper *keeper, enum keeper_job job, int64_t segment,
    keeper_done *done, void *arg)
{
	unsigned char bytes[16];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	struct asked *asked;
	int status;

	if (keeper->fd < 0)
		return STATUS_CLOSED;
	if (keeper->count == LIMIT_KEEPER_JOBS)
		return STATUS_FULL;
	asked = calloc(1, sizeof(*asked));
	if (asked == NULL)
		return STATUS_NO_MEMORY;
	cursor_put_u8(&out, (uint8_t)job);
	cursor_put_u64(&out, (uint64_t)segment);
	status = fdpass_send(keeper->fd, bytes, out.used, NULL, 0);
	if (status != STATUS_OK) {
		free(asked);
		return status == STATUS_AGAIN ? STATUS_FULL : status;
	}
	asked->done = done;
	asked->arg = arg;
	TAILQ_INSERT_TAIL(&keeper->queue, asked, entry);
	keeper->count++;
	return STATUS_OK;
}

void
keeper_forget(struct keeper *keeper, const void *arg)
{
	struct asked *asked;

	for (asked = TAILQ_FIRST(&keeper->queue); asked != NULL;
	     asked = TAILQ_NEXT(asked, entry))
		if (asked->arg == arg)
			asked->done = NULL;
}
