#include "gateway/cli/cmd_audit.h"

#include "gateway/audit/across.h"
#include "gateway/audit/query.h"
#include "gateway/audit/report.h"
#include "gateway/audit/shelf.h"
#include "gateway/audit/summary.h"
#include "gateway/audit/timeline.h"
#include "gateway/cli/attest.h"
#include "gateway/cli/export.h"
#include "gateway/cli/inquiry.h"
#include "gateway/cli/page.h"
#include "gateway/cli/print.h"
#include "gateway/cli/reply.h"
#include "gateway/cli/shipping.h"
#include "gateway/cli/tail.h"
#include "gateway/cli/upkeep.h"
#include "gateway/proc/clock.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: exeat audit summary [RUN]          one screen of a run\n"
    "       exeat audit timeline [RUN]         all that a run did, in order\n"
    "       exeat audit report [RUN] --html F  a page about a run, or with\n"
    "                                          --since about all of them\n"
    "       exeat audit tail [-f] [-n N]       the last rows, and new ones\n"
    "       exeat audit show SEQ|REQUEST       one row or request, whole\n"
    "       exeat audit query                  the questions that have a "
    "name\n"
    "       exeat audit query NAME [K=V]...    one of them\n"
    "       exeat audit query SQL [K=V]...     your own, read-only\n"
    "       exeat audit verify                 whether all of it is as it was "
    "written\n"
    "       exeat audit checkpoint             the newest signed checkpoint\n"
    "       exeat audit prove SEQ              one row, for who has no "
    "database\n"
    "       exeat audit prove --from N [--to M]  that the checkpoint of N "
    "blocks\n"
    "                                          is the beginning of that of M\n"
    "       exeat audit ship --to WHERE        all rows to a fleet's "
    "PostgreSQL\n"
    "       exeat audit export [-f]            all rows, for other "
    "programs\n"
    "       exeat audit seal                   begin the next segment, seal "
    "this\n"
    "       exeat audit hold|release RUN       keep what prune would remove\n"
    "       exeat audit prune                  remove segments that are old\n"
    "\n"
    "  --audit DB     the database (default: exeat/audit.db in\n"
    "                 $XDG_STATE_HOME)\n"
    "  --json         for programs: a line a row; summary is one object\n"
    "  --since AGE    rows not older than 90s, 10m, 24h or 7d (query, "
    "export,\n"
    "                 report)\n"
    "  --html FILE    where to put a report; - is stdout\n"
    "  -f             wait for new rows, until interrupted (tail, export)\n"
    "  -n N           how many rows (tail; default 20)\n"
    "  --anchor FILE  checkpoints that were kept elsewhere (verify)\n"
    "  --format F     jsonl (default), csv, ocsf 1.8, ecs 9.5, or cef:\n"
    "                 alerts only (export)\n"
    "  --to SYSLOG    send cef to unix:/dev/log, udp:HOST:PORT or\n"
    "                 tcp:HOST:PORT (export)\n"
    "  --older-than AGE  segments whose newest row is older (prune)\n"
    "  --keep N       all but the newest N segments (prune)\n"
    "  --dry-run      only tell what would go (prune)\n"
    "  --key          print the key that checkpoints are signed with "
    "(verify)\n"
    "\n"
    "Without RUN it is the run that began last. The views for SQL\n"
    "are v_event, v_denied, v_open_intent and v_exec.\n"
    "\n"
    "  exeat audit query \"SELECT host, count(*) FROM v_denied GROUP BY "
    "host\"\n"
    "  exeat audit query q12 sbx=run-abc     all that one run did, in order\n"
    "  exeat audit tail -f --json | jq .host\n"
    "  exeat audit export -f --format cef --to unix:/dev/log\n"
    "\n"
    "  exeat audit checkpoint | ssh elsewhere \"cat >> anchor\"\n"
    "  exeat audit verify --anchor anchor\n"
    "\n"
    "Whoever can write the database and its key can write another history;\n"
    "checkpoints that were kept elsewhere show it.\n"
    "\n"
    "Exit status: 0 it was found or is intact, 1 it was not or is not, 125\n"
    "usage or failure.\n";

