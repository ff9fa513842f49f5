#include "gateway/launch/execlog.h"

#include "gateway/audit/sink.h"
#include "gateway/launch/claim.h"
#include "gateway/launch/kinship.h"
#include "gateway/launch/remote.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/fd.h"
#include "gateway/proc/loop.h"
#include "gateway/proc/procfs.h"
#include "schema/argv.h"
#include "schema/json.h"
#include "schema/status.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXECLOG_CONFIRM_US 20000 /* by then most are the new program */
#define EXECLOG_FOLD_US 5000 /* one search along a PATH */
#define EXECLOG_TICK_US 10000
#define EXECLOG_PATIENCE \
	20 /* ticks for a parent's number, or an exec to be done */
#define EXECLOG_LEVELS 8 /* shells between a program and who started it */
#define EXECLOG_SENT 16 /* rows that a socket takes at once, 5 KiB each */
#define EXECLOG_ARGV 1024 /* of a command line, in a row */

/* Younger than the headers we build with (Linux 6.6). */
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1UL
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

/* The last program of one process. */
struct program {
	TAILQ_ENTRY(program) entry; /* among those that wait */
	pid_t pid, parent;
	int64_t at_us, wall_us, boot_us; /* one moment by three clocks */
	int64_t seq; /* of its row; 0: not numbered yet */
	int patience;
	bool used, waits;
	struct claim claim;
	struct sink_wait wait;
};

struct listener {
	struct execlog *log;
	int fd;
	struct event *event;
};

struct execlog {
	struct loop *loop;
	struct sink *sink;
	struct event *tick;
	int proc;
	struct kinship kinship;
	uint64_t count;
	struct listener listeners[LIMIT_GUESTS + 1];
	TAILQ_HEAD(, program) waiting;
	struct program programs[LIMIT_EXEC_PROGRAMS];
	/* Of the notice that is answered now. */
	struct remote remote;
	struct claim claim;
};

/* ---- processes ---- */

static struct program *
find(struct execlog *log, pid_t pid)
{
	for (size_t i = 0; i < LIMIT_EXEC_PROBES; i++) {
		struct program *program =
		    &log->programs[((size_t)pid + i) % LIMIT_EXEC_PROGRAMS];

		if (program->used && program->pid == pid)
			return program;
	}
	return NULL;
}

/* A place for it: an empty one, or that of one that waits for nothing. */
static struct program *
place_for(struct execlog *log, pid_t pid)
{
	struct program *oldest = NULL;

	for (size_t i = 0; i < LIMIT_EXEC_PROBES; i++) {
		struct program *program =
		    &log->programs[((size_t)pid + i) % LIMIT_EXEC_PROGRAMS];

		if (!program->used)
			return program;
		if (!program->waits &&
		    (oldest == NULL || program->at_us < oldest->at_us))
			oldest = program;
	}
	if (oldest != NULL) {
		sink_forget(log->sink, &oldest->wait);
		oldest->used = false;
	}
	return oldest;
}

/* The nearest above it that executed something; shells fork, too. */
static struct program *
parent_of(struct execlog *log, pid_t pid)
{
	for (int i = 0; i < EXECLOG_LEVELS && pid > 1; i++) {
		struct program *program = find(log, pid);
		struct kin kin;

		if (program != NULL)
			return program;
		if (!kinship_find(&log->kinship, pid, &kin))
			return NULL;
		pid = kin.parent;
	}
	return NULL;
}

/* ---- rows ---- */

static void
on_accepted(struct sink_wait *wait, int64_t seq)
{
	struct program *program =
	    (struct program *)(void *)((char *)wait -
				       offsetof(struct program, wait));

	program->seq = seq > 0 ? seq : -1;
}

enum execlog_state {
	EXECLOG_CONFIRMED,
	EXECLOG_DIFFERS, /* or not yet */
	EXECLOG_GONE,
	EXECLOG_STATE_COUNT
};

static const char *const state_names[] = {
	[EXECLOG_CONFIRMED] = "confirmed",
	[EXECLOG_DIFFERS] = "differs",
	[EXECLOG_GONE] = "gone",
};
static_assert(
    sizeof(state_names) / sizeof(state_names[0]) == EXECLOG_STATE_COUNT,
    "each state has a name");

