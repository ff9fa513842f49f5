/*
 * The audit writer as a process: what it promises to parents and producers,
 * and what it does with those that break their contract.
 */
#include "gateway/proc/fdpass.h"
#include "schema/status.h"
#include "tests/gateway/audit/parent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char contiguous[] =
    "SELECT max(seq) - min(seq) + 1 - count(*) FROM event";

static int
setup(void **state)
{
	struct parent *parent = calloc(1, sizeof(*parent));

	if (parent == NULL)
		return -1;
	parent_begin(parent);
	*state = parent;
	return 0;
}

static int
teardown(void **state)
{
	parent_end(*state);
	free(*state);
	return 0;
}

static void
run_is_written_from_its_first_row_to_its_last(void **state)
{
	struct parent *parent = *state;
	struct event_closed closed;
	struct event event;
	int64_t intent;
	char text[256];
	int fd, gateway;

	parent_start_writer(parent);
	fd = parent_connect(parent);
	parent_open_run(fd, "run-1");
	parent_send_policy(fd, "{\"rules\":[]}", true);
	gateway = parent_add_producer(fd, EVENT_ROLE_GATEWAY);
	event = parent_event(1, EVENT_WAIT_DISK);
	event.rule = cursor_of_text("npm");
	parent_send_event(gateway, &event);
	intent = parent_await_accepted(gateway, 1);
	assert_true(intent > 0);
	event = parent_event(2, EVENT_NO_WAIT);
	event.kind = EVENT_HTTP;
	event.parent_seq = intent;
	event.status = 200;
	event.bytes_in = 4096;
	parent_send_event(gateway, &event);
	event = parent_event(3, EVENT_NO_WAIT);
	event.kind = EVENT_HTTP;
	event.verdict = EVENT_DENY;
	event.reason = REASON_NO_RULE;
	event.host = cursor_of_text("evil.test");
	parent_send_event(gateway, &event);
	(void)parent_await_accepted(gateway, 3);
	(void)close(gateway);
	parent_send_end(fd, 3);
	closed = parent_await_closed(fd);
	assert_int_equal(closed.requests, 2);
	assert_int_equal(closed.refused, 1);
	assert_int_equal(parent_number(parent, contiguous), 0);
	assert_int_equal(closed.first_seq,
	    parent_number(
		parent, "SELECT seq FROM v_event WHERE kind='sandbox_start'"));
	assert_int_equal(closed.last_seq,
	    parent_number(
		parent, "SELECT seq FROM v_event WHERE kind='sandbox_end'"));
	parent_text(parent,
	    "SELECT group_concat(kind, ' ') FROM (SELECT kind FROM v_event "
	    "ORDER BY seq)",
	    text, sizeof(text));
	assert_string_equal(text,
	    "audit sandbox_start policy_load http_intent http http "
	    "sandbox_end");
	parent_text(parent,
	    "SELECT group_concat(ifnull(rule, '-') || sandbox || agent, ' ') "
	    "FROM v_event WHERE kind = 'http_intent'",
	    text, sizeof(text));
	assert_string_equal(text, "npmrun-1tester");
	parent_text(
	    parent, "SELECT body || loaded_by FROM policy", text, sizeof(text));
	assert_string_equal(text, "{\"rules\":[]}tester");
	(void)close(fd);
}

static void
writer_ends_after_its_last_run_and_removes_its_socket(void **state)
{
	struct parent *parent = *state;
	char path[700];
	int fd, status;

	parent_start_writer(parent);
	fd = parent_connect(parent);
	parent_open_run(fd, "run-1");
	parent_send_end(fd, 0);
	(void)parent_await_closed(fd);
	(void)close(fd);
	status = parent_await_writer(parent);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	(void)snprintf(path, sizeof(path), "%s.sock", parent->database);
	assert_int_not_equal(access(path, F_OK), 0);
	(void)snprintf(path, sizeof(path), "%s-wal", parent->database);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(
	    parent_number(parent,
		"SELECT count(*) FROM v_event WHERE kind = 'audit' AND object "
		"IN ('start', 'stop')"),
	    2);
}

