#include "gateway/cli/cmd_files.h"

#include "gateway/cli/difference.h"
#include "gateway/cli/settings.h"
#include "gateway/cli/showing.h"
#include "gateway/files/apply.h"
#include "gateway/files/box.h"
#include "gateway/files/changes.h"
#include "gateway/files/snapshot.h"
#include "gateway/files/stack.h"
#include "gateway/proc/log.h"
#include "schema/json.h"
#include "schema/status.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char diff_usage[] =
    "usage: exeat diff [--list | --json] [--large] [RUN [PATH...]]\n"
    "\n"
    "Shows what a run changed in its workspace and what was not applied yet:\n"
    "the run wrote into a layer of its own, and at its end only what is safe\n"
    "is put into the workspace.  Without RUN: which runs hold something.\n"
    "\n"
    "  --list   one line a change: class, kind, path, why it is held\n"
    "  --json   the same for programs\n"
    "  --large  also more than 100,000 changes, or 1 GiB\n"
    "\n"
    "Classes: safe; review, what programs outside would execute or obey, what\n"
    "has a secret's name, a link out of the workspace; conflict, what has\n"
    "changed in the workspace since the run began; dropped, pipes, sockets\n"
    "and devices.\n"
    "\n"
    "  exeat diff run-7t3duapxmeha src/\n"
    "  exeat diff run-7t3duapxmeha > all.patch\n";

static const char apply_usage[] =
    "usage: exeat apply [--yes] [--review] [--overwrite] [--large] RUN "
    "[PATH...]\n"
    "\n"
    "Puts what a run changed into its workspace.  Without --yes it only says\n"
    "what it would do.\n"
    "\n"
    "  --yes        do it\n"
    "  --review     also what is held for a person: look at it first, with\n"
    "               exeat diff RUN\n"
    "  --overwrite  also where the workspace has changed meanwhile\n"
    "  --large      also more than 100,000 changes, or 1 GiB\n"
    "\n"
    "A run that has nothing left is forgotten.  Code 1: something was held.\n"
    "\n"
    "  exeat apply run-7t3duapxmeha --review --yes .vscode/settings.json\n";

static const char discard_usage[] =
    "usage: exeat discard RUN...\n"
    "\n"
    "Throws away what runs wrote and what was not applied.\n";

static const char snapshot_usage[] =
    "usage: exeat snapshot RUN NAME\n"
    "\n"
    "Seals what a run wrote and what is still held of it under a name; at\n"
    "once, whatever its size.  exeat run --from NAME begins there, as often\n"
    "as you like, and no run sees what another one wrote over it.  A run of\n"
    "which nothing is held has none to give: exeat run --snapshot NAME takes\n"
    "it at the end.\n";

static int
complain(const struct problem *problem)
{
	log_error("%s%s%s", problem->text, problem->cure[0] == '\0' ? "" : "; ",
	    problem->cure);
	return COMMAND_FAILED;
}

struct options {
	bool list, json, yes, help;
	struct apply_wish apply;
	struct changes_wish changes;
	const char *run;
};

/* ---- options ---- */

static bool
take_option(struct options *options, int option)
{
	switch (option) {
	case 'l':
		options->list = true;
		return true;
	case 'j':
		options->json = true;
		return true;
	case 'y':
		options->yes = true;
		return true;
	case 'r':
		options->apply.review = true;
		return true;
	case 'o':
		options->apply.overwrite = true;
		return true;
	case 'L':
		options->changes.large = true;
		return true;
	case 'h':
		options->help = true;
		return true;
	default:
		return false;
	}
}

/* As it is written in the list of changes: no slash behind, none before. */
static bool
make_plain(char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
	return length > 0 && path[0] != '/' && strcmp(path, ".") != 0 &&
	       strncmp(path, "./", 2) != 0 && strstr(path, "..") == NULL;
}