static enum execlog_state
confirm(const struct execlog *log, const struct program *program)
{
	char cmdline[LIMIT_CLAIM_BYTES];
	struct life life;
	size_t length;

	/* A younger one only has its number. */
	if (!kinship_life(&log->kinship, program->pid, &life) ||
	    life.since_us > program->boot_us)
		return EXECLOG_GONE;
	length =
	    procfs_cmdline(log->proc, program->pid, cmdline, sizeof(cmdline));
	return claim_matches(&program->claim, life.name, cmdline, length)
		   ? EXECLOG_CONFIRMED
		   : EXECLOG_DIFFERS;
}

static bool
write_detail(const struct program *program, enum execlog_state state,
    bool with_argv, struct cursor_writer *out)
{
	char argv[EXECLOG_ARGV];
	struct cursor_writer text = cursor_writer_of(argv, sizeof(argv) - 1);
	struct json j = json_to(out);

	argv_redact(
	    cursor_of(program->claim.argv, program->claim.length), &text);
	argv[text.used] = '\0';
	json_open(&j, NULL, '{');
	json_number(&j, "pid", program->pid);
	json_number(&j, "ppid", program->parent);
	json_text(&j, "state", state_names[state]);
	json_text(&j, "claimed", program->claim.path);
	if (with_argv)
		json_text(&j, "argv", argv);
	if (program->claim.cut)
		json_bool(&j, "cut", true);
	json_close(&j, '}');
	return cursor_written(out);
}

static void
put(struct execlog *log, struct program *program, enum execlog_state state,
    int64_t parent_seq)
{
	unsigned char detail[LIMIT_EVENT_DETAIL];
	struct cursor_writer out = cursor_writer_of(detail, sizeof(detail));
	char exe[LIMIT_CLAIM_PATH];
	bool there = state != EXECLOG_GONE &&
		     procfs_exe(log->proc, program->pid, exe, sizeof(exe));
	struct event event = event_empty();

	event.kind = EVENT_EXEC;
	event.verdict = EVENT_INFO;
	event.l7 = EVENT_L7_EXEC;
	event.wait = EVENT_WAIT_COMMIT;
	event.ts_us = program->wall_us;
	event.parent_seq = parent_seq > 0 ? parent_seq : -1;
	event.object = cursor_of_text(there ? exe : program->claim.path);
	if (!write_detail(program, state, true, &out)) {
		out = cursor_writer_of(detail, sizeof(detail));
		(void)!write_detail(program, state, false, &out);
	}
	if (cursor_written(&out))
		event.detail = cursor_of(out.bytes, out.used);
	program->wait = (struct sink_wait){ .on_accepted = on_accepted };
	program->seq = 0;
	log->count++;
	/* Evidence and no gate: what the writer does not take is not kept
	 * back, and the program's children are nobody's. */
	if (sink_put(log->sink, &event, &program->wait) != STATUS_OK)
		program->seq = -1;
}

/* Its row, if it became what it claimed or is not to, and its parent's has a
 * number by now or is not to get one. */
static bool
settle(struct execlog *log, struct program *program, bool at_once)
{
	const struct program *parent = parent_of(log, program->parent);
	enum execlog_state state = confirm(log, program);
	bool waits = state == EXECLOG_DIFFERS ||
		     (parent != NULL && (parent->waits || parent->seq == 0));

	if (!at_once && waits && ++program->patience < EXECLOG_PATIENCE)
		return false;
	TAILQ_REMOVE(&log->waiting, program, entry);
	program->waits = false;
	put(log, program, state, parent == NULL ? -1 : parent->seq);
	return true;
}

/* Those that waited since before_us, the parents first. */
static void
settle_since(struct execlog *log, int64_t before_us)
{
	struct program *program = TAILQ_FIRST(&log->waiting);

	while (program != NULL) {
		struct program *next = TAILQ_NEXT(program, entry);

		if (program->at_us <= before_us)
			(void)settle(log, program, false);
		program = next;
	}
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct execlog *log = arg;

	(void)fd;
	(void)what;
	settle_since(log, clock_monotonic_us() - EXECLOG_CONFIRM_US);
	if (TAILQ_EMPTY(&log->waiting))
		(void)event_del(log->tick);
}