static void
two_runs_share_one_writer(void **state)
{
	struct parent *parent = *state;
	struct spawned second;
	struct event event;
	char text[512];
	int a, b, producer_a, producer_b, status;

	parent_start_writer(parent);
	parent_start(parent, &second, text);
	assert_string_equal(text, "B");
	assert_true(spawn_wait(&second, PARENT_WAIT_MS, &status));
	spawned_done(&second);
	assert_int_equal(status, 0);
	a = parent_connect(parent);
	b = parent_connect(parent);
	parent_open_run(a, "run-a");
	parent_open_run(b, "run-b");
	producer_a = parent_add_producer(a, EVENT_ROLE_GATEWAY);
	producer_b = parent_add_producer(b, EVENT_ROLE_GATEWAY);
	for (uint64_t number = 1; number <= 300; number++) {
		event = parent_event(number, EVENT_NO_WAIT);
		parent_send_event(producer_a, &event);
		parent_send_event(producer_b, &event);
	}
	(void)parent_await_accepted(producer_a, 300);
	(void)parent_await_accepted(producer_b, 300);
	(void)close(producer_a);
	(void)close(producer_b);
	parent_send_end(a, 0);
	parent_send_end(b, 0);
	assert_int_equal(parent_await_closed(a).requests, 300);
	assert_int_equal(parent_await_closed(b).requests, 300);
	assert_int_equal(parent_number(parent, contiguous), 0);
	assert_int_equal(
	    parent_number(parent,
		"SELECT count(*) FROM v_event WHERE sandbox = 'run-a' AND "
		"kind = 'http_intent'"),
	    300);
	(void)close(a);
	(void)close(b);
}

static void
run_whose_parent_is_lost_gets_its_last_row(void **state)
{
	struct parent *parent = *state;
	struct event event;
	int fd, gateway;

	parent_start_writer(parent);
	fd = parent_connect(parent);
	parent_open_run(fd, "run-1");
	gateway = parent_add_producer(fd, EVENT_ROLE_GATEWAY);
	(void)close(fd);
	event = parent_event(1, EVENT_WAIT_COMMIT);
	parent_send_event(gateway, &event);
	assert_true(parent_await_accepted(gateway, 1) > 0);
	(void)close(gateway);
	(void)parent_await_writer(parent);
	assert_int_equal(
	    parent_number(parent, "SELECT count(*) FROM v_event WHERE kind = "
				  "'sandbox_end' AND object = 'lost' AND seq > "
				  "(SELECT seq FROM event WHERE kind = 4)"),
	    1);
	assert_int_equal(
	    parent_number(
		parent, "SELECT ended_us > 0 FROM sandbox WHERE uid = 'run-1'"),
	    1);
}

static void
run_that_is_not_new_is_refused(void **state)
{
	struct parent *parent = *state;
	int first, second, third;

	parent_start_writer(parent);
	first = parent_connect(parent);
	second = parent_connect(parent);
	parent_open_run(first, "run-1");
	parent_send_run(second, "run-1");
	assert_true(parent_is_closed(second));
	parent_send_end(first, 0);
	(void)parent_await_closed(first);
	third = parent_connect(parent);
	parent_send_run(third, "run-1");
	assert_true(parent_is_closed(third));
	assert_int_equal(
	    parent_number(parent, "SELECT count(*) FROM sandbox"), 1);
	(void)close(first);
	(void)close(second);
	(void)close(third);
}

static void
frame_before_the_run_is_refused(void **state)
{
	struct parent *parent = *state;
	int fd;

	parent_start_writer(parent);
	fd = parent_connect(parent);
	parent_send_end(fd, 0);
	assert_true(parent_is_closed(fd));
	(void)close(fd);
}

static void
policy_of_another_digest_is_refused(void **state)
{
	struct parent *parent = *state;
	int fd;

	parent_start_writer(parent);
	fd = parent_connect(parent);
	parent_open_run(fd, "run-1");
	parent_send_policy(fd, "{}", false);
	assert_true(parent_is_closed(fd));
	(void)close(fd);
	(void)parent_await_writer(parent);
	assert_int_equal(
	    parent_number(parent, "SELECT count(*) FROM policy"), 0);
	assert_int_equal(
	    parent_number(parent, "SELECT count(*) FROM v_event WHERE kind = "
				  "'audit' AND object = 'bad_frame'"),
	    1);
}

