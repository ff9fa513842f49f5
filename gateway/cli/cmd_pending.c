#include "gateway/cli/cmd_pending.h"

#include "gateway/audit/query.h"
#include "gateway/cli/print.h"
#include "gateway/cli/prompt.h"
#include "gateway/cli/settings.h"
#include "gateway/cli/visit.h"
#include "gateway/proc/rundir.h"
#include "schema/approval.h"
#include "schema/status.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char pending_usage[] =
    "usage: exeat pending [--json]\n"
    "\n"
    "Lists what the sandboxes of this account ask for and nobody has\n"
    "answered: requests that a rule with \"action\": \"ask\" holds back.\n"
    "\n"
    "Exit code: 0 when there is a question, 1 when there is none.\n";

static const char approve_usage[] =
    "usage: exeat approve [--for TIME] [--uses N] [--run RUN] ID\n"
    "\n"
    "Lets through what the question ID asks for, and nothing else.\n"
    "\n"
    "  --for TIME   for so long: 90s, 15m, 2h; at most what the rule gives\n"
    "  --uses N     so many requests; at most what the rule gives\n"
    "  --run RUN    of this run, when two runs have a question of that name\n";

static const char refuse_usage[] =
    "usage: exeat refuse [--run RUN] ID\n"
    "\n"
    "Refuses what the question ID asks for, until another yes could have\n"
    "run out.\n";

/* One question, and which run asks it. */
struct found {
	char run[LIMIT_RUN_UID + 1];
	struct approval_question question;
};

struct search {
	const struct settings *settings;
	const char *id, *run; /* NULL: any */
	char asked[LIMIT_RUN_UID + 1]; /* the run that is asked now */
	void (*on_found)(const struct found *found, void *arg);
	void *arg;
};

static void
complain(const char *command, const struct problem *problem)
{
	(void)fprintf(stderr, "exeat %s: %s%s%s\n", command, problem->text,
	    problem->cure[0] == '\0' ? "" : "; ", problem->cure);
}

static void
on_frame(const struct frame *frame, void *arg)
{
	struct search *search = arg;
	struct found found;

	if (frame->type != FRAME_DESK_QUESTION ||
	    approval_question_read(frame->body, &found.question) != STATUS_OK)
		return;
	if (search->id != NULL && strcmp(search->id, found.question.id) != 0)
		return;
	memcpy(found.run, search->asked, sizeof(found.run));
	search->on_found(&found, search->arg);
}

/* A run that ends meanwhile asks nothing any more. */
static void
on_run(const char *run, void *arg)
{
	struct search *search = arg;
	unsigned char packet[16];
	struct cursor_writer out =
	    frame_begin(FRAME_DESK_LIST, packet, sizeof(packet));
	struct visit visit = { .fd = -1 };
	struct problem problem;

	if (search->run != NULL && strcmp(search->run, run) != 0)
		return;
	memcpy(search->asked, run, strlen(run) + 1);
	if (visit_open(&visit, search->settings, run, &problem) == STATUS_OK)
		(void)!visit_ask(&visit, &out, on_frame, search, &problem);
	visit_done(&visit);
}

/* ---- the names of runs, which are asked once their list is whole ---- */

struct names {
	char (*list)[LIMIT_RUN_UID + 1];
	size_t count, room;
};

static void
on_name(const char *run, void *arg)
{
	struct names *names = arg;

	if (names->count == names->room) {
		size_t room = names->room * 2 + 16;
		void *list =
		    reallocarray(names->list, room, sizeof(*names->list));

		if (list == NULL)
			return;
		names->list = list;
		names->room = room;
	}
	memcpy(names->list[names->count++], run, strlen(run) + 1);
}

/* Asking holds no lock: runs may come and go meanwhile. */
static int
search_runs(struct search *search, struct problem *reterr)
{
	struct names names = { .count = 0 };
	int status =
	    rundir_each(search->settings->runs, on_name, &names, reterr);

	for (size_t i = 0; status == STATUS_OK && i < names.count; i++)
		on_run(names.list[i], search);
	free(names.list);
	return status;
}

/* ---- pending ---- */

static struct query_cell
text_cell(const char *text)
{
	return (struct query_cell){ .type = QUERY_TEXT,
		.text = cursor_of_text(text) };
}

static struct query_cell
number_cell(int64_t number)
{
	return (struct query_cell){ .type = QUERY_INTEGER, .number = number };
}