/* allowed: the letters of this command's options. */
static bool
read_options(int argc, char **argv, const char *allowed, struct options *ret)
{
	static const struct option words[] = {
		{ "list", no_argument, NULL, 'l' },
		{ "json", no_argument, NULL, 'j' },
		{ "yes", no_argument, NULL, 'y' },
		{ "review", no_argument, NULL, 'r' },
		{ "overwrite", no_argument, NULL, 'o' },
		{ "large", no_argument, NULL, 'L' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	*ret = (struct options){ .run = NULL };
	opterr = 0;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	while ((option = getopt_long(argc, argv, "h", words, NULL)) != -1)
		if (strchr(allowed, option) == NULL ||
		    !take_option(ret, option))
			return false;
	if (optind < argc)
		ret->run = argv[optind++];
	ret->changes.only = (const char *const *)(argv + optind);
	ret->changes.only_count = (size_t)(argc - optind);
	for (int i = optind; i < argc; i++)
		if (!make_plain(argv[i]))
			return false;
	return true;
}

static int
usage_error(const char *usage)
{
	(void)fputs(usage, stderr);
	return COMMAND_FAILED;
}

/* ---- one run, held and read ---- */

struct reading {
	struct box box;
	struct stack stack;
	struct changes changes;
};

static void
reading_done(struct reading *reading)
{
	changes_done(&reading->changes);
	stack_done(&reading->stack);
	box_done(&reading->box);
}

static int
open_box(const char *run, struct box *ret, struct problem *reterr)
{
	struct settings settings;
	int status = settings_read(&settings, reterr);

	if (status == STATUS_OK)
		status = box_open(settings.files, run, ret, reterr);
	if (status == STATUS_OK) {
		status = snapshot_finish(ret, reterr);
		if (status != STATUS_OK)
			box_done(ret);
	}
	if (status == STATUS_NOT_FOUND) {
		(void)problem_set(
		    reterr, "no run %.80s has files of its own", run);
		return problem_cure(reterr,
		    "exeat diff lists those that have; what was applied "
		    "wholly is forgotten");
	}
	if (status == STATUS_AGAIN) {
		(void)problem_set(reterr, "%.80s is still going on", run);
		return problem_cure(reterr, "wait for its end");
	}
	return status;
}

static int
reading_make(
    const struct options *options, struct reading *ret, struct problem *reterr)
{
	int status;

	*ret = (struct reading){ .box = { .folder = -1, .lock = -1 },
		.stack = { .base = -1 } };
	status = open_box(options->run, &ret->box, reterr);
	if (status == STATUS_OK)
		status = stack_open(&ret->box, &ret->stack, reterr);
	if (status == STATUS_OK)
		status = changes_collect(
		    &ret->stack, &options->changes, &ret->changes, reterr);
	if (status != STATUS_OK)
		reading_done(ret);
	return status;
}

/* ---- diff ---- */

static void
print_box(const struct manifest *manifest, bool busy, void *arg)
{
	(void)arg;
	(void)printf("%s  %-7s  ", manifest->name, busy ? "running" : "held");
	showing_path(stdout, manifest->workspace);
	(void)printf("\n");
}

static int
print_boxes(void)
{
	struct settings settings;
	struct problem problem;

	if (settings_read(&settings, &problem) != STATUS_OK ||
	    box_each(settings.files, print_box, NULL, &problem) != STATUS_OK)
		return complain(&problem);
	return COMMAND_OK;
}

static int
run_diff(int argc, char **argv)
{
	struct options options;
	struct reading reading;
	struct problem problem = { .text = "" };
	int status = STATUS_OK;

	if (!read_options(argc, argv, "ljLh", &options) ||
	    (options.list && options.json))
		return usage_error(diff_usage);
	if (options.help) {
		(void)fputs(diff_usage, stdout);
		return COMMAND_OK;
	}
	if (options.run == NULL)
		return print_boxes();
	if (reading_make(&options, &reading, &problem) != STATUS_OK)
		return complain(&problem);
	if (options.json)
		status = difference_json(&reading.changes);
	else if (options.list)
		difference_list(stdout, &reading.changes);
	else
		status =
		    difference_print(stdout, &reading.stack, &reading.changes);
	if (reading.changes.cut)
		log_warning("there is more: name PATHs, or use --large");
	reading_done(&reading);
	if (status == STATUS_OK)
		return COMMAND_OK;
	(void)problem_set(&problem, "there is no memory");
	return complain(&problem);
}

/* ---- apply ---- */

static void
on_held(const struct change *change, const char *why, void *arg)
{
	(void)arg;
	(void)printf("held      %-7s  ", change_kind_name(change->kind));
	showing_path(stdout, change->path);
	(void)printf(
	    "  %s\n", why != NULL ? why : change_reason_words(change->reason));
}

/* What is done in a dry run is named, each by itself. */
static void
print_plan(const struct options *options, const struct changes *changes)
{
	for (size_t i = 0; i < changes->count; i++) {
		const struct change *change = &changes->list[i];

		if (!apply_wants(&options->apply, change))
			continue;
		(void)printf(
		    "to apply  %-7s  ", change_kind_name(change->kind));
		showing_path(stdout, change->path);
		(void)printf("\n");
	}
}

static void
print_counts(const struct options *options, const struct apply_counts *counts)
{
	(void)printf("%" PRIu64 " %s, %" PRIu64 " held", counts->applied,
	    options->yes ? "applied" : "to apply",
	    counts->held + counts->failed);
	if (counts->dropped > 0)
		(void)printf(", %" PRIu64 " dropped", counts->dropped);
	(void)printf("%s\n", options->yes || counts->applied == 0
				 ? ""
				 : "; nothing was changed, add --yes to do it");
}

/* Whether the run has nothing more to give. */
static bool
is_empty(const struct reading *reading)
{
	const struct changes_wish all = { .large = true };
	struct changes left = { .list = NULL };
	bool empty =
	    changes_collect(&reading->stack, &all, &left, NULL) == STATUS_OK &&
	    changes_count(&left, CHANGE_DROPPED) == left.count;

	changes_done(&left);
	return empty;
}

static int
apply(struct options *options, struct reading *reading, struct problem *reterr)
{
	struct apply_counts counts = { 0 };

	if (reading->changes.cut) {
		(void)problem_set(reterr,
		    "the run changed more than %d files, or more than 1 GiB",
		    LIMIT_CHANGES);
		(void)problem_cure(reterr, "name PATHs, or use --large");
		return complain(reterr);
	}
	options->apply.dry = !options->yes;
	options->apply.on_held = on_held;
	if (!options->yes)
		print_plan(options, &reading->changes);
	if (apply_changes(&reading->box, &reading->stack, &reading->changes,
		&options->apply, &counts) != STATUS_OK) {
		(void)problem_errno(
		    reterr, "cannot apply what %s wrote", options->run);
		return complain(reterr);
	}
	print_counts(options, &counts);
	if (options->yes && is_empty(reading) &&
	    box_remove(&reading->box, reterr) != STATUS_OK)
		return complain(reterr);
	return counts.held + counts.failed == 0 ? COMMAND_OK : COMMAND_NO;
}

static int
run_apply(int argc, char **argv)
{
	struct options options;
	struct reading reading;
	struct problem problem = { .text = "" };
	int code;

	if (!read_options(argc, argv, "yroLh", &options) ||
	    (!options.help && options.run == NULL))
		return usage_error(apply_usage);
	if (options.help) {
		(void)fputs(apply_usage, stdout);
		return COMMAND_OK;
	}
	if (reading_make(&options, &reading, &problem) != STATUS_OK)
		return complain(&problem);
	code = apply(&options, &reading, &problem);
	reading_done(&reading);
	return code;
}

/* ---- discard ---- */

static int
discard(const char *run)
{
	struct problem problem = { .text = "" };
	struct box box;

	if (open_box(run, &box, &problem) != STATUS_OK ||
	    box_remove(&box, &problem) != STATUS_OK)
		return complain(&problem);
	return COMMAND_OK;
}

static int
run_discard(int argc, char **argv)
{
	int code = COMMAND_OK;

	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		(void)fputs(discard_usage, stdout);
		return COMMAND_OK;
	}
	if (argc < 2 || argv[1][0] == '-')
		return usage_error(discard_usage);
	for (int i = 1; i < argc; i++)
		if (discard(argv[i]) != COMMAND_OK)
			code = COMMAND_FAILED;
	return code;
}

/* ---- snapshot ---- */

static int
run_snapshot(int argc, char **argv)
{
	struct problem problem = { .text = "" };
	struct box box;
	int status;

	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		(void)fputs(snapshot_usage, stdout);
		return COMMAND_OK;
	}
	if (argc != 3 || argv[1][0] == '-')
		return usage_error(snapshot_usage);
	if (open_box(argv[1], &box, &problem) != STATUS_OK)
		return complain(&problem);
	status = snapshot_take(&box, argv[2], &problem);
	box_done(&box);
	return status == STATUS_OK ? COMMAND_OK : complain(&problem);
}

const struct command cmd_diff = {
	.name = "diff",
	.summary = "what a run changed, and what of it is held",
	.usage = diff_usage,
	.run = run_diff,
};

const struct command cmd_apply = {
	.name = "apply",
	.summary = "put what a run changed into its workspace",
	.usage = apply_usage,
	.run = run_apply,
};

const struct command cmd_discard = {
	.name = "discard",
	.summary = "throw away what a run wrote",
	.usage = discard_usage,
	.run = run_discard,
};

const struct command cmd_snapshot = {
	.name = "snapshot",
	.summary = "seal what a run wrote, to begin others from",
	.usage = snapshot_usage,
	.run = run_snapshot,
};
