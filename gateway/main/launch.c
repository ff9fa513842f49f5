/*
 * exeat-launch - makes one sandbox, runs one command in it, says how it ended.
 *
 * Descriptors: 3 the plan, 4 the handoff channel to the gateway, 5 a file for
 * the result, 6 the channel to its parent, 7 one to the audit writer when
 * programs are recorded.  It holds no secret and links
 * nothing that could decide about traffic; no other program is run but itself,
 * as the sandbox's init.
 */
#include "gateway/launch/init.h"
#include "gateway/launch/outcome.h"
#include "gateway/launch/plan.h"
#include "gateway/launch/plan_parse.h"
#include "gateway/launch/probe.h"
#include "gateway/launch/trusted.h"
#include "gateway/launch/watch.h"
#include "gateway/proc/log.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PLAN_FD = 3,
	GATEWAY_FD = 4,
	RESULT_FD = 5,
	PARENT_FD = 6,
	AUDIT_FD = 7 /* may be left out */
};

static const char help[] =
    "usage: exeat-launch [--probe [--json] [PLACE] | --trust [--json] | "
    "--version |\n"
    "                     --help]\n"
    "\n"
    "Makes the sandbox of one run.  It is started by \"exeat run\", which "
    "gives it a\n"
    "plan on descriptor 3, the gateway on 4, a file for the result on 5 and "
    "itself on 6.\n";

/* All of the plan's file, which must be no longer than a plan. */
static int
read_plan(struct plan *ret, struct problem *reterr)
{
	char *text = malloc(LIMIT_PLAN_BYTES + 1);
	size_t used = 0;
	ssize_t got = 1;
	int status;

	if (text == NULL)
		return STATUS_NO_MEMORY;
	/* A file may have been left at its end by who wrote it. */
	(void)lseek(PLAN_FD, 0, SEEK_SET);
	while (got > 0 && used <= LIMIT_PLAN_BYTES) {
		got = read(PLAN_FD, text + used, LIMIT_PLAN_BYTES + 1 - used);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			used += (size_t)got;
	}
	status = got < 0 ? problem_errno(reterr, "cannot read the plan")
			 : plan_parse(text, used, ret, reterr);
	free(text);
	return status;
}

static bool
is_socket(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* In the place of one that was left out. */
static bool
fill(int fd)
{
	int null;

	if (fcntl(fd, F_GETFD) >= 0)
		return true;
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	return null == fd || (null >= 0 && dup3(null, fd, O_CLOEXEC) == fd);
}

/*
 * The four must be what they are, or a descriptor of our own would take
 * their place; what is open beyond them was not meant for us.
 */
static int
check_descriptors(struct problem *reterr)
{
	if (!is_socket(GATEWAY_FD) || !is_socket(PARENT_FD) ||
	    fcntl(PLAN_FD, F_GETFD) < 0) {
		(void)problem_set(reterr, "there is no plan and no gateway");
		return problem_cure(
		    reterr, "this program is started by \"exeat run\"");
	}
	if (!fill(RESULT_FD) || !fill(AUDIT_FD))
		return problem_errno(reterr, "cannot open /dev/null");
	for (int fd = PLAN_FD; fd <= AUDIT_FD; fd++)
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
			return problem_errno(
			    reterr, "cannot keep a descriptor");
	if (close_range(AUDIT_FD + 1, ~0U, 0) != 0)
		return problem_errno(reterr, "cannot close descriptors");
	return STATUS_OK;
}

static void
complain(const struct outcome *outcome)
{
	const char *cure = outcome->problem.cure;

	if (outcome->end == OUTCOME_GATEWAY_LOST)
		log_error("the gateway ended, and the sandbox with it");
	if (outcome->end == OUTCOME_TIMEOUT)
		log_error("the time limit ended the command");
	if (outcome->end == OUTCOME_OOM)
		log_error("the memory limit ended the command");
	if (outcome->end == OUTCOME_LIMIT)
		log_error("the command wrote more than the workspace may "
			  "take");
	if (outcome->end != OUTCOME_LAUNCH_FAILED)
		return;
	if (outcome->code == OUTCOME_CODE_FAILED)
		log_error("the sandbox could not be built: %s: %s%s%s",
		    stage_name(outcome->stage), outcome->problem.text,
		    cure[0] == '\0' ? "" : "; ", cure);
	else
		log_error("%s%s%s", outcome->problem.text,
		    cure[0] == '\0' ? "" : "; ", cure);
}

static int
launch(void)
{
	struct outcome outcome = { .stage = STAGE_PLAN };
	struct rlimit no_core = { 1, 1 };
	struct problem problem = { 0 };
	struct plan plan = { 0 };
	const struct watch_peers peers = { .gateway = GATEWAY_FD,
		.parent = PARENT_FD,
		.audit = is_socket(AUDIT_FD) ? AUDIT_FD : -1 };
	int status = check_descriptors(&problem);

	(void)setrlimit(RLIMIT_CORE, &no_core);
	if (status == STATUS_OK)
		status = read_plan(&plan, &problem);
	if (status == STATUS_NO_MEMORY)
		(void)problem_set(&problem, "there is no memory");
	if (status == STATUS_OK)
		watch_run(&plan, &peers, &outcome);
	else
		outcome_failed(
		    &outcome, STAGE_PLAN, OUTCOME_CODE_FAILED, &problem);
	complain(&outcome);
	/* A result that cannot be written is no reason to lose the code. */
	(void)!outcome_write(&outcome, RESULT_FD);
	outcome_done(&outcome);
	plan_done(&plan);
	return outcome.code;
}

/* [--json] [PLACE]; without one, where anybody may write. */
static int
probe(int argc, char **argv)
{
	bool as_json = argc > 0 && strcmp(argv[0], "--json") == 0;
	const char *place =
	    argc > (as_json ? 1 : 0) ? argv[as_json ? 1 : 0] : "/var/tmp";

	return probe_all(as_json, place, STDOUT_FILENO) ? 0 : 1;
}

int
main(int argc, char **argv)
{
	if (init_is_wanted(argc, argv))
		_exit(init_run(argv));
	log_begin("exeat", NULL, LOG_LEVEL_WARNING);
	if (argc == 1)
		return launch();
	if (argc >= 2 && strcmp(argv[1], "--probe") == 0)
		return probe(argc - 2, argv + 2);
	if (argc >= 2 && strcmp(argv[1], "--trust") == 0)
		return trusted_print(
			   argc == 3 && strcmp(argv[2], "--json") == 0)
			   ? 0
			   : 1;
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		(void)printf("exeat-launch %s\n", EXEAT_VERSION);
		return 0;
	}
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		(void)fputs(help, stdout);
		return 0;
	}
	(void)fputs(help, stderr);
	return OUTCOME_CODE_FAILED;
}
