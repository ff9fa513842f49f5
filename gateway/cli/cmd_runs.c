#include "gateway/cli/cmd_runs.h"

#include "gateway/cli/print.h"
#include "gateway/cli/send_in.h"
#include "gateway/cli/settings.h"
#include "gateway/cli/visit.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/log.h"
#include "gateway/proc/rundir.h"
#include "schema/status.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US_A_SECOND INT64_C(1000000)
#define PS_WIDTH 60 /* of a command line, in a table */

static const char ps_usage[] =
    "usage: exeat ps [--json]\n"
    "\n"
    "Lists the runs of this account that are under way: since when, whether\n"
    "they run or are paused, and what.\n";

static const char exec_usage[] =
    "usage: exeat exec [--cwd DIR] RUN [--] COMMAND [ARGUMENTS...]\n"
    "\n"
    "Runs COMMAND in the sandbox of RUN, beside what runs there: with the\n"
    "same files, network, policy and limits.  On a terminal it gets one of\n"
    "its own.  It ends with the run, and with this command.\n"
    "\n"
    "  exeat ps                     which runs there are\n"
    "  exeat exec RUN -- bash       look around in one\n"
    "\n"
    "Exit code: COMMAND's own, 128+N when signal N ended it, 126 not\n"
    "executable, 127 not found, 125 a failure of exeat itself.\n";

static const char stop_usage[] =
    "usage: exeat stop RUN\n"
    "\n"
    "Ends RUN: its command gets a SIGTERM, and after the grace that the run\n"
    "was started with everything in the sandbox is killed.\n";

static const char pause_usage[] =
    "usage: exeat pause RUN\n"
    "\n"
    "Lets everything in the sandbox of RUN stand still until exeat resume.\n"
    "Its time limit stands still too.\n";

static const char resume_usage[] = "usage: exeat resume RUN\n"
				   "\n"
				   "Lets a paused RUN go on.\n";

/* By the log, which escapes: some of the words are a sandbox's. */
static void
complain(const struct problem *problem)
{
	log_error("%s%s%s", problem->text, problem->cure[0] == '\0' ? "" : "; ",
	    problem->cure);
}

