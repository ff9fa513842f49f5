/*
 * fill - a database with something of everything in it, by a real writer.
 *
 * fill DATABASE ROUND ROWS [SEGMENT_ROWS]
 *                             prints the writer's pid, and then a point for
 *                             each hundred rows that were accepted
 *
 * ROUND is a word, so that the runs of several calls have their own names.
 * FILL_WRITER, FILL_WRITER_1 and FILL_WRITER_2 are "NAME=VALUE" for the
 * writer's own environment.  With FILL_SYNC the runs ask for that, and no row
 * waits for the disk by itself.
 */
#include "tests/gateway/audit/parent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	HOSTS = 40,
	BATCH = 100
};

static struct event
make_event(uint64_t number, char *host, size_t size)
{
	struct event event = parent_event(number, EVENT_NO_WAIT);

	(void)snprintf(
	    host, size, "h%u.example.org", (unsigned)(number * number) % HOSTS);
	event.host = cursor_of_text(host);
	event.rule = cursor_of_text(number % 2 == 0 ? "even" : "odd");
	event.req_id = cursor_of("0123456789abcdef", EVENT_REQ_ID);
	event.dst_ip = address_v4((const uint8_t[]){ 192, 0, 2, 7 });
	if (number % 7 == 0)
		event.cred = cursor_of_text("npm-token");
	if (number % 5 == 0) {
		event.kind = EVENT_HTTP;
		event.verdict = EVENT_DENY;
		event.reason = REASON_NO_RULE;
		event.status = 403;
		event.bytes_out = 100;
		event.bytes_in = 0;
		event.dur_us = 17;
		event.detail = cursor_of_text("{\"why\":\"no rule\"}");
	}
	return event;
}

static void
send_rows(int producer, uint64_t count, enum event_wait wait)
{
	char host[64];

	for (uint64_t number = 1; number <= count; number++) {
		struct event event = make_event(number, host, sizeof(host));

		if (number % BATCH == 0)
			event.wait = wait;
		parent_send_event(producer, &event);
		if (number % BATCH == 0) {
			(void)parent_await_accepted(producer, number);
			(void)fputs(".", stdout);
			(void)fflush(stdout);
		}
	}
	if (count % BATCH != 0)
		(void)parent_await_accepted(producer, count);
}

static void
run(struct parent *parent, const char *uid, uint64_t rows, const char *sync)
{
	int fd = parent_connect(parent), producer;
	enum event_sync asked = EVENT_SYNC_AUTO;

	while (sync != NULL && asked < EVENT_SYNC_COUNT &&
	       strcmp(sync, event_sync_name(asked)) != 0)
		asked++;
	parent_send_run_synced(fd, uid, asked);
	parent_await_open(fd);
	parent_send_policy(fd, "{\"rules\":[]}", true);
	parent_send_policy(fd, "{\"rules\":[1]}", true);
	producer = parent_add_producer(fd, EVENT_ROLE_GATEWAY);
	send_rows(
	    producer, rows, sync == NULL ? EVENT_WAIT_DISK : EVENT_WAIT_COMMIT);
	(void)close(producer);
	parent_send_end(fd, 0);
	(void)parent_await_closed(fd);
	(void)close(fd);
}

int
main(int argc, char **argv)
{
	static const char *const names[] = { "FILL_WRITER", "FILL_WRITER_1",
		"FILL_WRITER_2" };
	struct parent parent = { .writer = { .pid = -1, .pidfd = -1 } };
	struct cursor digits;
	uint64_t rows;
	char uid[64];
	const char *slash;

	if (argc != 4 && argc != 5)
		return EXIT_FAILURE;
	parent.segment_rows = argv[4];
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		parent.environment[i] = secure_getenv(names[i]);
	digits = cursor_of_text(argv[3]);
	if (!cursor_decimal(&digits, 1000000, &rows))
		return EXIT_FAILURE;
	slash = strrchr(argv[1], '/');
	(void)snprintf(parent.database, sizeof(parent.database), "%s", argv[1]);
	(void)snprintf(parent.folder, sizeof(parent.folder), "%.*s",
	    (int)(slash - argv[1]), argv[1]);
	parent_start_writer(&parent);
	(void)printf("%d\n", (int)parent.writer.pid);
	(void)fflush(stdout);
	for (int i = 1; i <= 3; i++) {
		(void)snprintf(uid, sizeof(uid), "run-%.8s%d", argv[2], i);
		run(&parent, uid, rows, secure_getenv("FILL_SYNC"));
	}
	(void)spawn_kill(&parent.writer, SIGTERM);
	return parent_await_writer(&parent) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