/* ---- notifications ---- */

/*
 * One that searches a PATH claims the same words again and again, and is
 * still what it was.
 */
static bool
is_search(const struct execlog *log, const struct program *program,
    const struct claim *claim, int64_t now_us)
{
	const struct claim *before = &program->claim;
	bool same = before->length == claim->length &&
		    memcmp(before->argv, claim->argv, claim->length) == 0;

	if (now_us - program->at_us < EXECLOG_FOLD_US) {
		/* Not worth a look: the caller is held all the while. */
		if (same)
			return true;
	} else if (!same)
		return false;
	return confirm(log, program) != EXECLOG_CONFIRMED;
}

static void
keep(struct execlog *log, const struct kin *kin, const struct claim *claim)
{
	static const struct timeval tick = { .tv_usec = EXECLOG_TICK_US };
	int64_t now = clock_monotonic_us();
	struct program *program = find(log, kin->pid);

	if (program != NULL && program->waits &&
	    !is_search(log, program, claim, now))
		(void)settle(log, program, true);
	if (program == NULL)
		program = place_for(log, kin->pid);
	/* More are on their way than anybody could read. */
	if (program == NULL)
		return;
	if (program->waits)
		TAILQ_REMOVE(&log->waiting, program, entry);
	sink_forget(log->sink, &program->wait);
	program->used = program->waits = true;
	program->pid = kin->pid;
	program->parent = kin->parent;
	program->at_us = now;
	program->wall_us = clock_wall_us();
	program->boot_us = clock_boottime_us();
	program->seq = 0;
	program->patience = 0;
	program->claim = *claim;
	TAILQ_INSERT_TAIL(&log->waiting, program, entry);
	/* One that is begun anew by each would never come to its end. */
	if (event_pending(log->tick, EV_TIMEOUT, NULL) == 0)
		(void)event_add(log->tick, &tick);
}

static void
drop_listener(struct listener *listener)
{
	if (listener->event != NULL)
		event_free(listener->event);
	listener->event = NULL;
	fd_done(&listener->fd);
}

/*
 * Nobody is left who could be told of.  Such a descriptor is readable for
 * ever, and the error is the same as for one who died before we read.
 */
static bool
is_deserted(int fd)
{
	struct pollfd now = { .fd = fd };

	return poll(&now, 1, 0) == 1 && (now.revents & POLLHUP) != 0;
}

/* One that tries along a PATH is who it was a moment ago. */
static bool
find_caller(struct execlog *log, pid_t tid, struct kin *ret)
{
	const struct program *program = find(log, tid);

	if (program == NULL || !program->waits ||
	    clock_monotonic_us() - program->at_us >= EXECLOG_FOLD_US)
		return kinship_find(&log->kinship, tid, ret);
	*ret = (struct kin){ .pid = program->pid, .parent = program->parent };
	return true;
}

/* What an empty path means: the file behind a descriptor. */
static void
name_descriptor(struct execlog *log, pid_t pid, uint64_t fd)
{
	char *path = log->claim.path;

	if (path[0] == '\0' && fd <= INT32_MAX &&
	    !procfs_descriptor(
		log->proc, pid, (int)fd, path, sizeof(log->claim.path)))
		path[0] = '\0';
}