/* Sends what misuse makes of an event, and expects to be thrown out. */
static void
expect_end_of_producer(
    struct parent *parent, int fd, void (*misuse)(int producer, int64_t other))
{
	int64_t other, before;
	struct event event;
	int producer = parent_add_producer(fd, EVENT_ROLE_GATEWAY);

	before = parent_number(
	    parent, "SELECT count(*) FROM v_event WHERE object = 'bad_frame'");
	other = parent_number(
	    parent, "SELECT max(seq) FROM v_event WHERE sandbox = 'run-other'");
	event = parent_event(1, EVENT_WAIT_COMMIT);
	parent_send_event(producer, &event);
	assert_true(parent_await_accepted(producer, 1) > 0);
	misuse(producer, other);
	assert_true(parent_is_closed(producer));
	(void)close(producer);
	/* The row about it is committed before anything that waits later. */
	producer = parent_add_producer(fd, EVENT_ROLE_LAUNCHER);
	parent_send_event(producer, &event);
	assert_true(parent_await_accepted(producer, 1) > 0);
	(void)close(producer);
	assert_int_equal(
	    parent_number(parent,
		"SELECT count(*) FROM v_event WHERE object = 'bad_frame'"),
	    before + 1);
}

static void
send_garbage(int producer, int64_t other)
{
	static const unsigned char frame[] = { 0x03, 0x04, 0, 9, 'x' };

	(void)other;
	assert_int_equal(
	    fdpass_send(producer, frame, sizeof(frame), NULL, 0), STATUS_OK);
}

static void
send_unknown_type(int producer, int64_t other)
{
	static const unsigned char frame[] = { 0x7f, 0x7f, 0, 0 };

	(void)other;
	assert_int_equal(
	    fdpass_send(producer, frame, sizeof(frame), NULL, 0), STATUS_OK);
}

static void
send_descriptor(int producer, int64_t other)
{
	static const unsigned char frame[] = { 0x03, 0x04, 0, 0 };
	int fd = STDIN_FILENO;

	(void)other;
	assert_int_equal(
	    fdpass_send(producer, frame, sizeof(frame), &fd, 1), STATUS_OK);
}

static void
send_parents_frame(int producer, int64_t other)
{
	(void)other;
	parent_send_end(producer, 0);
}

static void
send_old_number(int producer, int64_t other)
{
	struct event event = parent_event(1, EVENT_NO_WAIT);

	(void)other;
	parent_send_event(producer, &event);
}

static void
send_row_of_another_run(int producer, int64_t other)
{
	struct event event = parent_event(2, EVENT_NO_WAIT);

	event.parent_seq = other;
	parent_send_event(producer, &event);
}

static void
send_row_that_is_not_there(int producer, int64_t other)
{
	struct event event = parent_event(2, EVENT_NO_WAIT);

	(void)other;
	event.parent_seq = INT64_MAX;
	parent_send_event(producer, &event);
}

static void
send_end_of_run(int producer, int64_t other)
{
	struct event event = parent_event(2, EVENT_NO_WAIT);

	(void)other;
	event.kind = EVENT_SANDBOX_END;
	parent_send_event(producer, &event);
}

static void
producer_that_breaks_its_contract_is_ended_and_recorded(void **state)
{
	void (*const misuses[])(int, int64_t) = { send_garbage,
		send_unknown_type, send_descriptor, send_parents_frame,
		send_old_number, send_row_of_another_run,
		send_row_that_is_not_there, send_end_of_run };
	struct parent *parent = *state;
	int fd, other;

	parent_start_writer(parent);
	other = parent_connect(parent);
	parent_open_run(other, "run-other");
	fd = parent_connect(parent);
	parent_open_run(fd, "run-1");
	for (size_t i = 0; i < sizeof(misuses) / sizeof(misuses[0]); i++)
		expect_end_of_producer(parent, fd, misuses[i]);
	parent_send_end(fd, 0);
	(void)parent_await_closed(fd);
	assert_int_equal(parent_number(parent, contiguous), 0);
	(void)close(fd);
	(void)close(other);
}