static bool
wants_help(int argc, char **argv)
{
	return argc > 1 &&
	       (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
}

/* ---- ps ---- */

struct listing {
	struct settings settings;
	char (*names)[LIMIT_RUN_UID + 1];
	size_t count;
	json_t *runs;
};

static void
on_name(const char *run, void *arg)
{
	struct listing *listing = arg;
	void *names = reallocarray(
	    listing->names, listing->count + 1, sizeof(*listing->names));

	if (names == NULL)
		return;
	listing->names = names;
	memcpy(listing->names[listing->count++], run, strlen(run) + 1);
}

static void
on_told(const struct frame *frame, void *arg)
{
	struct listing *listing = arg;
	struct cursor body = frame->body, text;

	if (frame->type == FRAME_DESK_TOLD && cursor_block(&body, &text))
		(void)json_array_append_new(
		    listing->runs, json_loadb((const char *)text.at, text.left,
				       JSON_REJECT_DUPLICATES, NULL));
}

/* One that ends meanwhile is not under way any more. */
static void
ask(struct listing *listing, const char *run)
{
	unsigned char packet[8];
	struct cursor_writer out =
	    frame_begin(FRAME_DESK_INFO, packet, sizeof(packet));
	struct visit visit = { .fd = -1 };
	struct problem problem;

	if (visit_open(&visit, &listing->settings, run, &problem) == STATUS_OK)
		(void)!visit_ask(&visit, &out, on_told, listing, &problem);
	visit_done(&visit);
}

/* The words of a command with blanks between them, as much as fits. */
static void
print_command(json_t *words)
{
	char text[PS_WIDTH + 1];
	struct cursor_writer out = cursor_writer_of(text, PS_WIDTH);
	json_t *word;
	size_t i;

	json_array_foreach(words, i, word)
	{
		if (i > 0)
			cursor_put_u8(&out, ' ');
		for (const char *at = json_string_value(word);
		     at != NULL && *at != '\0'; at++)
			cursor_put_u8(
			    &out, (unsigned char)*at < ' ' || *at == 0x7f
				      ? '?'
				      : (uint8_t)*at);
	}
	text[out.used] = '\0';
	(void)printf("%s%s\n", text, out.overflow ? "..." : "");
}

static void
print_runs(const struct listing *listing)
{
	int64_t now = clock_wall_us();
	json_t *run;
	size_t i;

	if (json_array_size(listing->runs) > 0)
		(void)printf("%-20s %-8s %10s  %s\n", "RUN", "STATE", "SECONDS",
		    "COMMAND");
	json_array_foreach(listing->runs, i, run)
	{
		const char *name =
		    json_string_value(json_object_get(run, "run"));
		const char *state =
		    json_string_value(json_object_get(run, "state"));
		int64_t started =
		    json_integer_value(json_object_get(run, "started_us"));

		(void)printf("%-20s %-8s %10lld  ", name == NULL ? "" : name,
		    state == NULL ? "" : state,
		    (long long)((now - started) / US_A_SECOND));
		print_command(json_object_get(run, "command"));
	}
}

static int
list_runs(struct listing *listing, bool as_json)
{
	struct problem problem;
	char *text;

	if (settings_read(&listing->settings, &problem) != STATUS_OK ||
	    rundir_each(listing->settings.runs, on_name, listing, &problem) !=
		STATUS_OK) {
		complain(&problem);
		return COMMAND_FAILED;
	}
	listing->runs = json_array();
	for (size_t i = 0; i < listing->count; i++)
		ask(listing, listing->names[i]);
	if (!as_json) {
		print_runs(listing);
		return COMMAND_OK;
	}
	text = json_dumps(listing->runs, JSON_INDENT(2));
	if (text == NULL)
		return COMMAND_FAILED;
	(void)puts(text);
	free(text);
	return COMMAND_OK;
}

static int
run_ps(int argc, char **argv)
{
	struct listing listing = { .count = 0 };
	bool as_json = argc == 2 && strcmp(argv[1], "--json") == 0;
	int code;

	if (wants_help(argc, argv)) {
		(void)fputs(ps_usage, stdout);
		return COMMAND_OK;
	}
	if (argc > 1 && !as_json) {
		(void)fputs(ps_usage, stderr);
		return COMMAND_FAILED;
	}
	code = list_runs(&listing, as_json);
	json_decref(listing.runs);
	free(listing.names);
	return code;
}

/* ---- stop, pause, resume ---- */

static int
tell_run(int argc, char **argv, uint16_t type, const char *usage)
{
	unsigned char packet[8];
	struct cursor_writer out = frame_begin(type, packet, sizeof(packet));
	struct visit visit = { .fd = -1 };
	struct settings settings;
	struct problem problem;
	int status;

	if (wants_help(argc, argv)) {
		(void)fputs(usage, stdout);
		return COMMAND_OK;
	}
	if (argc != 2 || argv[1][0] == '-') {
		(void)fputs(usage, stderr);
		return COMMAND_FAILED;
	}
	status = settings_read(&settings, &problem);
	if (status == STATUS_OK)
		status = visit_open(&visit, &settings, argv[1], &problem);
	if (status == STATUS_OK)
		status = visit_ask(&visit, &out, NULL, NULL, &problem);
	visit_done(&visit);
	if (status == STATUS_OK)
		return COMMAND_OK;
	complain(&problem);
	return COMMAND_FAILED;
}

static int
run_stop(int argc, char **argv)
{
	return tell_run(argc, argv, FRAME_DESK_STOP, stop_usage);
}

static int
run_pause(int argc, char **argv)
{
	return tell_run(argc, argv, FRAME_DESK_PAUSE, pause_usage);
}

static int
run_resume(int argc, char **argv)
{
	return tell_run(argc, argv, FRAME_DESK_RESUME, resume_usage);
}

/* ---- exec ---- */

static int
run_exec(int argc, char **argv)
{
	struct send_in order = { .cwd = "" };
	struct settings settings;
	struct problem problem;
	unsigned code;
	int at = 1;

	if (wants_help(argc, argv)) {
		(void)fputs(exec_usage, stdout);
		return COMMAND_OK;
	}
	if (at + 1 < argc && strcmp(argv[at], "--cwd") == 0) {
		order.cwd = argv[at + 1];
		at += 2;
	}
	order.run = at < argc ? argv[at++] : NULL;
	if (at < argc && strcmp(argv[at], "--") == 0)
		at++;
	order.argv = argv + at;
	if (order.run == NULL || order.run[0] == '-' || at >= argc) {
		(void)fputs(exec_usage, stderr);
		return COMMAND_FAILED;
	}
	if (settings_read(&settings, &problem) == STATUS_OK &&
	    send_in(&order, &settings, &code, &problem) == STATUS_OK)
		return (int)code;
	complain(&problem);
	return COMMAND_FAILED;
}

const struct command cmd_ps = {
	.name = "ps",
	.summary = "the runs under way",
	.usage = ps_usage,
	.run = run_ps,
};

const struct command cmd_exec = {
	.name = "exec",
	.summary = "another command into a run",
	.usage = exec_usage,
	.run = run_exec,
};

const struct command cmd_stop = {
	.name = "stop",
	.summary = "end a run",
	.usage = stop_usage,
	.run = run_stop,
};

const struct command cmd_pause = {
	.name = "pause",
	.summary = "let a run stand still",
	.usage = pause_usage,
	.run = run_pause,
};

const struct command cmd_resume = {
	.name = "resume",
	.summary = "let it go on",
	.usage = resume_usage,
	.run = run_resume,
};