static void
on_notice(evutil_socket_t fd, short what, void *arg)
{
	struct listener *listener = arg;
	struct execlog *log = listener->log;
	struct seccomp_notif notice = { .id = 0 };
	struct seccomp_notif_resp answer = {
		.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE
	};
	struct kin kin;
	bool at, known;

	(void)what;
	if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &notice) != 0) {
		if ((errno != EINTR && errno != ENOENT && errno != EAGAIN) ||
		    is_deserted(fd))
			drop_listener(listener);
		return;
	}
	at = notice.data.nr == SYS_execveat;
	known = find_caller(log, (pid_t)notice.pid, &kin);
	remote_begin(&log->remote, (pid_t)notice.pid);
	claim_read(&log->remote, notice.data.args[at ? 1 : 0],
	    notice.data.args[at ? 2 : 1], &log->claim);
	if (at && known)
		name_descriptor(log, kin.pid, notice.data.args[0]);
	answer.id = notice.id;
	/* Only of one that still waited was it read, and only such a one can
	 * be let go on. */
	if (ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0 && known)
		keep(log, &kin, &log->claim);
}

int
execlog_listen(struct execlog *log, int fd)
{
	struct listener *listener = NULL;

	for (size_t i = 0; listener == NULL && i <= LIMIT_GUESTS; i++)
		if (log->listeners[i].event == NULL)
			listener = &log->listeners[i];
	if (listener == NULL) {
		(void)close(fd);
		return STATUS_FULL;
	}
	/* Two switches less a call; older kernels do without. */
	(void)ioctl(fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
	    SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	*listener = (struct listener){ .log = log, .fd = fd };
	listener->event = event_new(loop_base(log->loop), fd,
	    EV_READ | EV_PERSIST, on_notice, listener);
	if (listener->event != NULL && event_add(listener->event, NULL) == 0)
		return STATUS_OK;
	drop_listener(listener);
	return STATUS_NO_MEMORY;
}

struct execlog *
execlog_new(struct loop *loop, int producer)
{
	struct execlog *log = calloc(1, sizeof(*log));

	if (log == NULL) {
		(void)close(producer);
		return NULL;
	}
	log->loop = loop;
	TAILQ_INIT(&log->waiting);
	log->sink = sink_new(loop, producer);
	log->proc = procfs_open();
	log->kinship = kinship_of(log->proc);
	log->tick = event_new(loop_base(loop), -1, EV_PERSIST, on_tick, log);
	if (log->sink != NULL && log->proc >= 0 && log->tick != NULL)
		return log;
	(void)execlog_free(log);
	return NULL;
}

/* Nothing runs any more: a row waits only for the number of its parent's. */
static void
settle_all(struct execlog *log)
{
	static const struct timeval tick = { .tv_usec = EXECLOG_TICK_US };

	(void)event_add(log->tick, &tick);
	settle_since(log, INT64_MAX);
	while (!TAILQ_EMPTY(&log->waiting)) {
		sink_flush(log->sink);
		if (event_base_loop(loop_base(log->loop), EVLOOP_ONCE) != 0)
			return;
		settle_since(log, INT64_MAX);
	}
}

/* What the socket has not taken yet; a writer that is stuck is not waited
 * for long. */
static void
drain(struct execlog *log)
{
	int64_t end =
	    clock_monotonic_us() + INT64_C(1000) * LIMIT_AUDIT_WAIT_MS;
	static const struct timeval tick = { .tv_usec = EXECLOG_TICK_US };

	sink_flush(log->sink);
	/* So few are in the socket by now, and outlive us there. */
	if (sink_waiting(log->sink) <= EXECLOG_SENT)
		return;
	(void)event_add(log->tick, &tick);
	while (sink_waiting(log->sink) > 0 && sink_is_open(log->sink) &&
	       clock_monotonic_us() < end)
		if (event_base_loop(loop_base(log->loop), EVLOOP_ONCE) != 0)
			return;
}

uint64_t
execlog_free(struct execlog *log)
{
	uint64_t count;

	if (log == NULL)
		return 0;
	for (size_t i = 0; i <= LIMIT_GUESTS; i++)
		if (log->listeners[i].event != NULL)
			drop_listener(&log->listeners[i]);
	if (log->sink != NULL && log->tick != NULL) {
		settle_all(log);
		while (!TAILQ_EMPTY(&log->waiting))
			(void)settle(log, TAILQ_FIRST(&log->waiting), true);
		drain(log);
	}
	count = log->count;
	sink_free(log->sink);
	if (log->tick != NULL)
		event_free(log->tick);
	fd_done(&log->proc);
	free(log);
	return count;
}
