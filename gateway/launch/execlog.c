#include "gateway/launch/execlog.h"

#include "gateway/audit/sink.h"
#include "gateway/launch/claim.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/fd.h"
#include "gateway/proc/loop.h"
#include "gateway/proc/procfs.h"
#include "schema/argv.h"
#include "schema/json.h"
#include "schema/status.h"

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
#define EXECLOG_PATIENCE 20 /* ticks for a parent's row to be numbered */
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
	uint64_t born; /* of the process, in ticks since the start */
	int64_t at_us, wall_us;
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
	uint64_t count;
	struct listener listeners[LIMIT_GUESTS + 1];
	TAILQ_HEAD(, program) waiting;
	struct program programs[LIMIT_EXEC_PROGRAMS];
};

/* ---- processes ---- */

struct person {
	pid_t parent;
	uint64_t born, threads;
};

/* Fields of stat(5) behind the name, the state being the first. */
enum {
	STAT_PARENT = 1,
	STAT_THREADS = 17,
	STAT_BORN = 19
};

static bool
look_at(int proc, pid_t pid, struct person *ret)
{
	char path[32], text[1024];
	ON_SCOPE_EXIT(fd_done) int fd = -1;
	uint64_t fields[STAT_BORN + 1] = { 0 };
	struct cursor in, word;
	const char *behind;
	ssize_t got;

	if (snprintf(path, sizeof(path), "%d/stat", pid) < 0)
		return false;
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (got <= 0)
		return false;
	text[got] = '\0';
	behind = strrchr(text, ')');
	if (behind == NULL || behind[1] != ' ')
		return false;
	in = cursor_of_text(behind + 2);
	for (int i = 0; i <= STAT_BORN; i++) {
		if (!cursor_until(&in, ' ', &word))
			return false;
		if (i > 0 && i != STAT_PARENT && i != STAT_THREADS &&
		    i != STAT_BORN)
			continue;
		if (i > 0 && !cursor_decimal(&word, UINT64_MAX, &fields[i]))
			return false;
	}
	*ret = (struct person){ .parent = (pid_t)fields[STAT_PARENT],
		.born = fields[STAT_BORN],
		.threads = fields[STAT_THREADS] };
	return true;
}

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
		struct person person;

		if (program != NULL)
			return program;
		if (!look_at(log->proc, pid, &person))
			return NULL;
		pid = person.parent;
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

/* "confirmed", "differs" or "gone"; *ret_exe is what it is now, or empty. */
static const char *
confirm(const struct execlog *log, const struct program *program, char *ret_exe,
    size_t size)
{
	char cmdline[LIMIT_CLAIM_BYTES];
	struct person person;
	size_t length;

	ret_exe[0] = '\0';
	if (!procfs_exe(log->proc, program->pid, ret_exe, size) ||
	    !look_at(log->proc, program->pid, &person) ||
	    person.born != program->born) {
		ret_exe[0] = '\0';
		return "gone";
	}
	length =
	    procfs_cmdline(log->proc, program->pid, cmdline, sizeof(cmdline));
	return claim_matches(&program->claim, cmdline, length) ? "confirmed"
							       : "differs";
}

static bool
write_detail(const struct program *program, const char *state, bool with_argv,
    struct cursor_writer *out)
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
	json_text(&j, "state", state);
	json_text(&j, "claimed", program->claim.path);
	if (with_argv)
		json_text(&j, "argv", argv);
	if (program->claim.cut)
		json_bool(&j, "cut", true);
	json_close(&j, '}');
	return cursor_written(out);
}

