/*
 * exeat - the command people run: a table of subcommands and nothing else.
 */
#include "gateway/cli/cmd_audit.h"
#include "gateway/cli/cmd_credential.h"
#include "gateway/cli/cmd_doctor.h"
#include "gateway/cli/cmd_files.h"
#include "gateway/cli/cmd_pending.h"
#include "gateway/cli/cmd_policy.h"
#include "gateway/cli/cmd_run.h"
#include "gateway/cli/cmd_runs.h"
#include "gateway/cli/cmd_version.h"
#include "schema/attr.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Longer words are no typing errors of ours. */
#define WORD_MAX 32

static const struct command *const commands[] = {
	&cmd_run,
	&cmd_ps,
	&cmd_exec,
	&cmd_stop,
	&cmd_pause,
	&cmd_resume,
	&cmd_audit,
	&cmd_policy,
	&cmd_pending,
	&cmd_approve,
	&cmd_refuse,
	&cmd_credential,
	&cmd_diff,
	&cmd_apply,
	&cmd_discard,
	&cmd_snapshot,
	&cmd_doctor,
	&cmd_version,
};

static void
print_help(FILE *out)
{
	(void)fputs("usage: exeat COMMAND [OPTIONS]\n"
		    "\n"
		    "Runs programs you do not trust in a sandbox whose only "
		    "way out is a\n"
		    "gateway: it decides every request by policy and writes "
		    "it down.\n"
		    "\n",
	    out);
	for (size_t i = 0; i < COUNT(commands); i++)
		(void)fprintf(out, "  %-10s %s\n", commands[i]->name,
		    commands[i]->summary);
	(void)fputs("  help       this text, or a command's: exeat help run\n"
		    "\n"
		    "First steps:\n"
		    "  exeat doctor                  can this machine do it?\n"
		    "  exeat run -- bash             look around in a sandbox "
		    "without network\n"
		    "  exeat run --policy p.json -- npm install\n"
		    "  exeat audit summary           what it reached, what was "
		    "refused\n",
	    out);
}

static const struct command *
find(const char *name)
{
	for (size_t i = 0; i < COUNT(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static size_t
smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* How many letters are to be changed, added or left out (Levenshtein). */
static size_t
distance(const char *from, const char *to)
{
	size_t row[WORD_MAX + 1];
	size_t length = strlen(to);

	if (length > WORD_MAX || strlen(from) > WORD_MAX)
		return WORD_MAX;
	for (size_t i = 0; i <= length; i++)
		row[i] = i;
	for (size_t i = 0; from[i] != '\0'; i++) {
		size_t corner = row[0];

		row[0] = i + 1;
		for (size_t k = 1; k <= length; k++) {
			size_t above = row[k];

			row[k] = smallest(above + 1, row[k - 1] + 1,
			    corner + (from[i] != to[k - 1] ? 1 : 0));
			corner = above;
		}
	}
	return row[length];
}

/* NULL when no command is spelled nearly like it. */
static const struct command *
nearest(const char *name)
{
	const struct command *best = NULL;
	size_t least = 3;

	for (size_t i = 0; i < COUNT(commands); i++) {
		size_t away = distance(name, commands[i]->name);

		if (away >= least)
			continue;
		least = away;
		best = commands[i];
	}
	return best;
}

static int
refuse(const char *name)
{
	const struct command *meant = nearest(name);

	(void)fprintf(stderr, "exeat: there is no command \"%.40s\"", name);
	if (meant != NULL)
		(void)fprintf(
		    stderr, "; did you mean \"exeat %s\"?\n", meant->name);
	else
		(void)fputs("; see exeat help\n", stderr);
	return COMMAND_FAILED;
}

static int
help(const char *name)
{
	const struct command *command;

	if (name == NULL) {
		print_help(stdout);
		return COMMAND_OK;
	}
	command = find(name);
	if (command == NULL)
		return refuse(name);
	(void)fputs(command->usage, stdout);
	return COMMAND_OK;
}

static bool
asks_for(const char *word, const char *name, const char *option)
{
	return strcmp(word, name) == 0 || strcmp(word, option) == 0;
}

/*
 * Whoever starts us may have closed 0, 1 or 2.  What we open next would take
 * the number, and be handed to the command as its own.
 */
static bool
fill_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return false;
	(void)close(fd);
	return true;
}

int
main(int argc, char **argv)
{
	const struct command *command;

	if (!fill_standard())
		return COMMAND_FAILED;
	if (argc < 2) {
		print_help(stderr);
		return COMMAND_FAILED;
	}
	if (asks_for(argv[1], "help", "--help") || strcmp(argv[1], "-h") == 0)
		return help(argc > 2 ? argv[2] : NULL);
	if (strcmp(argv[1], "--version") == 0)
		argv[1] = unconst("version");
	command = find(argv[1]);
	if (command == NULL)
		return refuse(argv[1]);
	return command->run(argc - 1, argv + 1);
}