static void
producer_that_stays_is_ended_and_the_run_is_closed(void **state)
{
	struct parent *parent = *state;
	int fd, gateway;

	parent_start_writer(parent);
	fd = parent_connect(parent);
	parent_open_run(fd, "run-1");
	gateway = parent_add_producer(fd, EVENT_ROLE_GATEWAY);
	parent_send_end(fd, 0);
	(void)parent_await_closed(fd);
	assert_true(parent_is_closed(gateway));
	assert_int_equal(
	    parent_number(parent, "SELECT count(*) FROM v_event WHERE object = "
				  "'did_not_leave'"),
	    1);
	(void)close(fd);
	(void)close(gateway);
}

/* Two hundred with EXEAT_FULL=1. */
static unsigned
rounds(void)
{
	const char *full = secure_getenv("EXEAT_FULL");

	return full != NULL && strcmp(full, "1") == 0 ? 200 : 15;
}

/* A11: what a killed writer has accepted is there, and its runs get an end. */
static void
killed_writer_loses_no_accepted_row(void **state)
{
	struct parent *parent = *state;
	unsigned count = rounds();
	char uid[32];

	for (unsigned round = 0; round < count; round++) {
		struct event event;
		int64_t seq = 0;
		char sql[128];
		int fd, gateway, status;

		parent_start_writer(parent);
		fd = parent_connect(parent);
		(void)snprintf(uid, sizeof(uid), "run-%u", round);
		parent_open_run(fd, uid);
		gateway = parent_add_producer(fd, EVENT_ROLE_GATEWAY);
		/* More and more rows of no interest are under way. */
		for (uint64_t number = 1; number <= 1 + 40 * (round % 15);
		     number++) {
			bool waits = number % 20 == 1;

			event = parent_event(
			    number, waits ? EVENT_WAIT_COMMIT : EVENT_NO_WAIT);
			parent_send_event(gateway, &event);
			if (waits)
				seq = parent_await_accepted(gateway, number);
		}
		assert_int_equal(
		    spawn_kill(&parent->writer, SIGKILL), STATUS_OK);
		assert_true(
		    spawn_wait(&parent->writer, PARENT_WAIT_MS, &status));
		spawned_done(&parent->writer);
		(void)snprintf(sql, sizeof(sql),
		    "SELECT count(*) FROM event WHERE seq = %lld AND kind = 4",
		    (long long)seq);
		assert_int_equal(parent_number(parent, sql), 1);
		assert_int_equal(parent_number(parent, contiguous), 0);
		(void)close(fd);
		(void)close(gateway);
	}
	parent_start_writer(parent);
	assert_int_equal(
	    parent_number(parent, "SELECT count(*) FROM v_event WHERE kind = "
				  "'sandbox_end' AND object = 'writer_lost'"),
	    count);
	assert_int_equal(
	    parent_number(
		parent, "SELECT count(*) FROM sandbox WHERE ended_us IS NULL"),
	    0);
}

static void
limit_file_size(const struct parent *parent, rlim_t size)
{
	struct rlimit limit = { .rlim_cur = size, .rlim_max = RLIM_INFINITY };

	assert_int_equal(
	    prlimit(parent->writer.pid, RLIMIT_FSIZE, &limit, NULL), 0);
}

static void
await_state(int fd, bool expected)
{
	struct frame frame;
	bool available = !expected;

	while (available != expected) {
		frame = parent_receive(fd);
		if (frame.type == FRAME_AUDIT_STATE)
			assert_int_equal(
			    event_state_read(frame.body, &available),
			    STATUS_OK);
	}
}

/* A15: while nothing can be written nothing is accepted, and nothing lost. */
static void
full_disk_closes_the_audit_until_there_is_room(void **state)
{
	struct parent *parent = *state;
	struct event event;
	struct stat st;
	char path[700];
	int fd, gateway;

	parent_start_writer(parent);
	fd = parent_connect(parent);
	parent_open_run(fd, "run-1");
	gateway = parent_add_producer(fd, EVENT_ROLE_GATEWAY);
	event = parent_event(1, EVENT_WAIT_COMMIT);
	parent_send_event(gateway, &event);
	(void)parent_await_accepted(gateway, 1);
	(void)snprintf(path, sizeof(path), "%s-wal", parent->database);
	assert_int_equal(stat(path, &st), 0);
	limit_file_size(parent, (rlim_t)st.st_size);
	event = parent_event(2, EVENT_WAIT_COMMIT);
	parent_send_event(gateway, &event);
	await_state(gateway, false);
	await_state(fd, false);
	assert_int_equal(
	    parent_number(parent, "SELECT count(*) FROM event WHERE kind = 4"),
	    1);
	limit_file_size(parent, RLIM_INFINITY);
	assert_true(parent_await_accepted(gateway, 2) > 0);
	await_state(fd, true);
	event = parent_event(3, EVENT_WAIT_COMMIT);
	parent_send_event(gateway, &event);
	assert_true(parent_await_accepted(gateway, 3) > 0);
	(void)close(gateway);
	parent_send_end(fd, 0);
	assert_int_equal(parent_await_closed(fd).requests, 3);
	assert_int_equal(parent_number(parent, contiguous), 0);
	assert_int_equal(
	    parent_number(parent, "SELECT count(*) FROM v_event WHERE kind = "
				  "'audit' AND object = 'full'"),
	    1);
	(void)close(fd);
}

