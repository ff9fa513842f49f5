#include "gateway/cli/cmd_doctor.h"

#include "gateway/cli/program.h"
#include "gateway/cli/settings.h"
#include "gateway/proc/spawn.h"
#include "schema/status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage[] =
    "usage: exeat doctor [--trust] [--json]\n"
    "\n"
    "Tries every step that making a sandbox takes, for real, and throws each "
    "away.\n"
    "One line a step: ok, degraded (it works, with less) or missing, with "
    "the cure.\n"
    "Exits with 0 when a sandbox can be made here, else with 1.\n"
    "\n"
    "  --trust   only tell what a sandbox is made to trust, and where its\n"
    "            programs find that: the files and the variables\n"
    "  --json    for programs\n";

/* The launcher tries its own steps: nobody else knows what it needs. */
static int
probe(const char *what, bool as_json, const char *place, int *ret_status,
    struct problem *reterr)
{
	const char *argv[] = { "exeat-launch", what, as_json ? "--json" : place,
		as_json ? place : NULL, NULL };
	const char *envp[] = { NULL };
	struct spawn spawn = { .argv = argv,
		.envp = envp,
		.fds = { -1, STDOUT_FILENO, STDERR_FILENO },
		.count = 3,
		.dies_with_parent = true };
	struct program program;
	struct spawned spawned;
	int status = program_find("exeat-launch", &program, reterr);

	if (status != STATUS_OK)
		return status;
	spawn.path = program.path;
	status = spawn_start(&spawn, &spawned, reterr);
	if (status != STATUS_OK)
		return status;
	if (!spawn_wait(&spawned, -1, ret_status))
		status = problem_set(reterr, "the probe has no end");
	spawned_done(&spawned);
	return status;
}

/* Where runs keep what they write is a place that a probe must try. */
static int
find_place(const char *what, struct settings *settings, const char **ret,
    struct problem *reterr)
{
	int status;

	*ret = NULL;
	if (strcmp(what, "--probe") != 0)
		return STATUS_OK;
	status = settings_read(settings, reterr);
	if (status == STATUS_OK)
		status = settings_make_folder(settings->files, reterr);
	if (status != STATUS_OK)
		return status;
	if (mkdir(settings->files, S_IRWXU) != 0 && errno != EEXIST)
		return problem_errno(
		    reterr, "cannot make the folder %s", settings->files);
	*ret = settings->files;
	return STATUS_OK;
}

static int
run(int argc, char **argv)
{
	struct problem problem = { 0 };
	struct settings settings;
	const char *what = "--probe", *place;
	bool as_json = false;
	int status;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 ||
		    strcmp(argv[i], "-h") == 0) {
			(void)fputs(usage, stdout);
			return COMMAND_OK;
		}
		if (strcmp(argv[i], "--trust") == 0) {
			what = "--trust";
		} else if (strcmp(argv[i], "--json") == 0) {
			as_json = true;
		} else {
			(void)fputs(usage, stderr);
			return COMMAND_FAILED;
		}
	}
	if (find_place(what, &settings, &place, &problem) != STATUS_OK ||
	    probe(what, as_json, place, &status, &problem) != STATUS_OK) {
		(void)fprintf(stderr, "exeat: %s%s%s\n", problem.text,
		    problem.cure[0] == '\0' ? "" : "; ", problem.cure);
		return COMMAND_FAILED;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) <= COMMAND_NO)
		return WEXITSTATUS(status);
	(void)fputs("exeat: the probe broke off\n", stderr);
	return COMMAND_FAILED;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "what this machine allows, and the cure where it does not",
	.usage = usage,
	.run = run,
};