static void
print_found(const struct found *found, void *arg)
{
	char request[PROMPT_LINE_MAX], asker[PROMPT_LINE_MAX];
	char words[PROMPT_LINE_MAX];
	const struct approval_question *question = &found->question;
	struct query_cell cells[] = {
		text_cell(question->id),
		text_cell(found->run),
		text_cell(""),
		text_cell(""),
		text_cell(question->rule),
		number_cell(question->timeout_s),
		number_cell(question->grant_s),
		number_cell(question->grant_uses),
		text_cell(""),
	};

	prompt_print_request(question, request);
	prompt_print_asker(question, asker);
	prompt_print_words(question, words);
	cells[2] = text_cell(request);
	cells[3] = text_cell(asker);
	cells[8] = text_cell(words);
	(void)print_row(arg, cells, sizeof(cells) / sizeof(cells[0]));
}

static int
print_pending(const struct settings *settings, bool json)
{
	const struct query_cell names[] = { text_cell("id"), text_cell("run"),
		text_cell("request"), text_cell("program"), text_cell("rule"),
		text_cell("left_s"), text_cell("grant_s"),
		text_cell("grant_uses"), text_cell("its_words") };
	struct print *print =
	    print_new(stdout, json ? PRINT_JSON_LINES : PRINT_TABLE);
	struct search search = {
		.settings = settings, .on_found = print_found, .arg = print
	};
	struct problem problem = { .text = "" };
	int code = COMMAND_FAILED;

	if (print == NULL)
		return COMMAND_FAILED;
	print_columns(print, names, sizeof(names) / sizeof(names[0]));
	if (search_runs(&search, &problem) != STATUS_OK)
		complain("pending", &problem);
	else if (print_end(print))
		code = print_count(print) > 0 ? COMMAND_OK : COMMAND_NO;
	print_free(print);
	return code;
}

/* ---- options ---- */

struct options {
	bool json, help;
	const char *run, *id;
	uint32_t grant_s, grant_uses; /* 0: not said */
};

static const struct option all_options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "json", no_argument, NULL, 'j' },
	{ "for", required_argument, NULL, 'f' },
	{ "uses", required_argument, NULL, 'u' },
	{ "run", required_argument, NULL, 'r' },
	{ NULL, 0, NULL, 0 },
};

/* "90", "90s", "15m", "2h". */
static bool
read_time(const char *text, uint32_t *ret)
{
	static const struct {
		const char *unit;
		uint32_t seconds;
	} units[] = { { "", 1 }, { "s", 1 }, { "m", 60 }, { "h", 3600 } };
	struct cursor rest = cursor_of_text(text);
	uint64_t number;

	if (!cursor_decimal(&rest, LIMIT_ASK_S, &number) || number == 0)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		uint64_t seconds = number * units[i].seconds;

		if (!cursor_equals(rest, units[i].unit))
			continue;
		if (seconds > LIMIT_ASK_S)
			return false;
		*ret = (uint32_t)seconds;
		return true;
	}
	return false;
}

static bool
read_uses(const char *text, uint32_t *ret)
{
	struct cursor rest = cursor_of_text(text);
	uint64_t number;

	if (!cursor_decimal(&rest, LIMIT_ASK_USES, &number) || number == 0 ||
	    !cursor_is_empty(&rest))
		return false;
	*ret = (uint32_t)number;
	return true;
}

static bool
take_option(int option, struct options *options)
{
	switch (option) {
	case 'h':
		options->help = true;
		return true;
	case 'j':
		options->json = true;
		return true;
	case 'f':
		return read_time(optarg, &options->grant_s);
	case 'u':
		return read_uses(optarg, &options->grant_uses);
	case 'r':
		options->run = optarg;
		return true;
	default:
		return false;
	}
}

/* allowed are the letters of the options that this command has. */
static bool
read_options(int argc, char **argv, const char *allowed, struct options *ret)
{
	int option;

	*ret = (struct options){ .json = false };
	optind = 1;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	while ((option = getopt_long(argc, argv, "h", all_options, NULL)) >= 0)
		if (strchr(allowed, option) == NULL ||
		    !take_option(option, ret))
			return false;
	if (optind < argc)
		ret->id = argv[optind++];
	return optind == argc;
}