enum {
	REQUEST_DIGITS = 32
};

struct first {
	bool found;
	int64_t number;
	char text[LIMIT_RUN_UID + 1];
};

static bool
on_first(const struct query_cell *cells, size_t count, void *arg)
{
	struct first *first = arg;

	if (count == 0 || cells[0].type == QUERY_NULL)
		return false;
	first->found = cells[0].text.left < sizeof(first->text);
	first->number = cells[0].number;
	if (first->found && cells[0].text.left > 0)
		memcpy(first->text, cells[0].text.at, cells[0].text.left);
	return false;
}

/* The first value of an answer. */
static int
ask_first(struct query *query, const struct question *question,
    const struct inquiry *inquiry, struct first *ret, struct problem *reterr)
{
	struct first first = { .found = false };
	struct query_reader reader = { NULL, on_first, &first };
	struct query_values values = { inquiry->values, inquiry->value_count };
	bool cut;
	int status =
	    across_ask(query, question, &values, &reader, &cut, reterr);

	if (status == STATUS_OK)
		*ret = first;
	return status;
}

/* ---- summary ---- */

static bool
print_section(struct query *query, const struct summary_section *section,
    const struct inquiry *inquiry, struct problem *reterr)
{
	enum print_form form = inquiry->json	     ? PRINT_JSON_ARRAY
			       : section->is_one_row ? PRINT_RECORD
						     : PRINT_TABLE;
	struct print *print = print_new(stdout, form);
	bool well = print != NULL;

	if (inquiry->json)
		(void)printf("\"%s\":", section->name);
	well = well && reply_print(query, &section->question, inquiry, print,
			   reterr) == STATUS_OK;
	if (well && !inquiry->json && print_count(print) > 0 &&
	    section->title[0] != '\0')
		(void)printf("\n%s\n", section->title);
	well = well && print_end(print);
	print_free(print);
	return well;
}

static int
print_summary(struct query *query, const struct inquiry *inquiry)
{
	size_t count;
	const struct summary_section *sections = summary_sections(&count);
	struct problem problem = { .text = "cannot print" };

	if (inquiry->json)
		(void)fputs("{", stdout);
	for (size_t i = 0; i < count; i++) {
		if (inquiry->json && i > 0)
			(void)fputs(",", stdout);
		if (!print_section(query, &sections[i], inquiry, &problem))
			return reply_failed(&problem);
	}
	if (inquiry->json)
		(void)fputs("}\n", stdout);
	return fflush(stdout) == 0 ? COMMAND_OK : COMMAND_FAILED;
}

/* The run that is asked for, or the last one, as the value sbx. */
static int
find_run(struct query *query, struct inquiry *inquiry, struct first *first)
{
	struct problem problem;

	if (inquiry->word == NULL) {
		if (ask_first(query, &summary_last_run, inquiry, first,
			&problem) != STATUS_OK)
			return reply_failed(&problem);
		if (!first->found) {
			(void)fputs(
			    "exeat: there is no run in this audit\n", stderr);
			return COMMAND_NO;
		}
		inquiry_add_text(inquiry, "sbx", first->text);
		return COMMAND_OK;
	}
	inquiry_add_text(inquiry, "sbx", inquiry->word);
	if (ask_first(query, &summary_find_run, inquiry, first, &problem) !=
	    STATUS_OK)
		return reply_failed(&problem);
	if (first->number == 0) {
		(void)fprintf(stderr,
		    "exeat: there is no run \"%.80s\" in this audit\n",
		    inquiry->word);
		return COMMAND_NO;
	}
	return COMMAND_OK;
}

static int
run_summary(struct query *query, struct inquiry *inquiry)
{
	struct first first;
	int code = find_run(query, inquiry, &first);

	return code == COMMAND_OK ? print_summary(query, inquiry) : code;
}

/* ---- timeline ---- */

