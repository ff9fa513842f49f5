/*
 * exeat-audit - the only writer of one audit database.
 *
 * Started as "exeat-audit [--segment-rows N] DB" by the first run that uses the
 * database, with a pipe or socket as descriptor 3.  There it says one of three
 * things and closes it: "R", it listens; "B", another writer does, and this one
 * goes; or a line of text, what is wrong.  Later runs of the same user find it
 * by the socket beside the file.  It ends when no run has been connected for
 * LIMIT_AUDIT_IDLE_MS, or by SIGTERM.
 *
 * "exeat-audit --keep DB" is its keeper (gateway/audit/keeper), which it
 * starts.
 *
 * In order: give up what it does not need, take the door, open the database,
 * write what a killed writer could not, listen, loop.
 */
#include "gateway/audit/client.h"
#include "gateway/audit/door.h"
#include "gateway/audit/enclosure.h"
#include "gateway/audit/keeper.h"
#include "gateway/audit/segment.h"
#include "gateway/audit/store.h"
#include "gateway/audit/writer.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/corefile.h"
#include "gateway/proc/log.h"
#include "gateway/proc/loop.h"
#include "schema/status.h"

#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	REPORT_FD = 3,
	KNOCK_MS = 20, /* between looks at a lock that is another's */
	LOST_AT_ONCE = 64 /* runs a killed writer left, handled in one go */
};

struct program {
	const char *path;
	int64_t segment_rows; /* then the next segment begins */
	struct loop *loop;
	struct door *door;
	struct store *store;
	struct writer *writer;
	struct clients *clients;
	struct event *timer; /* knocking, then idling */
	struct event *incoming;
	struct keeper *keeper;
	struct event *tick; /* each LIMIT_CHECKPOINT_MS */
	int64_t tended_seq; /* the last row the keeper was told of */
	bool tending; /* it is at it */
	int64_t give_up_us; /* when to stop knocking */
	int report; /* where whoever started us listens, or -1 */
	bool started; /* the row "start" is queued */
	int exit_status;
};

/* ---- before anything is read ---- */

static bool
confine(struct problem *reterr)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	(void)umask(S_IRWXG | S_IRWXO);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    corefile_forbid() != STATUS_OK ||
	    sigaction(SIGPIPE, &ignore, NULL) != 0 ||
	    /* A limit on file sizes is a full disk to us, not our end. */
	    sigaction(SIGXFSZ, &ignore, NULL) != 0) {
		(void)problem_errno(reterr, "cannot confine the audit writer");
		return false;
	}
	return true;
}

/* ---- what whoever started us hears ---- */

/*
 * Asked before anything is opened: a number that was free then would be a
 * file of ours later.  For the same reason 0 to 2 are filled.
 */
static int
find_report(void)
{
	int report = fcntl(REPORT_FD, F_GETFD) >= 0 ? REPORT_FD : -1;
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		(void)close(fd);
	return report;
}

static void
report(struct program *program, const char *text)
{
	/* Started by hand there is nobody to tell. */
	if (program->report < 0)
		return;
	if (write(program->report, text, strlen(text)) < 0)
		log_warning("whoever started the audit writer is gone");
	(void)close(steal_fd(&program->report));
}

static void
fail(struct program *program, const struct problem *problem)
{
	char text[PROBLEM_TEXT_MAX + PROBLEM_CURE_MAX + 8];
	int used = snprintf(text, sizeof(text), "%s%s%s\n", problem->text,
	    problem->cure[0] == '\0' ? "" : ". ", problem->cure);

	if (used > 0 && (size_t)used < sizeof(text))
		report(program, text);
	log_error("%s", problem->text);
	program->exit_status = EXIT_FAILURE;
	loop_stop(program->loop);
}

static void
arm(struct program *program, int milliseconds)
{
	struct timeval when = { .tv_sec = milliseconds / 1000,
		.tv_usec = milliseconds % 1000 * 1000L };

	if (event_add(program->timer, &when) != 0) {
		log_error("no memory for a timer");
		program->exit_status = EXIT_FAILURE;
		loop_stop(program->loop);
	}
}

/* ---- the runs ---- */

static void
on_incoming(evutil_socket_t socket, short what, void *arg)
{
	struct program *program = arg;
	int fd, status = door_accept(program->door, &fd);

	(void)socket;
	(void)what;
	if (status == STATUS_OK) {
		clients_add(program->clients, fd);
		(void)event_del(program->timer);
	} else if (status == STATUS_REFUSED)
		log_warning("another user tried to connect");
	else if (status != STATUS_AGAIN)
		log_warning("cannot accept a connection");
}

static void
on_tended(void *arg, const char *problem)
{
	struct program *program = arg;

	program->tending = false;
	/* Then the same rows are asked for again. */
	if (problem != NULL)
		program->tended_seq = 0;
}

