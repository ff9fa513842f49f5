#include "gateway/audit/keeper.h"

#include "gateway/audit/enclosure.h"
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
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
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
	struct spawned nurse; /* pidfd is -1 when there is none */
	int nursery; /* where a keeper is asked for */
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
	/* The writer may be gone; then there is nobody to tell. */
	if (used > 0 && (size_t)used < sizeof(text))
		(void)!fdpass_send(KEPT_FD, text, (size_t)used, NULL, 0);
}

/* The next packet of descriptor 3; its descriptors are the caller's. */
static int
await(unsigned char *bytes, size_t size, size_t *ret_length,
    struct fdpass *ret_fds)
{
	struct pollfd wait = { .fd = KEPT_FD, .events = POLLIN };
	int status = STATUS_AGAIN;

	while (status == STATUS_AGAIN) {
		if (poll(&wait, 1, -1) < 0)
			continue;
		status =
		    fdpass_receive(KEPT_FD, bytes, size, ret_length, ret_fds);
	}
	return status;
}

static void
serve(const char *audit)
{
	unsigned char bytes[64];
	struct fdpass fds = { .count = 0 };
	struct problem problem;
	size_t length;

	if (enclosure_enter(CONFINE_KEEPER, audit, &problem) != STATUS_OK) {
		log_error("%s", problem.text);
		return;
	}
	while (await(bytes, sizeof(bytes), &length, &fds) == STATUS_OK) {
		fdpass_done(&fds);
		answer(audit, cursor_of(bytes, length));
	}
}

/* A keeper of its own, which dies with us; fd becomes its descriptor 3. */
static void
bear(const char *audit, int fd)
{
	pid_t self = getpid(), child = fork();

	if (child != 0)
		return;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == self &&
	    dup3(fd, KEPT_FD, O_CLOEXEC) == KEPT_FD &&
	    close_range(KEPT_FD + 1, ~0U, 0) == 0)
		serve(audit);
	_exit(0);
}

void
keeper_serve(const char *audit)
{
	struct sigaction forget = { .sa_handler = SIG_IGN };
	unsigned char bytes[64];
	struct fdpass fds = { .count = 0 };
	size_t length;

	(void)setpriority(PRIO_PROCESS, 0, LOWEST);
	/* Nobody waits for a child. */
	if (sigaction(SIGCHLD, &forget, NULL) != 0)
		return;
	while (await(bytes, sizeof(bytes), &length, &fds) == STATUS_OK) {
		if (fds.count == 1)
			bear(audit, fds.fds[0]);
		fdpass_done(&fds);
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
 * may not open one, and who is confined starts no program.  It needs no
 * environment.
 */
static int
begin_nurse(struct keeper *keeper, const char *audit, struct problem *reterr)
{
	const char *const argv[] = { "exeat-audit", KEEPER_OPTION, audit,
		NULL };
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
	keeper->nursery = pair[0];
	spawn.fds[KEPT_FD] = pair[1];
	status = spawn_start(&spawn, &keeper->nurse, reterr);
	(void)close(pair[1]);
	return status;
}

static int
begin(struct keeper *keeper, struct problem *reterr)
{
	int pair[2], status;

	if (fdpass_pair(pair) != STATUS_OK)
		return problem_errno(reterr, "cannot start the keeper");
	keeper->fd = pair[0];
	status = fdpass_send(keeper->nursery, "", 1, &pair[1], 1);
	(void)close(pair[1]);
	if (status != STATUS_OK)
		return problem_set(
		    reterr, "cannot start the keeper: %s", status_name(status));
	keeper->readable = event_new(loop_base(keeper->loop), keeper->fd,
	    EV_READ | EV_PERSIST, on_readable, keeper);
	if (keeper->readable == NULL || event_add(keeper->readable, NULL) != 0)
		return problem_set(reterr, "no memory for the keeper");
	return STATUS_OK;
}

/* Nothing is left of our end of the channel. */
static void
end(struct keeper *keeper)
{
	if (keeper->readable != NULL)
		event_free(keeper->readable);
	keeper->readable = NULL;
	if (keeper->fd >= 0)
		(void)close(steal_fd(&keeper->fd));
}

/* The keeper dies with its nurse, and its end of the channel closes. */
static void
end_nurse(struct keeper *keeper)
{
	struct pollfd wait = { .fd = keeper->fd };
	int ended;

	if (keeper->nursery >= 0)
		(void)close(steal_fd(&keeper->nursery));
	if (keeper->nurse.pidfd < 0)
		return;
	(void)spawn_kill(&keeper->nurse, SIGKILL);
	(void)spawn_wait(&keeper->nurse, LIMIT_KEEPER_MS, &ended);
	spawned_done(&keeper->nurse);
	if (keeper->fd >= 0)
		(void)!poll(&wait, 1, LIMIT_KEEPER_MS);
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
	keeper->nursery = -1;
	keeper->nurse.pidfd = -1;
	keeper->loop = loop;
	TAILQ_INIT(&keeper->queue);
	if (begin_nurse(keeper, audit, reterr) != STATUS_OK ||
	    begin(keeper, reterr) != STATUS_OK) {
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
	end_nurse(keeper);
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