static int
run_timeline(struct query *query, struct inquiry *inquiry)
{
	struct first first;
	int code = find_run(query, inquiry, &first);

	if (code != COMMAND_OK)
		return code;
	return reply_question(query,
	    inquiry->json ? &timeline_rows : &timeline_lines, inquiry,
	    PRINT_LINES);
}

/* ---- report ---- */

/* Of one run, or of all since a time. */
static int
run_report(struct query *query, struct inquiry *inquiry)
{
	struct report report = { .run = "",
		.since_us = inquiry->since_us,
		.database = inquiry->database,
		.version = EXEAT_VERSION };
	struct first first;

	if (inquiry->html == NULL) {
		(void)fputs("exeat: report wants --html FILE\n", stderr);
		return COMMAND_FAILED;
	}
	if (inquiry->since_us == 0 || inquiry->word != NULL) {
		int code = find_run(query, inquiry, &first);

		if (code != COMMAND_OK)
			return code;
		report.run = inquiry->word != NULL ? inquiry->word : first.text;
	}
	return page_write(query, &report, inquiry->html);
}

/* ---- show ---- */

/* The row, what it belongs to, and what belongs to it. */
#define SHOW(events)                                                    \
	"SELECT v.*, (SELECT group_concat(seq, ' ') FROM " events       \
	" WHERE parent_seq = :seq AND seq > :seq) AS followed_by FROM " \
	"v_event v WHERE seq = :seq"
static const struct question show_row = { SHOW("event"), NULL, NULL };
static const char show_row_of_many[] = SHOW("v_event");
static const struct question show_request = {
	"SELECT * FROM v_event WHERE seq IN (SELECT seq FROM event WHERE hex("
	"req_id) = upper(:req)) ORDER BY seq",
	NULL, NULL
};

static int
run_show(struct query *query, struct inquiry *inquiry)
{
	struct cursor from =
	    cursor_of_text(inquiry->word == NULL ? "" : inquiry->word);
	uint64_t seq;
	int code;

	if (inquiry->word == NULL) {
		(void)fputs(usage, stderr);
		return COMMAND_FAILED;
	}
	if (strlen(inquiry->word) == REQUEST_DIGITS) {
		inquiry_add_text(inquiry, "req", inquiry->word);
		code =
		    reply_question(query, &show_request, inquiry, PRINT_RECORD);
	} else if (cursor_decimal(&from, INT64_MAX, &seq) &&
		   cursor_is_empty(&from)) {
		inquiry_add_number(inquiry, "seq", (int64_t)seq);
		code = query_shelf(query)->count > 1
			   ? reply_views(
				 query, show_row_of_many, inquiry, PRINT_RECORD)
			   : reply_question(
				 query, &show_row, inquiry, PRINT_RECORD);
	} else {
		(void)fprintf(stderr,
		    "exeat: \"%.80s\" is neither a row's number nor the %d "
		    "digits of a request\n",
		    inquiry->word, REQUEST_DIGITS);
		return COMMAND_FAILED;
	}
	if (code == COMMAND_NO)
		(void)fprintf(
		    stderr, "exeat: %s is not in this audit\n", inquiry->word);
	return code;
}

/* ---- query ---- */

static int
list_questions(bool json)
{
	const char *name, *title;

	/* Both are our own words, and need no escape. */
	for (size_t i = 0; query_list(i, &name, &title); i++)
		(void)printf(json ? "{\"name\": \"%s\", \"title\": \"%s\"}\n"
				  : "%s  %s\n",
		    name, title);
	return fflush(stdout) == 0 ? COMMAND_OK : COMMAND_FAILED;
}

/* One of the questions that are asked of what is known beyond segments. */
static int
ask_rollup(const struct query *query, const struct question *question,
    const struct inquiry *inquiry)
{
	char path[SHELF_PATH];
	struct query *rollup;
	struct problem problem;
	int code;

	if (shelf_beside(query_audit(query), "rollup", path, &problem) !=
		STATUS_OK ||
	    query_open_file(path, &rollup, &problem) != STATUS_OK)
		return reply_failed(&problem);
	code = reply_views(rollup, question->sql, inquiry, PRINT_TABLE);
	query_close(rollup);
	return code;
}