/* What the keeper has not seen yet. */
static void
tend(struct program *program)
{
	int64_t last = store_last_seq(program->store);

	/* One at a time: it takes in all that is there when it begins. */
	if (last == program->tended_seq || program->tending)
		return;
	if (keeper_ask(program->keeper, KEEPER_TEND, 0, on_tended, program) !=
	    STATUS_OK)
		return;
	program->tended_seq = last;
	program->tending = true;
}

/* Runs that wait for a last row which no disk takes must not wait for ever. */
static void
give_up_when_alone(struct program *program)
{
	if (writer_closed_us(program->writer) <
		LIMIT_AUDIT_GIVE_UP_MS * INT64_C(1000) ||
	    clients_at_work(program->clients) > 0)
		return;
	log_error("the last rows could not be written");
	program->exit_status = EXIT_FAILURE;
	loop_stop(program->loop);
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct program *program = arg;

	(void)fd;
	(void)what;
	writer_look_at_disk(program->writer);
	if (writer_closed_us(program->writer) > 0) {
		give_up_when_alone(program);
		return;
	}
	/* What root could rewrite is bounded also when nothing happens. */
	if (store_checkpoint(program->store) != STATUS_OK)
		log_warning("cannot write a checkpoint: %s",
		    store_error(program->store));
	tend(program);
}

static void
on_idle(void *arg)
{
	struct program *program = arg;

	tend(program);
	arm(program, LIMIT_AUDIT_IDLE_MS);
}

/* A run that a killed writer has left without an end gets one. */
struct lost {
	struct store_run *run;
	int64_t ended_us; /* the same in its last row */
	struct writer_op op;
};

static int
apply_lost(struct store *store, void *arg)
{
	const struct lost *lost = arg;

	return store_end_run(store, lost->run, lost->ended_us);
}

static void
on_lost_written(void *arg, int64_t seq)
{
	(void)arg;
	(void)seq;
}

static bool
put_lost_run(struct writer *writer, struct store_run *run, struct lost *lost)
{
	struct event event = event_empty();

	lost->run = run;
	lost->ended_us = clock_wall_us();
	lost->op = (struct writer_op){
		.apply = apply_lost, .done = on_lost_written, .arg = lost
	};
	event.number = 1;
	event.kind = EVENT_SANDBOX_END;
	event.wait = EVENT_WAIT_DISK;
	event.ts_us = lost->ended_us;
	event.object = cursor_of_text("writer_lost");
	return writer_put(writer, &event, NULL, run, &lost->op) == STATUS_OK;
}

static bool
end_lost_runs(struct program *program)
{
	struct store_run *runs = calloc(LOST_AT_ONCE, sizeof(*runs));
	struct lost lost[LOST_AT_ONCE];
	bool well = runs != NULL;
	size_t count = LOST_AT_ONCE;

	while (well && count == LOST_AT_ONCE) {
		well = store_lost_runs(program->store, runs, LOST_AT_ONCE,
			   &count) == STATUS_OK;
		for (size_t i = 0; well && i < count; i++)
			well =
			    put_lost_run(program->writer, &runs[i], &lost[i]);
		/* Committed here, so that no row outlives what it borrows. */
		well = well && writer_commit(program->writer);
	}
	free(runs);
	return well;
}

static int
begin(struct program *program, struct problem *reterr)
{
	struct timeval each = { .tv_sec = LIMIT_CHECKPOINT_MS / 1000 };
	int status =
	    keeper_new(program->loop, program->path, &program->keeper, reterr);

	if (status == STATUS_OK)
		status = enclosure_enter(CONFINE_WRITER, program->path, reterr);
	if (status == STATUS_OK)
		status = store_open(program->path, program->segment_rows,
		    &program->store, reterr);
	if (status != STATUS_OK)
		return status;
	program->writer = writer_new(program->loop, program->store);
	if (program->writer == NULL)
		return problem_set(reterr, "no memory for the audit writer");
	program->clients =
	    clients_new(program->writer, program->keeper, on_idle, program);
	program->incoming =
	    event_new(loop_base(program->loop), door_socket(program->door),
		EV_READ | EV_PERSIST, on_incoming, program);
	program->tick = event_new(
	    loop_base(program->loop), -1, EV_PERSIST, on_tick, program);
	if (program->clients == NULL || program->incoming == NULL ||
	    program->tick == NULL || event_add(program->tick, &each) != 0 ||
	    event_add(program->incoming, NULL) != 0)
		return problem_set(reterr, "no memory for the audit writer");
	writer_note(program->writer, NULL, "start", NULL);
	writer_look_at_disk(program->writer);
	if (!end_lost_runs(program))
		return problem_set(reterr, "cannot write %s: %s", program->path,
		    store_error(program->store));
	program->started = true;
	return STATUS_OK;
}

/* ---- one writer a database ---- */