static void
writer_accepts_nothing_and_ends_when_its_file_is_removed(void **state)
{
	struct parent *parent = *state;
	struct event event;
	int fd, gateway, status;

	parent_start_writer(parent);
	fd = parent_connect(parent);
	parent_open_run(fd, "run-1");
	gateway = parent_add_producer(fd, EVENT_ROLE_GATEWAY);
	event = parent_event(1, EVENT_WAIT_COMMIT);
	parent_send_event(gateway, &event);
	(void)parent_await_accepted(gateway, 1);
	assert_int_equal(unlink(parent->database), 0);
	event = parent_event(2, EVENT_WAIT_COMMIT);
	parent_send_event(gateway, &event);
	await_state(gateway, false);
	assert_true(parent_is_closed(gateway));
	status = parent_await_writer(parent);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE);
	(void)close(gateway);
	(void)close(fd);
}

static void
file_that_is_no_audit_is_refused_and_left_alone(void **state)
{
	struct parent *parent = *state;
	struct spawned writer;
	char text[512];
	int status;
	FILE *file = fopen(parent->database, "we");

	assert_non_null(file);
	assert_true(
	    fputs("dear diary, this is no database at all\n", file) >= 0);
	assert_int_equal(fclose(file), 0);
	parent_start(parent, &writer, text);
	assert_non_null(strstr(text, "cannot read"));
	assert_true(spawn_wait(&writer, PARENT_WAIT_MS, &status));
	spawned_done(&writer);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

static void
folder_that_others_can_write_is_refused(void **state)
{
	struct parent *parent = *state;
	struct spawned writer;
	char text[512];
	int status;

	assert_int_equal(chmod(parent->folder, 0777), 0);
	parent_start(parent, &writer, text);
	assert_non_null(strstr(text, "can be written by others"));
	assert_true(spawn_wait(&writer, PARENT_WAIT_MS, &status));
	spawned_done(&writer);
	assert_int_not_equal(status, 0);
}

/* A socket's address holds 107 bytes; this path has many more. */
static void
long_path_is_no_obstacle(void **state)
{
	struct parent *parent = *state;
	char long_name[151], folder[512];
	int fd;

	memset(long_name, 'd', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	(void)snprintf(
	    folder, sizeof(folder), "%.300s/%s", parent->folder, long_name);
	assert_int_equal(mkdir(folder, 0700), 0);
	memcpy(parent->folder, folder, sizeof(folder));
	(void)snprintf(
	    parent->database, sizeof(parent->database), "%s/audit.db", folder);
	parent_start_writer(parent);
	fd = parent_connect(parent);
	parent_open_run(fd, "run-1");
	parent_send_end(fd, 0);
	(void)parent_await_closed(fd);
	(void)close(fd);
	(void)parent_await_writer(parent);
	parent_end(parent);
	*strrchr(parent->folder, '/') = '\0';
}

static void
files_are_the_users_own(void **state)
{
	static const char *const endings[] = { "", "-wal", ".sock", ".lock" };
	struct parent *parent = *state;
	struct stat st;
	char path[700];

	parent_start_writer(parent);
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		(void)snprintf(
		    path, sizeof(path), "%s%s", parent->database, endings[i]);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0177, 0);
	}
}

/* What ends before its number was heard belongs to its first row all the same.
 */
