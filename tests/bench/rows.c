/*
 * bench_rows - a real writer filled with rows as sandboxes make them.
 *
 * bench_rows DATABASE ROWS    8 runs of 4 programs, 5,000 hosts of which few
 *                             are common, intents with their ends, flows,
 *                             names, refusals and programs; prints rows and
 *                             rows per second, the writer's processor time
 *                             per row, and its largest memory
 *
 * The writer is the one that runs already, or is started: `exeat-audit`
 * stands beside the tests' build.
 */
#include "gateway/proc/clock.h"
#include "gateway/proc/fdpass.h"
#include "schema/status.h"
#include "tests/gateway/audit/parent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	RUNS = 8,
	HOSTS = 5000,
	COMMON = 40, /* hosts that have most of the rows */
	BATCH = 100, /* rows a gateway sends in a tick under load */
	AHEAD = 4000 /* below LIMIT_EVENTS_WAITING */
};

struct filler {
	int parent, producer;
	uint64_t number, accepted;
	int64_t opener_seq; /* of the intent or flow that is ended next */
	uint64_t random;
	char host[64], object[96];
};

/* splitmix64: the same rows each time. */
static uint64_t
next_random(struct filler *filler)
{
	uint64_t z = filler->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static void
choose_host(struct filler *filler)
{
	uint64_t pick = next_random(filler);
	unsigned host = pick % 10 < 8 ? (unsigned)(pick >> 8) % COMMON
				      : (unsigned)(pick >> 8) % HOSTS;

	(void)snprintf(filler->host, sizeof(filler->host), "h%u.site%u.example",
	    host, host % 700);
	(void)snprintf(filler->object, sizeof(filler->object),
	    "/packages/%u/archive-%u.tgz", host, (unsigned)(pick >> 40) % 5000);
}

/* What a row of each kind has; kinds stand as often as in real runs. */
static void
shape(struct filler *filler, struct event *event)
{
	unsigned which = (unsigned)(next_random(filler) % 100);

	if (which < 38)
		return; /* an intent */
	event->kind = EVENT_HTTP;
	event->status = which % 9 == 0 ? 404 : 200;
	event->bytes_out = 400 + (int64_t)(which * 11);
	event->bytes_in = (int64_t)(next_random(filler) % 200000);
	event->dur_us = (int64_t)(next_random(filler) % 900000);
	event->parent_seq = filler->opener_seq;
	if (which >= 76) {
		event->kind = which < 84 ? EVENT_FLOW_OPEN : EVENT_FLOW_END;
		event->verb = cursor_of("", 0);
		event->object = cursor_of("", 0);
		event->status = -1;
		if (event->kind == EVENT_FLOW_OPEN)
			event->parent_seq = -1;
	}
	if (which >= 92) {
		event->kind = which < 97 ? EVENT_DNS : EVENT_HTTP;
		event->verdict = EVENT_DENY;
		event->reason = REASON_NO_RULE;
		event->parent_seq = -1;
		event->status = which < 97 ? 5 : 403;
		event->verb = cursor_of_text(which < 97 ? "A" : "POST");
	}
	if (which == 99) {
		event->kind = EVENT_EXEC;
		event->verdict = EVENT_INFO;
		event->reason = REASON_NONE;
		event->host = cursor_of("", 0);
		event->object = cursor_of_text("/usr/bin/node");
		event->detail = cursor_of_text(
		    "{\"argv\":[\"node\",\"install.js\"],\"pid\":41}");
	}
}

static void
make_row(struct filler *filler, struct event *event, int64_t began_us)
{
	choose_host(filler);
	*event = parent_event(++filler->number, EVENT_NO_WAIT);
	event->ts_us = began_us + (int64_t)filler->number * 700;
	event->flow_id = (int64_t)(filler->number / 6);
	event->host = cursor_of_text(filler->host);
	event->object = cursor_of_text(filler->object);
	event->rule =
	    cursor_of_text(filler->number % 3 == 0 ? "packages" : "documents");
	event->req_id = cursor_of("0123456789abcdef", EVENT_REQ_ID);
	event->dst_ip = address_v4((const uint8_t[]){ 198, 51, 100, 7 });
	if (filler->number % 11 == 0)
		event->cred = cursor_of_text(
		    filler->number % 2 == 0 ? "npm-token" : "git-token");
	shape(filler, event);
}

static void
take_acceptance(struct filler *filler)
{
	struct frame frame = parent_receive(filler->producer);
	struct event_accepted accepted;
	uint64_t number;
	int64_t seq;

	if (frame.type != FRAME_AUDIT_ACCEPTED)
		return;
	assert_int_equal(event_accepted_read(frame.body, &accepted), STATUS_OK);
	filler->accepted = accepted.number;
	while (event_accepted_next(&accepted, &number, &seq))
		filler->opener_seq = seq;
}

static void
send_batch(struct filler *filler, uint64_t count, int64_t began_us)
{
	static unsigned char packet[LIMIT_FRAME];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_EVENTS, packet, sizeof(packet));
	struct event event;

	for (uint64_t i = 0; i < count; i++) {
		make_row(filler, &event, began_us);
		/* One in a batch is waited for, as an intent is. */
		if (i == 0 && event.kind == EVENT_HTTP_INTENT)
			event.wait = EVENT_WAIT_COMMIT;
		event_write(&event, &out);
	}
	assert_true(cursor_written(&out));
	assert_int_equal(
	    fdpass_send(filler->producer, out.bytes, out.used, NULL, 0),
	    STATUS_OK);
	while (filler->number - filler->accepted > AHEAD)
		take_acceptance(filler);
}