static void
knock(struct program *program)
{
	struct problem problem = { .text = "" };
	int status = door_open(program->path, &program->door, &problem);

	if (status == STATUS_REFUSED) {
		report(program, "B");
		loop_stop(program->loop);
		return;
	}
	if (status == STATUS_AGAIN) {
		if (clock_monotonic_us() < program->give_up_us) {
			arm(program, KNOCK_MS);
			return;
		}
		status = problem_set(&problem,
		    "another audit writer holds %s.lock and does not answer",
		    program->path);
	}
	if (status == STATUS_OK)
		status = begin(program, &problem);
	if (status != STATUS_OK) {
		fail(program, &problem);
		return;
	}
	report(program, "R");
	/* Whoever started us is about to connect. */
	arm(program, LIMIT_SIBLING_MS);
}

static bool
is_idle(struct program *program)
{
	on_incoming(-1, 0, program);
	return clients_count(program->clients) == 0;
}

/*
 * A newcomer may stand in the queue, or come between two looks; so the last
 * look is after the door is hidden, and finds everybody who will ever come.
 */
static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct program *program = arg;

	(void)fd;
	(void)what;
	if (program->door == NULL) {
		knock(program);
		return;
	}
	if (!is_idle(program))
		return;
	if (door_hide(program->door, true) == STATUS_OK && !is_idle(program)) {
		if (door_hide(program->door, false) != STATUS_OK)
			log_error("cannot show the audit's socket again");
		return;
	}
	loop_stop(program->loop);
}

static void
on_stop(void *arg)
{
	const struct program *program = arg;

	loop_stop(program->loop);
}

static void
end(struct program *program)
{
	if (program->started) {
		writer_note(program->writer, NULL, "stop", NULL);
		if (!writer_commit(program->writer)) {
			log_error("the last rows could not be written");
			program->exit_status = EXIT_FAILURE;
		}
		tend(program);
	}
	if (program->tick != NULL)
		event_free(program->tick);
	if (program->incoming != NULL)
		event_free(program->incoming);
	clients_free(program->clients);
	writer_free(program->writer);
	/* It reads the file: who closes it last puts its log away. */
	keeper_free(program->keeper);
	store_close(program->store);
	/* Last: the next writer may open the database from here on. */
	door_close(program->door);
}

static int
run(struct program *program)
{
	struct loop_signal *stop;

	program->timer =
	    evtimer_new(loop_base(program->loop), on_timer, program);
	stop = loop_signal_new(program->loop, SIGTERM, on_stop, program);
	if (program->timer == NULL || stop == NULL) {
		log_error("no memory");
		return EXIT_FAILURE;
	}
	program->give_up_us = clock_monotonic_us() + LIMIT_SIBLING_MS * 1000L;
	arm(program, 0);
	if (loop_run(program->loop) != STATUS_OK)
		program->exit_status = EXIT_FAILURE;
	end(program);
	loop_signal_free(stop);
	event_free(program->timer);
	return program->exit_status;
}

static bool
read_arguments(struct program *program, int argc, char **argv)
{
	struct cursor digits;
	uint64_t rows = LIMIT_SEGMENT_ROWS;
	int at = 1;

	if (argc > 3 && strcmp(argv[1], "--segment-rows") == 0) {
		digits = cursor_of_text(argv[2]);
		if (!cursor_decimal(&digits, LIMIT_SEGMENT_ROWS, &rows) ||
		    !cursor_is_empty(&digits) || rows == 0)
			return false;
		at = 3;
	}
	if (argc != at + 1 || argv[at][0] == '-')
		return false;
	program->segment_rows = (int64_t)rows;
	program->path = argv[at];
	return true;
}

/* Descriptor 3 is the writer's word. */
static int
keep(const char *audit)
{
	struct problem problem;

	if (!confine(&problem)) {
		log_error("%s", problem.text);
		return EXIT_FAILURE;
	}
	keeper_serve(audit);
	return EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
	struct program program = { .report = -1, .exit_status = EXIT_SUCCESS };
	struct problem problem;
	int status;

	log_begin("exeat-audit", NULL, LOG_LEVEL_WARNING);
	segment_begin_alone();
	if (argc == 3 && strcmp(argv[1], KEEPER_OPTION) == 0)
		return keep(argv[2]);
	program.report = find_report();
	if (!read_arguments(&program, argc, argv)) {
		log_error("usage: exeat-audit [--segment-rows N] DATABASE");
		return EXIT_FAILURE;
	}
	program.loop = loop_new();
	if (program.loop == NULL) {
		log_error("no memory");
		return EXIT_FAILURE;
	}
	if (!confine(&problem)) {
		fail(&program, &problem);
		loop_free(program.loop);
		return EXIT_FAILURE;
	}
	status = run(&program);
	loop_free(program.loop);
	return status;
}