static int
usage_error(const char *usage)
{
	(void)fputs(usage, stderr);
	return COMMAND_FAILED;
}

static int
run_pending(int argc, char **argv)
{
	struct options options;
	struct settings settings;
	struct problem problem;

	if (!read_options(argc, argv, "hj", &options) || options.id != NULL)
		return usage_error(pending_usage);
	if (options.help) {
		(void)fputs(pending_usage, stdout);
		return COMMAND_OK;
	}
	if (settings_read(&settings, &problem) != STATUS_OK) {
		complain("pending", &problem);
		return COMMAND_FAILED;
	}
	return print_pending(&settings, options.json);
}

/* ---- approve, refuse ---- */

struct match {
	struct found found;
	size_t count;
};

static void
keep_found(const struct found *found, void *arg)
{
	struct match *match = arg;

	match->found = *found;
	match->count++;
}

static int
find_question(const struct settings *settings, const struct options *options,
    struct found *ret, struct problem *reterr)
{
	struct match match = { .count = 0 };
	struct search search = { .settings = settings,
		.id = options->id,
		.run = options->run,
		.on_found = keep_found,
		.arg = &match };
	int status = search_runs(&search, reterr);

	if (status != STATUS_OK)
		return status;
	if (match.count == 0) {
		(void)problem_set(
		    reterr, "no question %.40s is open", options->id);
		return problem_cure(reterr, "exeat pending lists those that "
					    "are");
	}
	if (match.count > 1) {
		(void)problem_set(
		    reterr, "two runs have a question %.40s", options->id);
		return problem_cure(reterr, "say which: --run RUN");
	}
	*ret = match.found;
	return STATUS_OK;
}

static int
send_answer(const struct settings *settings, const char *run,
    const struct approval_answer *answer, struct problem *reterr)
{
	unsigned char packet[512];
	struct cursor_writer out =
	    frame_begin(FRAME_DESK_ANSWER, packet, sizeof(packet));
	struct visit visit = { .fd = -1 };
	int status = visit_open(&visit, settings, run, reterr);

	approval_answer_write(answer, &out);
	if (status == STATUS_OK)
		status = visit_ask(&visit, &out, NULL, NULL, reterr);
	visit_done(&visit);
	return status;
}

static int
answer(const struct options *options, bool yes, struct problem *reterr)
{
	struct settings settings;
	struct found found;
	struct approval_answer said = { .yes = yes,
		.grant_s = options->grant_s,
		.grant_uses = options->grant_uses };
	char request[PROMPT_LINE_MAX];
	int status = settings_read(&settings, reterr);

	if (status == STATUS_OK)
		status = find_question(&settings, options, &found, reterr);
	if (status != STATUS_OK)
		return status;
	memcpy(said.id, found.question.id, sizeof(said.id));
	status = send_answer(&settings, found.run, &said, reterr);
	if (status != STATUS_OK)
		return status;
	prompt_print_request(&found.question, request);
	(void)printf("%s %s of %s: %s\n", yes ? "approved" : "refused",
	    found.question.id, found.run, request);
	return STATUS_OK;
}

static int
run_answer(int argc, char **argv, bool yes)
{
	const char *usage = yes ? approve_usage : refuse_usage;
	struct options options;
	struct problem problem = { .text = "" };

	if (!read_options(argc, argv, yes ? "hfur" : "hr", &options))
		return usage_error(usage);
	if (options.help) {
		(void)fputs(usage, stdout);
		return COMMAND_OK;
	}
	if (options.id == NULL)
		return usage_error(usage);
	if (answer(&options, yes, &problem) == STATUS_OK)
		return COMMAND_OK;
	complain(yes ? "approve" : "refuse", &problem);
	return COMMAND_NO;
}

static int
run_approve(int argc, char **argv)
{
	return run_answer(argc, argv, true);
}

static int
run_refuse(int argc, char **argv)
{
	return run_answer(argc, argv, false);
}

const struct command cmd_pending = {
	.name = "pending",
	.summary = "what sandboxes ask a person for",
	.usage = pending_usage,
	.run = run_pending,
};

const struct command cmd_approve = {
	.name = "approve",
	.summary = "let through what one question asks for",
	.usage = approve_usage,
	.run = run_approve,
};

const struct command cmd_refuse = {
	.name = "refuse",
	.summary = "refuse what one question asks for",
	.usage = refuse_usage,
	.run = run_refuse,
};