static void
begin_run(struct parent *parent, struct filler *filler, int which)
{
	char uid[64];

	*filler =
	    (struct filler){ .random = (uint64_t)which + 1, .opener_seq = -1 };
	(void)snprintf(uid, sizeof(uid), "run-bench%d%d", (int)getpid(), which);
	filler->parent = parent_connect(parent);
	parent_open_run(filler->parent, uid);
	parent_send_policy(filler->parent, "{\"rules\":[]}", true);
	filler->producer =
	    parent_add_producer(filler->parent, EVENT_ROLE_GATEWAY);
}

static void
end_run(struct filler *filler)
{
	while (filler->accepted < filler->number)
		take_acceptance(filler);
	(void)close(filler->producer);
	parent_send_end(filler->parent, 0);
	(void)parent_await_closed(filler->parent);
	(void)close(filler->parent);
}

static int64_t
fill(struct parent *parent, uint64_t rows)
{
	struct filler *fillers = calloc(RUNS, sizeof(*fillers));
	int64_t wall_us = clock_wall_us() - (int64_t)rows * 100;
	int64_t began_us;

	assert_non_null(fillers);
	for (int i = 0; i < RUNS; i++)
		begin_run(parent, &fillers[i], i);
	began_us = clock_monotonic_us();
	for (uint64_t sent = 0; sent < rows; sent += BATCH)
		send_batch(&fillers[sent / BATCH % RUNS],
		    rows - sent < BATCH ? rows - sent : BATCH, wall_us);
	for (int i = 0; i < RUNS; i++)
		end_run(&fillers[i]);
	free(fillers);
	return clock_monotonic_us() - began_us;
}

static void
tell(uint64_t rows, int64_t took_us, const struct rusage *usage)
{
	int64_t cpu_us =
	    (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
	    usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;

	(void)printf("rows %" PRIu64 "\nrows_per_second %" PRIu64
		     "\nwriter_ns_per_row %" PRId64 "\nwriter_peak_kib %ld\n",
	    rows, rows * 1000000 / (uint64_t)took_us,
	    cpu_us * 1000 / (int64_t)rows, usage->ru_maxrss);
}

int
main(int argc, char **argv)
{
	struct parent parent = { .writer = { .pid = -1, .pidfd = -1 } };
	struct rusage usage;
	struct cursor digits;
	const char *slash;
	uint64_t rows;
	int64_t took_us;

	if (argc != 3)
		return EXIT_FAILURE;
	digits = cursor_of_text(argv[2]);
	slash = strrchr(argv[1], '/');
	if (!cursor_decimal(&digits, 100000000, &rows) || rows < BATCH ||
	    slash == NULL)
		return EXIT_FAILURE;
	(void)snprintf(parent.database, sizeof(parent.database), "%s", argv[1]);
	(void)snprintf(parent.folder, sizeof(parent.folder), "%.*s",
	    (int)(slash - argv[1]), argv[1]);
	parent_start_writer(&parent);
	took_us = fill(&parent, rows);
	(void)spawn_kill(&parent.writer, SIGTERM);
	if (parent_await_writer(&parent) != 0 ||
	    getrusage(RUSAGE_CHILDREN, &usage) != 0)
		return EXIT_FAILURE;
	tell(rows, took_us, &usage);
	return EXIT_SUCCESS;
}
