/*
 * bench_ahead - how long a request waits for the row that is written first.
 *
 * bench_ahead DATABASE RATE SECONDS commit|disk
 *
 * RATE requests begin in every second, whether earlier ones are accepted or
 * not, as those of sandboxes do; each has an intent that is waited for and an
 * end that is not.  Prints requests, p50_us and p99_us from the intent's
 * sending to its acceptance.  The writer is the one that runs already, or is
 * started.
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
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct walk {
	int producer;
	enum event_wait wait;
	uint64_t rate, total; /* requests a second, and in all */
	uint64_t begun, answered;
	uint64_t number; /* of the last row */
	int64_t began_us;
	int64_t *sent_us, *took_us; /* of each request */
	uint64_t *request; /* by its intent's number */
};

static void
send_row(struct walk *walk, const struct event *event)
{
	unsigned char packet[LIMIT_FRAME];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_EVENTS, packet, sizeof(packet));

	event_write(event, &out);
	assert_true(cursor_written(&out));
	assert_int_equal(
	    fdpass_send(walk->producer, out.bytes, out.used, NULL, 0),
	    STATUS_OK);
}

static void
begin_request(struct walk *walk)
{
	struct event event = parent_event(++walk->number, walk->wait);

	walk->request[walk->number] = walk->begun;
	walk->sent_us[walk->begun++] = clock_monotonic_us();
	send_row(walk, &event);
}

/* The request's end, whose row nobody waits for. */
static void
end_request(struct walk *walk, int64_t seq)
{
	struct event event = parent_event(++walk->number, EVENT_NO_WAIT);

	event.kind = EVENT_HTTP;
	event.status = 200;
	event.bytes_out = 300;
	event.bytes_in = 70000;
	event.dur_us = 1500;
	event.parent_seq = seq;
	send_row(walk, &event);
}

static void
take_acceptance(struct walk *walk)
{
	struct frame frame = parent_receive(walk->producer);
	struct event_accepted accepted;
	uint64_t number, which;
	int64_t seq;

	if (frame.type != FRAME_AUDIT_ACCEPTED)
		return;
	assert_int_equal(event_accepted_read(frame.body, &accepted), STATUS_OK);
	while (event_accepted_next(&accepted, &number, &seq)) {
		assert_true(number <= walk->number);
		which = walk->request[number];
		walk->took_us[which] =
		    clock_monotonic_us() - walk->sent_us[which];
		walk->answered++;
		end_request(walk, seq);
	}
}

static int64_t
due_us(const struct walk *walk)
{
	return walk->began_us + (int64_t)(walk->begun * 1000000 / walk->rate);
}

/* Until the next request is due, or an answer is there. */
static void
await(struct walk *walk)
{
	struct pollfd ready = { .fd = walk->producer, .events = POLLIN };
	int64_t left = walk->begun < walk->total
			   ? due_us(walk) - clock_monotonic_us()
			   : (int64_t)PARENT_WAIT_MS * 1000;
	struct timespec until = { .tv_sec = 0 };
	int got;

	if (left > 0)
		until = (struct timespec){ .tv_sec = left / 1000000,
			.tv_nsec = left % 1000000 * 1000 };
	got = ppoll(&ready, 1, &until, NULL);
	assert_true(got >= 0);
	if (got == 1)
		take_acceptance(walk);
	else
		assert_true(walk->begun < walk->total);
}

static void
go(struct walk *walk)
{
	walk->began_us = clock_monotonic_us();
	while (walk->answered < walk->total) {
		if (walk->begun < walk->total &&
		    due_us(walk) <= clock_monotonic_us())
			begin_request(walk);
		await(walk);
	}
}

static int
by_size(const void *a, const void *b)
{
	const int64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static void
tell(struct walk *walk)
{
	qsort(walk->took_us, walk->total, sizeof(*walk->took_us), by_size);
	(void)printf("requests %" PRIu64 "\np50_us %" PRId64 "\np99_us %" PRId64
		     "\n",
	    walk->total, walk->took_us[walk->total / 2],
	    walk->took_us[walk->total * 99 / 100]);
}

static void *
room_for(size_t numbers)
{
	void *room = calloc(numbers, sizeof(uint64_t));

	if (room == NULL) {
		(void)fputs("bench_ahead: no memory\n", stderr);
		exit(1);
	}
	return room;
}

static void
measure(struct parent *parent, struct walk *walk)
{
	char uid[64];
	int fd = parent_connect(parent);

	walk->sent_us = room_for(walk->total);
	walk->took_us = room_for(walk->total);
	walk->request = room_for(2 * walk->total + 1);
	(void)snprintf(uid, sizeof(uid), "run-ahead%d", (int)getpid());
	parent_open_run(fd, uid);
	parent_send_policy(fd, "{\"rules\":[]}", true);
	walk->producer = parent_add_producer(fd, EVENT_ROLE_GATEWAY);
	go(walk);
	(void)close(walk->producer);
	parent_send_end(fd, 0);
	(void)parent_await_closed(fd);
	(void)close(fd);
	tell(walk);
	free(walk->sent_us);
	free(walk->took_us);
	free(walk->request);
}

static bool
read_number(const char *text, uint64_t most, uint64_t *ret)
{
	struct cursor digits = cursor_of_text(text);

	return cursor_decimal(&digits, most, ret) && cursor_is_empty(&digits) &&
	       *ret > 0;
}

int
main(int argc, char **argv)
{
	struct parent parent = { .writer = { .pid = -1, .pidfd = -1 } };
	struct walk walk = { .wait = EVENT_WAIT_COMMIT };
	uint64_t seconds;
	const char *slash;

	if (argc != 5 || (slash = strrchr(argv[1], '/')) == NULL ||
	    !read_number(argv[2], 100000, &walk.rate) ||
	    !read_number(argv[3], 600, &seconds))
		return EXIT_FAILURE;
	if (strcmp(argv[4], "disk") == 0)
		walk.wait = EVENT_WAIT_DISK;
	walk.total = walk.rate * seconds;
	(void)snprintf(parent.database, sizeof(parent.database), "%s", argv[1]);
	(void)snprintf(parent.folder, sizeof(parent.folder), "%.*s",
	    (int)(slash - argv[1]), argv[1]);
	parent_start_writer(&parent);
	measure(&parent, &walk);
	(void)spawn_kill(&parent.writer, SIGTERM);
	return parent_await_writer(&parent) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
