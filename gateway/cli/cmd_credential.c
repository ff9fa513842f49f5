#include "gateway/cli/cmd_credential.h"

#include "gateway/cli/needs.h"
#include "gateway/cli/settings.h"
#include "gateway/cli/steward.h"
#include "gateway/cli/visit.h"
#include "gateway/proc/fdpass.h"
#include "gateway/proc/loop.h"
#include "gateway/proc/rundir.h"
#include "schema/brokerage.h"
#include "schema/status.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: exeat credential check [FILE]\n"
    "       exeat credential revoke [--run RUN] NAME\n"
    "\n"
    "Credentials go into the requests of rules that name them; the sandbox\n"
    "never sees them.  They stand in a file that only you can read (default:\n"
    "exeat/credentials.json in $XDG_CONFIG_HOME); exeat-credentials(5) tells\n"
    "what it may say:\n"
    "\n"
    "  { \"version\": 1,\n"
    "    \"credentials\": {\n"
    "      \"model\": { \"kind\": \"header\", \"header\": \"x-api-key\",\n"
    "                 \"source\": { \"file\": \"keys/model\" },\n"
    "                 \"hosts\": [\"api.example.com\"] } } }\n"
    "\n"
    "  check    reads the file and every secret that it names, and tells all\n"
    "           that is wrong\n"
    "  revoke   no run of yours, or only RUN, uses NAME any more: new "
    "requests\n"
    "           are refused at once, those under way are ended\n"
    "\n"
    "Exit code: 0 when all is well, 1 when it is not, 125 a failure of exeat\n"
    "itself.\n";

static int
usage_error(void)
{
	(void)fputs(usage, stderr);
	return COMMAND_FAILED;
}

static void
complain(const struct problem *problem)
{
	(void)fprintf(stderr, "exeat credential: %s%s%s\n", problem->text,
	    problem->cure[0] == '\0' ? "" : "; ", problem->cure);
}

/* ---- check ---- */

struct check {
	struct loop *loop;
	struct steward *steward;
	const char *file;
	bool well, failed;
};

static void
on_ready(void *arg)
{
	struct check *check = arg;

	check->well = true;
	steward_stop(check->steward);
}

static void
on_failed(
    const struct problems *problems, const struct problem *problem, void *arg)
{
	struct check *check = arg;

	check->failed = true;
	for (size_t i = 0; i < problems->count; i++) {
		const struct problem *one = &problems->list[i];

		(void)fprintf(stderr, "%s:%u:%u: %s%s%s\n", check->file,
		    one->line, one->column, one->text,
		    one->cure[0] == '\0' ? "" : "; ", one->cure);
	}
	if (!problems_any(problems))
		complain(problem);
	loop_stop(check->loop);
}

static void
on_ended(void *arg)
{
	struct check *check = arg;

	loop_stop(check->loop);
}

/* A broker without a run: nobody asks it, and nothing is written down. */
static int
start(struct check *check, const struct settings *settings,
    const struct ledger_name *name, struct problem *reterr)
{
	static const struct needs none = { .count = 0 };
	struct steward_order order = { .loop = check->loop,
		.file = check->file,
		.name = name,
		.principal = settings->user,
		.needs = &none,
		.on_ready = on_ready,
		.on_failed = on_failed,
		.on_ended = on_ended,
		.arg = check };
	int gateway[2], audit[2], status;

	if (fdpass_pair(gateway) != STATUS_OK)
		return problem_errno(reterr, "cannot make a channel");
	if (fdpass_pair(audit) != STATUS_OK) {
		(void)close(gateway[0]);
		(void)close(gateway[1]);
		return problem_errno(reterr, "cannot make a channel");
	}
	order.gateway = gateway[1];
	order.audit = audit[1];
	status = steward_new(&order, &check->steward, reterr);
	(void)close(gateway[1]);
	(void)close(audit[1]);
	if (status == STATUS_OK && loop_run(check->loop) != STATUS_OK)
		status = problem_set(reterr, "the loop of events cannot run");
	(void)close(gateway[0]);
	(void)close(audit[0]);
	return status;
}

