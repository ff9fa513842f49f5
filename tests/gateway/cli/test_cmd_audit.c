/* exeat audit, asked about a database that a real writer has written. */
#include "schema/status.h"
#include "tests/gateway/audit/parent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Turns the direction of text; in numbers, so that this file stays plain. */
static const char turn[] = { '\xe2', '\x80', '\xae', '\0' };

enum {
	OUT_MAX = 262144,
	WORDS_MAX = 12
};

struct stage {
	struct parent parent;
	int fd, gateway;
	int64_t intent; /* of the allowed request */
	char out[OUT_MAX]; /* what the command said, both streams */
};

static void
spawn_exeat(
    struct stage *stage, const char *const *words, int out, struct spawned *ret)
{
	static const char path[] = BUILD_DIR "/exeat";
	const char *argv[WORDS_MAX] = { path, "audit" };
	const char *envp[] = { "HOME=/nonexistent", NULL };
	struct spawn spawn = {
		.path = path, .argv = argv, .envp = envp, .count = 3
	};
	struct problem problem;
	size_t count = 2;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (; *words != NULL; words++)
		argv[count++] = *words;
	argv[count++] = "--audit";
	argv[count++] = stage->parent.database;
	assert_true(count < WORDS_MAX);
	spawn.fds[0] = null;
	spawn.fds[1] = out;
	spawn.fds[2] = out;
	assert_int_equal(spawn_start(&spawn, ret, &problem), STATUS_OK);
	(void)close(null);
}

