/*
 * exeat-ship - an audit's rows to a fleet's PostgreSQL, and back.
 *
 * A program of its own, so that the library that speaks to PostgreSQL, and
 * all that comes with it, is in nothing else.  It reads the audit as any
 * other reader does, and holds no key.  "exeat audit ship" starts it.
 */
#include "gateway/ship/ship.h"
#include "gateway/audit/across.h"
#include "gateway/audit/query.h"
#include "gateway/cli/print.h"
#include "gateway/proc/clock.h"
#include "gateway/ship/poll.h"
#include "gateway/ship/recall.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	FOLLOW_MS = 1000, /* between looks for new rows */
	PATIENCE_MS = 30000, /* the longest wait for a fleet that is away */
	TRIES = 6, /* of a pass that is not followed by another */
	VALUES = 16,
	FAILED = 125
};

static const char usage[] =
    "usage: exeat audit ship --to WHERE [-f] [--from SEQ]\n"
    "       exeat audit ship --to WHERE --create\n"
    "       exeat audit ship --schema\n"
    "       exeat audit ship --to WHERE --ask QUESTION [K=V]... [--json]\n"
    "       exeat audit ship --to WHERE --recall CHAIN --audit NEW\n"
    "\n"
    "Sends the rows of an audit to a PostgreSQL that has those of many. What\n"
    "it has already it leaves as it is; where to go on is asked of it.\n"
    "\n"
    "  --to WHERE    as psql takes it: postgresql://host/database; put the\n"
    "                password into ~/.pgpass\n"
    "  --audit DB    the audit (default: exeat/audit.db in $XDG_STATE_HOME)\n"
    "  -f            go on with new rows, and wait for a fleet that is away\n"
    "  --from SEQ    send the rows from this one on once more\n"
    "  --create      make the schema exeat and its roles, as their owner\n"
    "  --schema      print it instead\n"
    "  --ask NAME    a question that has a name, asked of the whole fleet\n"
    "  --recall C    make the audit of this chain again from the fleet, to\n"
    "                verify it\n";

struct options {
	const char *to, *audit, *ask, *recall;
	int64_t from;
	bool follow, create, schema, json;
	struct query_value values[VALUES];
	size_t value_count;
};

static int
complain(const struct problem *problem)
{
	(void)fprintf(stderr, "exeat: %s\n", problem->text);
	if (problem->cure[0] != '\0')
		(void)fprintf(stderr, "       %s\n", problem->cure);
	return FAILED;
}

/* ---- options ---- */

static bool
take_from(struct options *options, const char *text)
{
	struct cursor from = cursor_of_text(text);
	uint64_t seq;

	if (!cursor_decimal(&from, INT64_MAX, &seq) ||
	    !cursor_is_empty(&from) || seq == 0)
		return false;
	options->from = (int64_t)seq;
	return true;
}

/* NAME=VALUE; what is a number is one. */
static bool
take_value(struct options *options, char *word)
{
	char *equals = strchr(word, '=');
	struct query_value *value = &options->values[options->value_count];
	struct cursor text;
	uint64_t number;

	if (equals == NULL || equals == word || options->value_count == VALUES)
		return false;
	*equals = '\0';
	*value = (struct query_value){ .name = word,
		.text = cursor_of_text(equals + 1) };
	text = value->text;
	if (cursor_decimal(&text, INT64_MAX, &number) &&
	    cursor_is_empty(&text)) {
		value->is_number = true;
		value->number = (int64_t)number;
	}
	options->value_count++;
	return true;
}

static bool
take(struct options *options, char **argv, int *at)
{
	const char *word = argv[*at], *next = argv[*at + 1];
	static const char *const flags[] = { "-f", "--create", "--schema",
		"--json" };
	bool *const switches[] = { &options->follow, &options->create,
		&options->schema, &options->json };
	static const char *const names[] = { "--to", "--audit", "--ask",
		"--recall" };
	const char **const texts[] = { &options->to, &options->audit,
		&options->ask, &options->recall };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (strcmp(word, flags[i]) == 0)
			return *switches[i] = true;
	if (word[0] != '-')
		return take_value(options, argv[*at]);
	if (next == NULL)
		return false;
	++*at;
	if (strcmp(word, "--from") == 0)
		return take_from(options, next);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(word, names[i]) == 0) {
			*texts[i] = next;
			return true;
		}
	return false;
}

/* ---- shipping ---- */

static void
on_batch(int64_t rows, int64_t last_seq, void *arg)
{
	int64_t *sum = arg;

	*sum += rows;
	if (isatty(STDERR_FILENO) == 1)
		(void)fprintf(stderr,
		    "\rexeat: %" PRId64 " rows, up to row %" PRId64, *sum,
		    last_seq);
}