static int
check_file(const struct settings *settings, const char *file)
{
	struct check check = { .file = file };
	struct ledger_name name;
	struct problem problem = { .text = "" };
	int status;

	check.loop = loop_new();
	if (check.loop == NULL || ledger_name_draw(&name) != STATUS_OK)
		status = problem_set(&problem, "there is no memory for a loop");
	else
		status = start(&check, settings, &name, &problem);
	if (status != STATUS_OK)
		complain(&problem);
	steward_free(check.steward);
	loop_free(check.loop);
	if (status != STATUS_OK || check.failed || !check.well)
		return COMMAND_NO;
	(void)printf("%s: every credential has its secret\n", file);
	return COMMAND_OK;
}

static int
run_check(int argc, char **argv)
{
	struct settings settings;
	struct problem problem;

	if (argc > 2 || (argc == 2 && argv[1][0] == '-'))
		return usage_error();
	if (settings_read(&settings, &problem) != STATUS_OK) {
		complain(&problem);
		return COMMAND_FAILED;
	}
	return check_file(
	    &settings, argc == 2 ? argv[1] : settings.credentials);
}

/* ---- revoke ---- */

struct revoking {
	const struct settings *settings;
	const char *credential, *run; /* run NULL: all */
	char (*runs)[LIMIT_RUN_UID + 1];
	size_t count, room;
	size_t done, other;
};

static void
on_run(const char *run, void *arg)
{
	struct revoking *revoking = arg;

	if (revoking->run != NULL && strcmp(revoking->run, run) != 0)
		return;
	if (revoking->count == revoking->room) {
		size_t room = revoking->room * 2 + 16;
		void *runs =
		    reallocarray(revoking->runs, room, sizeof(*revoking->runs));

		if (runs == NULL)
			return;
		revoking->runs = runs;
		revoking->room = room;
	}
	memcpy(revoking->runs[revoking->count++], run, strlen(run) + 1);
}

static void
revoke_in(struct revoking *revoking, const char *run)
{
	unsigned char packet[LIMIT_CREDENTIAL_NAME + 16];
	struct cursor_writer out =
	    frame_begin(FRAME_DESK_REVOKE, packet, sizeof(packet));
	struct visit visit = { .fd = -1 };
	struct problem problem = { .text = "" };
	int status = visit_open(&visit, revoking->settings, run, &problem);

	brokerage_need_write(revoking->credential, &out);
	if (status == STATUS_OK)
		status = visit_ask(&visit, &out, NULL, NULL, &problem);
	visit_done(&visit);
	if (status == STATUS_OK) {
		revoking->done++;
		(void)printf("revoked %s in %s\n", revoking->credential, run);
		return;
	}
	revoking->other++;
	(void)fprintf(stderr, "exeat credential: %s: %s\n", run, problem.text);
}

static int
revoke_everywhere(struct revoking *revoking)
{
	struct problem problem = { .text = "" };
	int status =
	    rundir_each(revoking->settings->runs, on_run, revoking, &problem);

	if (status != STATUS_OK) {
		complain(&problem);
		return COMMAND_FAILED;
	}
	for (size_t i = 0; i < revoking->count; i++)
		revoke_in(revoking, revoking->runs[i]);
	if (revoking->count == 0)
		(void)fprintf(stderr, "exeat credential: no such run\n");
	return revoking->done > 0 ? COMMAND_OK : COMMAND_NO;
}

static int
run_revoke(int argc, char **argv)
{
	static const struct option options[] = {
		{ "run", required_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 },
	};
	struct settings settings;
	struct problem problem;
	struct revoking revoking = { .settings = &settings };
	int option, code;

	optind = 1;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option != 'r')
			return usage_error();
		revoking.run = optarg;
	}
	if (optind != argc - 1 || strlen(argv[optind]) > LIMIT_CREDENTIAL_NAME)
		return usage_error();
	revoking.credential = argv[optind];
	if (settings_read(&settings, &problem) != STATUS_OK) {
		complain(&problem);
		return COMMAND_FAILED;
	}
	code = revoke_everywhere(&revoking);
	free(revoking.runs);
	return code;
}

static int
run(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) {
		(void)fputs(usage, stdout);
		return COMMAND_OK;
	}
	if (strcmp(verb, "check") == 0)
		return run_check(argc - 1, argv + 1);
	if (strcmp(verb, "revoke") == 0)
		return run_revoke(argc - 1, argv + 1);
	return usage_error();
}

const struct command cmd_credential = {
	.name = "credential",
	.summary = "check the credential file, or revoke one in running runs",
	.usage = usage,
	.run = run,
};