static void
row_that_ends_early_is_given_the_one_it_belongs_to(void **state)
{
	struct parent *parent = *state;
	struct event event;
	int fd, gateway;

	parent_start_writer(parent);
	fd = parent_connect(parent);
	parent_open_run(fd, "run-1");
	gateway = parent_add_producer(fd, EVENT_ROLE_GATEWAY);
	for (uint64_t flow = 1; flow <= 20; flow++) {
		event = parent_event(4 * flow - 3, EVENT_NO_WAIT);
		event.flow_id = (int64_t)flow;
		event.kind = EVENT_FLOW_OPEN;
		parent_send_event(gateway, &event);
		event.number++;
		event.kind = EVENT_HTTP_INTENT;
		event.req_id = cursor_of(
		    flow % 2 == 0 ? "0123456789abcdef" : "fedcba9876543210",
		    EVENT_REQ_ID);
		parent_send_event(gateway, &event);
		event.number++;
		event.kind = EVENT_HTTP;
		event.parent_seq = 0;
		parent_send_event(gateway, &event);
		event.number++;
		event.kind = EVENT_FLOW_END;
		event.req_id = cursor_of("", 0);
		/* Half of them when the first rows are committed long ago. */
		if (flow == 10)
			event.wait = EVENT_WAIT_DISK;
		parent_send_event(gateway, &event);
		if (flow == 10)
			(void)parent_await_accepted(gateway, event.number);
	}
	(void)close(gateway);
	parent_send_end(fd, 0);
	(void)parent_await_closed(fd);
	assert_int_equal(
	    parent_number(parent, "SELECT count(*) FROM v_open_intent"), 0);
	assert_int_equal(
	    parent_number(parent,
		"SELECT count(*) FROM event e JOIN event p ON p.seq = "
		"e.parent_seq WHERE p.flow_id = e.flow_id AND ((e.kind = 1 "
		"AND p.kind = 4 AND p.req_id = e.req_id) OR (e.kind = 2 AND "
		"p.kind = 3))"),
	    40);
	(void)close(fd);
}

/* The run goes on, and what was written down so far is signed all the same. */
static void
rows_are_under_a_checkpoint_soon(void **state)
{
	struct parent *parent = *state;
	struct event event = parent_event(1, EVENT_WAIT_DISK);
	struct timespec pause = { .tv_nsec = 100 * 1000000L };
	int fd, gateway, waited = 0;
	int64_t seq;

	parent_start_writer(parent);
	fd = parent_connect(parent);
	parent_open_run(fd, "run-signed");
	parent_send_policy(fd, "{\"rules\":[]}", true);
	gateway = parent_add_producer(fd, EVENT_ROLE_GATEWAY);
	parent_send_event(gateway, &event);
	seq = parent_await_accepted(gateway, 1);
	assert_true(seq > 0);
	while (parent_number(parent,
		   "SELECT ifnull(max(last_seq), 0) FROM block WHERE no <= "
		   "(SELECT max(size) FROM checkpoint)") < seq &&
	       ++waited < 600)
		(void)nanosleep(&pause, NULL);
	assert_true(waited < 600);
	(void)close(gateway);
	parent_send_end(fd, 0);
	(void)parent_await_closed(fd);
	(void)close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(run_is_written_from_its_first_row_to_its_last),
		TEST(writer_ends_after_its_last_run_and_removes_its_socket),
		TEST(two_runs_share_one_writer),
		TEST(rows_are_under_a_checkpoint_soon),
		TEST(run_whose_parent_is_lost_gets_its_last_row),
		TEST(run_that_is_not_new_is_refused),
		TEST(frame_before_the_run_is_refused),
		TEST(policy_of_another_digest_is_refused),
		TEST(producer_that_breaks_its_contract_is_ended_and_recorded),
		TEST(producer_that_stays_is_ended_and_the_run_is_closed),
		TEST(killed_writer_loses_no_accepted_row),
		TEST(full_disk_closes_the_audit_until_there_is_room),
		TEST(row_that_ends_early_is_given_the_one_it_belongs_to),
		TEST(writer_accepts_nothing_and_ends_when_its_file_is_removed),
		TEST(file_that_is_no_audit_is_refused_and_left_alone),
		TEST(folder_that_others_can_write_is_refused),
		TEST(long_path_is_no_obstacle),
		TEST(files_are_the_users_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