static void
put(struct execlog *log, struct program *program, int64_t parent_seq)
{
	unsigned char detail[LIMIT_EVENT_DETAIL];
	struct cursor_writer out = cursor_writer_of(detail, sizeof(detail));
	char exe[LIMIT_CLAIM_PATH];
	const char *state = confirm(log, program, exe, sizeof(exe));
	struct event event = event_empty();

	event.kind = EVENT_EXEC;
	event.verdict = EVENT_INFO;
	event.l7 = EVENT_L7_EXEC;
	event.wait = EVENT_WAIT_COMMIT;
	event.ts_us = program->wall_us;
	event.parent_seq = parent_seq > 0 ? parent_seq : -1;
	event.object =
	    cursor_of_text(exe[0] == '\0' ? program->claim.path : exe);
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

/* Its row, if its parent's has a number by now or is not to get one. */
static bool
settle(struct execlog *log, struct program *program, bool at_once)
{
	const struct program *parent = parent_of(log, program->parent);
	bool numbered = parent == NULL || (!parent->waits && parent->seq != 0);

	if (!at_once && !numbered && ++program->patience < EXECLOG_PATIENCE)
		return false;
	TAILQ_REMOVE(&log->waiting, program, entry);
	program->waits = false;
	put(log, program, parent == NULL ? -1 : parent->seq);
	return true;
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct execlog *log = arg;
	int64_t now = clock_monotonic_us();
	struct program *program = TAILQ_FIRST(&log->waiting);

	(void)fd;
	(void)what;
	while (program != NULL) {
		struct program *next = TAILQ_NEXT(program, entry);

		if (now - program->at_us >= EXECLOG_CONFIRM_US)
			(void)settle(log, program, false);
		program = next;
	}
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
	char cmdline[LIMIT_CLAIM_BYTES];
	size_t length;

	if (now_us - program->at_us < EXECLOG_FOLD_US) {
		/* Not worth a look: the caller is held all the while. */
		if (same)
			return true;
	} else if (!same)
		return false;
	length =
	    procfs_cmdline(log->proc, program->pid, cmdline, sizeof(cmdline));
	return !claim_matches(before, cmdline, length);
}

static void
keep(struct execlog *log, pid_t pid, const struct person *person,
    const struct claim *claim)
{
	static const struct timeval tick = { .tv_usec = EXECLOG_TICK_US };
	int64_t now = clock_monotonic_us();
	struct program *program = find(log, pid);

	if (program != NULL && program->waits &&
	    !is_search(log, program, claim, now))
		(void)settle(log, program, true);
	if (program == NULL)
		program = place_for(log, pid);
	/* More are on their way than anybody could read. */
	if (program == NULL)
		return;
	if (program->waits)
		TAILQ_REMOVE(&log->waiting, program, entry);
	sink_forget(log->sink, &program->wait);
	program->used = program->waits = true;
	program->pid = pid;
	program->parent = person->parent;
	program->born = person->born;
	program->at_us = now;
	program->wall_us = clock_wall_us();
	program->seq = 0;
	program->patience = 0;
	program->claim = *claim;
	TAILQ_INSERT_TAIL(&log->waiting, program, entry);
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

static void
on_notice(evutil_socket_t fd, short what, void *arg)
{
	struct listener *listener = arg;
	struct execlog *log = listener->log;
	struct seccomp_notif notice = { .id = 0 };
	struct seccomp_notif_resp answer = {
		.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE
	};
	struct person person = { .parent = 0 };
	struct claim claim;
	bool at, valid;

	(void)what;
	if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &notice) != 0) {
		if ((errno != EINTR && errno != ENOENT && errno != EAGAIN) ||
		    is_deserted(fd))
			drop_listener(listener);
		return;
	}
	at = notice.data.nr == SYS_execveat;
	valid = look_at(log->proc, (pid_t)notice.pid, &person);
	claim_read((pid_t)notice.pid, notice.data.args[at ? 1 : 0],
	    notice.data.args[at ? 2 : 1], &claim);
	/* Only of one that still waits was it read. */
	valid =
	    ioctl(fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &notice.id) == 0 && valid;
	answer.id = notice.id;
	(void)ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	if (valid)
		keep(log, (pid_t)notice.pid, &person, &claim);
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
	log->tick = event_new(loop_base(loop), -1, EV_PERSIST, on_tick, log);
	if (log->sink != NULL && log->proc >= 0 && log->tick != NULL)
		return log;
	(void)execlog_free(log);
	return NULL;
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