/* Runs "exeat audit WORDS… --audit DB"; gives its exit status. */
static int
audit(struct stage *stage, const char *const *words)
{
	struct spawned spawned;
	int pipe[2], status;
	size_t used = 0;
	ssize_t got;

	assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
	spawn_exeat(stage, words, pipe[1], &spawned);
	(void)close(pipe[1]);
	do {
		got = read(pipe[0], stage->out + used, OUT_MAX - 1 - used);
		assert_true(got >= 0);
		used += (size_t)got;
	} while (got > 0);
	stage->out[used] = '\0';
	(void)close(pipe[0]);
	assert_true(spawn_wait(&spawned, PARENT_WAIT_MS, &status));
	spawned_done(&spawned);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define AUDIT(stage, ...) \
	audit(stage, (const char *const[]){ __VA_ARGS__, NULL })

static void
put(struct stage *stage, struct event *event, uint64_t number)
{
	event->number = number;
	parent_send_event(stage->gateway, event);
	(void)parent_await_accepted(stage->gateway, number);
}

static void
write_rows(struct stage *stage)
{
	struct event event = parent_event(1, EVENT_WAIT_COMMIT);
	char path[64];
	int used;

	event.req_id = cursor_of("0123456789abcdef", EVENT_REQ_ID);
	event.rule = cursor_of_text("npm");
	parent_send_event(stage->gateway, &event);
	stage->intent = parent_await_accepted(stage->gateway, 1);
	event.wait = EVENT_NO_WAIT;
	event.kind = EVENT_HTTP;
	event.parent_seq = stage->intent;
	event.status = 200;
	event.bytes_out = 300;
	event.bytes_in = 70000;
	event.dur_us = 1500;
	put(stage, &event, 2);
	event = parent_event(3, EVENT_NO_WAIT);
	event.kind = EVENT_HTTP;
	event.verdict = EVENT_DENY;
	event.reason = REASON_METHOD;
	event.host = cursor_of_text("api.github.com");
	event.verb = cursor_of_text("POST");
	used = snprintf(
	    path, sizeof(path), "/\x1b[2J\x1b]0;owned\x07/\xff%s", turn);
	assert_true(used > 0 && (size_t)used < sizeof(path));
	event.object = cursor_of_text(path);
	put(stage, &event, 3);
	event = event_empty();
	event.kind = EVENT_DNS;
	event.verdict = EVENT_DENY;
	event.reason = REASON_NO_RULE;
	event.ts_us = 1700000000000009;
	event.host = cursor_of_text("c2VjcmV0.evil.test");
	event.verb = cursor_of_text("TXT");
	put(stage, &event, 4);
}

static int
setup(void **state)
{
	struct stage *stage = calloc(1, sizeof(*stage));

	if (stage == NULL)
		return -1;
	parent_begin(&stage->parent);
	parent_start_writer(&stage->parent);
	stage->fd = parent_connect(&stage->parent);
	parent_open_run(stage->fd, "run-1");
	parent_send_policy(stage->fd, "{\"rules\":[]}", true);
	stage->gateway = parent_add_producer(stage->fd, EVENT_ROLE_GATEWAY);
	write_rows(stage);
	*state = stage;
	return 0;
}

static int
teardown(void **state)
{
	struct stage *stage = *state;

	(void)close(stage->gateway);
	(void)close(stage->fd);
	parent_end(&stage->parent);
	free(stage);
	return 0;
}

static void
end_run(struct stage *stage)
{
	(void)close(stage->gateway);
	stage->gateway = -1;
	parent_send_end(stage->fd, 3);
	(void)parent_await_closed(stage->fd);
}

static json_t *
parse(const char *text)
{
	json_error_t error;
	json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (value == NULL)
		fail_msg("%s in %s", error.text, text);
	return value;
}

static void
assert_has(const struct stage *stage, const char *text)
{
	if (strstr(stage->out, text) == NULL)
		fail_msg("no \"%s\" in:\n%s", text, stage->out);
}

/* No byte that could move a terminal's cursor or change its colours. */
static void
assert_harmless(const struct stage *stage)
{
	for (const char *at = stage->out; *at != '\0'; at++)
		if (*at != '\n' && ((unsigned char)*at < 0x20 || *at == 0x7f))
			fail_msg("a control byte in:\n%s", stage->out);
	assert_null(strstr(stage->out, turn));
}

/* A19 */
static void
summary_shows_what_was_reached_and_what_was_refused(void **state)
{
	struct stage *stage = *state;

	end_run(stage);
	assert_int_equal(AUDIT(stage, "summary"), 0);
	assert_has(stage, "npm test");
	assert_has(stage, "registry.pkgs.test");
	assert_has(stage, "api.github.com");
	assert_has(stage, "method");
	assert_has(stage, "c2VjcmV0.evil.test");
	assert_has(stage, "exited");
	assert_has(stage, "p.json");
	assert_harmless(stage);
	assert_int_equal(AUDIT(stage, "summary", "run-1"), 0);
	assert_int_equal(AUDIT(stage, "summary", "run-2"), 1);
}

static void
summary_for_programs_counts_like_the_writer(void **state)
{
	struct stage *stage = *state;
	json_t *summary, *run;

	end_run(stage);
	assert_int_equal(AUDIT(stage, "summary", "run-1", "--json"), 0);
	summary = parse(stage->out);
	run = json_array_get(json_object_get(summary, "run"), 0);
	assert_int_equal(
	    json_integer_value(json_object_get(run, "requests")), 3);
	assert_int_equal(
	    json_integer_value(json_object_get(run, "refused")), 2);
	assert_int_equal(json_integer_value(json_object_get(run, "status")), 3);
	assert_int_equal(
	    json_array_size(json_object_get(summary, "denied")), 2);
	assert_int_equal(json_array_size(json_object_get(summary, "hosts")), 1);
	json_decref(summary);
}

static void
summary_of_a_run_that_goes_on_says_so(void **state)
{
	struct stage *stage = *state;

	assert_int_equal(AUDIT(stage, "summary"), 0);
	assert_has(stage, "running");
}

static void
tail_shows_the_last_rows_and_no_control_bytes(void **state)
{
	struct stage *stage = *state;

	assert_int_equal(AUDIT(stage, "tail", "-n", "2"), 0);
	assert_has(stage, "\\x1b[2J\\x1b]0;owned\\x07");
	assert_has(stage, "\\xff\\u202e");
	assert_has(stage, "c2VjcmV0.evil.test");
	assert_null(strstr(stage->out, "npmjs"));
	assert_harmless(stage);
}

static void
tail_for_programs_is_one_object_a_line(void **state)
{
	struct stage *stage = *state;
	char *line, *rest;
	int count = 0;

	assert_int_equal(AUDIT(stage, "tail", "--json"), 0);
	for (line = strtok_r(stage->out, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest), count++)
		json_decref(parse(line));
	assert_int_equal(count, 7);
}

static void
tail_follows_until_its_reader_leaves(void **state)
{
	struct stage *stage = *state;
	const char *const words[] = { "tail", "-f", "-n", "1", "--json", NULL };
	struct event event = parent_event(5, EVENT_WAIT_COMMIT);
	struct spawned spawned;
	int pipe[2], status;
	FILE *out;

	assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
	spawn_exeat(stage, words, pipe[1], &spawned);
	(void)close(pipe[1]);
	out = fdopen(pipe[0], "r");
	assert_non_null(out);
	assert_non_null(fgets(stage->out, OUT_MAX, out));
	assert_has(stage, "c2VjcmV0");
	event.host = cursor_of_text("later.test");
	parent_send_event(stage->gateway, &event);
	assert_non_null(fgets(stage->out, OUT_MAX, out));
	assert_has(stage, "later.test");
	(void)fclose(out);
	assert_true(spawn_wait(&spawned, PARENT_WAIT_MS, &status));
	spawned_done(&spawned);
}

static void
show_finds_a_row_and_a_request(void **state)
{
	struct stage *stage = *state;
	char seq[32];

	(void)snprintf(seq, sizeof(seq), "%lld", (long long)stage->intent);
	assert_int_equal(AUDIT(stage, "show", seq), 0);
	assert_has(stage, "http_intent");
	assert_has(stage, "followed_by");
	assert_int_equal(
	    AUDIT(stage, "show", "30313233343536373839616263646566"), 0);
	assert_has(stage, "http_intent");
	assert_has(stage, "200");
	assert_int_equal(AUDIT(stage, "show", "999999"), 1);
	assert_int_equal(AUDIT(stage, "show", "what"), 125);
	assert_int_equal(AUDIT(stage, "show"), 125);
}

static void
query_answers_over_the_views(void **state)
{
	static const char denials[] =
	    "SELECT host, count(*) AS n FROM v_denied WHERE kind = :k "
	    "GROUP BY host";
	struct stage *stage = *state;
	json_t *row;

	assert_int_equal(AUDIT(stage, "query", "--json", denials, "k=http"), 0);
	row = parse(stage->out);
	assert_string_equal(
	    json_string_value(json_object_get(row, "host")), "api.github.com");
	assert_int_equal(json_integer_value(json_object_get(row, "n")), 1);
	json_decref(row);
}

static void
query_only_reads(void **state)
{
	static const char *const refused[] = {
		"DELETE FROM event",
		"UPDATE event SET verdict = 1",
		"INSERT INTO meta VALUES('a', 1)",
		"DROP TABLE event",
		"CREATE TABLE t(a)",
		"CREATE TEMP TABLE t(a)",
		"ATTACH '/tmp/x' AS x",
		"PRAGMA writable_schema = ON",
		"PRAGMA query_only = OFF",
		"VACUUM",
		"SELECT load_extension('x')",
		"SELECT 1; DELETE FROM event",
	};
	struct stage *stage = *state;
	long long rows =
	    parent_number(&stage->parent, "SELECT count(*) FROM event");

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (AUDIT(stage, "query", refused[i]) != 125)
			fail_msg("%s was not refused", refused[i]);
	assert_int_equal(
	    parent_number(&stage->parent, "SELECT count(*) FROM event"), rows);
}

static void
query_with_a_wrong_name_lists_the_right_ones(void **state)
{
	struct stage *stage = *state;

	assert_int_equal(
	    AUDIT(stage, "query", "SELECT hostname FROM v_event"), 125);
	assert_has(stage, "no such column: hostname");
	assert_has(stage, "v_denied");
	assert_has(stage, "bytes_out");
	assert_int_equal(AUDIT(stage, "query", "q12"), 125);
	assert_has(stage, "sbx=VALUE");
}

static void
query_that_gives_too_many_rows_is_cut_and_says_so(void **state)
{
	static const char numbers[] =
	    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
	    "WHERE i < 20000) SELECT i FROM n";
	struct stage *stage = *state;

	assert_int_equal(AUDIT(stage, "query", numbers), 0);
	assert_has(stage, "only the first 10000 rows");
	assert_has(stage, "\n10000\n");
	assert_null(strstr(stage->out, "\n10001\n"));
}

static void
every_question_runs(void **state)
{
	struct stage *stage = *state;
	static const char *const names[] = { "q01", "q02", "q03", "q04", "q06",
		"q08", "q09", "q10", "q11", "q12", "q13", "q14", "q15", "q16",
		"q17", "q18", "q20", "q21", "q22", "q23", "q24" };

	assert_int_equal(AUDIT(stage, "query"), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_has(stage, names[i]);
	assert_int_equal(AUDIT(stage, "query", "--json"), 0);
	assert_has(stage, "{\"name\": \"q02\", \"title\": \"what was denied");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (AUDIT(stage, "query", names[i], "sbx=run-1", "cred=c",
			"jti=j", "host=h") != 0)
			fail_msg("%s: %s", names[i], stage->out);
	assert_int_equal(AUDIT(stage, "query", "q02"), 0);
	assert_has(stage, "api.github.com");
	assert_int_equal(AUDIT(stage, "query", "q12", "sbx=run-1"), 0);
	assert_has(stage, "sandbox_start");
	assert_harmless(stage);
}

static void
wrong_use_is_told_and_is_no_answer(void **state)
{
	struct stage *stage = *state;

	assert_int_equal(AUDIT(stage, "tail", "-n", "many"), 125);
	assert_int_equal(AUDIT(stage, "tail", "--sinse", "1h"), 125);
	assert_int_equal(AUDIT(stage, "query", "--since", "soon", "q02"), 125);
	assert_int_equal(AUDIT(stage, "report"), 125);
	assert_int_equal(AUDIT(stage, "summary", "--help"), 0);
	assert_has(stage, "usage:");
	(void)snprintf(stage->parent.database, sizeof(stage->parent.database),
	    "%s/other.db", stage->parent.folder);
	assert_int_equal(AUDIT(stage, "summary"), 125);
	assert_has(stage, "--audit DB");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(summary_shows_what_was_reached_and_what_was_refused),
		TEST(summary_for_programs_counts_like_the_writer),
		TEST(summary_of_a_run_that_goes_on_says_so),
		TEST(tail_shows_the_last_rows_and_no_control_bytes),
		TEST(tail_for_programs_is_one_object_a_line),
		TEST(tail_follows_until_its_reader_leaves),
		TEST(show_finds_a_row_and_a_request),
		TEST(query_answers_over_the_views),
		TEST(query_only_reads),
		TEST(query_with_a_wrong_name_lists_the_right_ones),
		TEST(query_that_gives_too_many_rows_is_cut_and_says_so),
		TEST(every_question_runs),
		TEST(wrong_use_is_told_and_is_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