/*
 * A fleet that is away is waited for, longer each time; without -f not for
 * ever.  What cannot work is told at once.
 */
static int
follow(const struct options *options)
{
	int64_t sum = 0;
	struct ship ship = { .audit = options->audit,
		.where = options->to,
		.from = options->from,
		.on_batch = on_batch,
		.arg = &sum };
	struct problem problem;
	int wait_ms = 500, tries = 0, status;

	for (;;) {
		status = ship_once(&ship, &problem);
		if (status == STATUS_OK) {
			ship.from = 0;
			tries = 0;
			wait_ms = 500;
			if (!options->follow)
				break;
			(void)poll(NULL, 0, FOLLOW_MS);
			continue;
		}
		if (status != STATUS_CLOSED ||
		    (!options->follow && ++tries == TRIES))
			return complain(&problem);
		(void)fprintf(
		    stderr, "exeat: %s; trying again\n", problem.text);
		(void)poll(NULL, 0, wait_ms);
		wait_ms = wait_ms * 2 < PATIENCE_MS ? wait_ms * 2 : PATIENCE_MS;
	}
	if (isatty(STDERR_FILENO) == 1)
		(void)fputs("\n", stderr);
	(void)printf("%" PRId64 " rows were sent\n", sum);
	return fflush(stdout) == 0 ? 0 : FAILED;
}

/* ---- asking ---- */

static void
on_columns(const struct query_cell *names, size_t count, void *arg)
{
	print_columns(arg, names, count);
}

static bool
on_row(const struct query_cell *cells, size_t count, void *arg)
{
	return print_row(arg, cells, count);
}

static void
add_number(struct options *options, const char *name, int64_t number)
{
	for (size_t i = 0; i < options->value_count; i++)
		if (strcmp(options->values[i].name, name) == 0)
			return;
	if (options->value_count < VALUES)
		options->values[options->value_count++] = (struct query_value){
			.name = name, .is_number = true, .number = number
		};
}

static int
ask(struct options *options)
{
	static struct question_text text;
	struct print *print =
	    print_new(stdout, options->json ? PRINT_JSON_LINES : PRINT_TABLE);
	struct query_reader reader = { on_columns, on_row, print };
	struct query_values values;
	struct problem problem;
	int status;

	if (!across_question(options->ask, &text)) {
		(void)fprintf(stderr,
		    "exeat: there is no question \"%.40s\"; exeat audit query "
		    "lists them\n",
		    options->ask);
		print_free(print);
		return FAILED;
	}
	if (strstr(text.question.sql, "export_cursor") != NULL) {
		(void)fputs(
		    "exeat: that is about one audit: ask it of that\n", stderr);
		print_free(print);
		return FAILED;
	}
	add_number(options, "t0", 0);
	add_number(options, "t1", clock_wall_us());
	add_number(options, "top", LIMIT_QUERY_ROWS);
	values = (struct query_values){ options->values, options->value_count };
	status = print == NULL ? STATUS_NO_MEMORY
			       : poll_fleet(options->to, text.question.sql,
				     &values, &reader, &problem);
	if (status != STATUS_OK)
		status = complain(&problem);
	else if (!print_end(print))
		status = FAILED;
	print_free(print);
	return status;
}

/* ---- the program ---- */

static int
run(struct options *options)
{
	struct problem problem = { 0 };
	int status;

	if (options->schema)
		return puts(ship_schema()) < 0 ? FAILED : 0;
	if (options->to == NULL) {
		(void)problem_set(&problem, "--to says where");
		return complain(&problem);
	}
	if (options->ask != NULL)
		return ask(options);
	if (options->create) {
		status = ship_create(options->to, &problem);
		return status == STATUS_OK ? 0 : complain(&problem);
	}
	if (options->audit == NULL) {
		(void)problem_set(&problem, "--audit says which");
		return complain(&problem);
	}
	if (options->recall == NULL)
		return follow(options);
	status = recall_audit(
	    options->to, options->recall, options->audit, &problem);
	return status == STATUS_OK ? 0 : complain(&problem);
}

int
main(int argc, char **argv)
{
	struct options options = { .to = NULL };

	for (int at = 1; at < argc; at++) {
		if (strcmp(argv[at], "--help") == 0 ||
		    strcmp(argv[at], "-h") == 0) {
			(void)fputs(usage, stdout);
			return 0;
		}
		if (!take(&options, argv, &at)) {
			(void)fputs(usage, stderr);
			return FAILED;
		}
	}
	return run(&options);
}