static int
run_query(struct query *query, struct inquiry *inquiry)
{
	struct question_text *text = calloc(1, sizeof(*text));
	int code;

	if (text == NULL)
		return COMMAND_FAILED;
	inquiry_add_number(inquiry, "t0", inquiry->since_us);
	inquiry_add_number(inquiry, "t1", clock_wall_us());
	if (!across_question(inquiry->word, text))
		code = reply_views(query, inquiry->word, inquiry, PRINT_TABLE);
	else if (text->of_rollup)
		code = ask_rollup(query, &text->question, inquiry);
	else
		code = reply_question(
		    query, &text->question, inquiry, PRINT_TABLE);
	free(text);
	/* An answer without rows is an answer. */
	return code == COMMAND_NO ? COMMAND_OK : code;
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int (*run)(struct query *query, struct inquiry *inquiry);
} subcommands[] = {
	{ "summary", run_summary },
	{ "timeline", run_timeline },
	{ "report", run_report },
	{ "tail", tail_run },
	{ "show", run_show },
	{ "query", run_query },
	{ "verify", attest_verify },
	{ "checkpoint", attest_checkpoint },
	{ "prove", attest_prove },
	{ "export", export_rows },
};

/* What is asked of the writer. */
static const struct {
	const char *name;
	int (*run)(struct inquiry *inquiry);
} chores[] = {
	{ "seal", upkeep_seal },
	{ "hold", upkeep_hold },
	{ "release", upkeep_release },
	{ "prune", upkeep_prune },
};

static int
run_chore(size_t which, int argc, char **argv)
{
	struct inquiry inquiry;
	struct problem problem;

	if (inquiry_read(&inquiry, argc, argv, &problem) != STATUS_OK)
		return reply_failed(&problem);
	if (inquiry.help) {
		(void)fputs(usage, stdout);
		return COMMAND_OK;
	}
	return chores[which].run(&inquiry);
}

static int
run_on_database(int (*work)(struct query *query, struct inquiry *inquiry),
    struct inquiry *inquiry)
{
	struct problem problem;
	struct query *query;
	int code;

	if (query_open(inquiry->database, &query, &problem) != STATUS_OK)
		return reply_failed(&problem);
	code = work(query, inquiry);
	query_close(query);
	return code;
}

static int
run_subcommand(size_t which, int argc, char **argv)
{
	struct inquiry inquiry;
	struct problem problem;

	if (inquiry_read(&inquiry, argc, argv, &problem) != STATUS_OK)
		return reply_failed(&problem);
	if (inquiry.help) {
		(void)fputs(usage, stdout);
		return COMMAND_OK;
	}
	if (subcommands[which].run == run_query && inquiry.word == NULL)
		return list_questions(inquiry.json);
	return run_on_database(subcommands[which].run, &inquiry);
}

static int
run(int argc, char **argv)
{
	if (argc < 2) {
		(void)fputs(usage, stderr);
		return COMMAND_FAILED;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		(void)fputs(usage, stdout);
		return COMMAND_OK;
	}
	if (strcmp(argv[1], "ship") == 0)
		return shipping_run(argc - 1, argv + 1);
	for (size_t i = 0; i < sizeof(subcommands) / sizeof(subcommands[0]);
	     i++)
		if (strcmp(argv[1], subcommands[i].name) == 0)
			return run_subcommand(i, argc - 1, argv + 1);
	for (size_t i = 0; i < sizeof(chores) / sizeof(chores[0]); i++)
		if (strcmp(argv[1], chores[i].name) == 0)
			return run_chore(i, argc - 1, argv + 1);
	(void)fprintf(stderr,
	    "exeat: audit has no \"%.40s\"; see exeat audit --help\n", argv[1]);
	return COMMAND_FAILED;
}

const struct command cmd_audit = {
	.name = "audit",
	.summary = "what was written down: summary, tail, show, query, verify",
	.usage = usage,
	.run = run,
};
