#include "gateway/cli/cmd_run.h"

#include "gateway/audit/query.h"
#include "gateway/audit/summary.h"
#include "gateway/cli/harvest.h"
#include "gateway/cli/ledger.h"
#include "gateway/cli/lookalike.h"
#include "gateway/cli/policies.h"
#include "gateway/cli/settings.h"
#include "gateway/cli/siblings.h"
#include "gateway/cli/task.h"
#include "gateway/cli/task_plan.h"
#include "gateway/cli/task_read.h"
#include "gateway/proc/log.h"
#include "gateway/proc/sealed.h"
#include "schema/status.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
    "usage: exeat run [OPTIONS] [--] COMMAND [ARGUMENTS...]\n"
    "       exeat run --task FILE [OPTIONS]\n"
    "\n"
    "Runs COMMAND in a sandbox whose only way out is a gateway.  It sees its\n"
    "workspace, the system's programs and nothing else; it reaches what the\n"
    "policy allows and nothing else; every request is written down before a\n"
    "byte leaves.  Without a policy the network is closed.\n"
    "\n"
    "  --task FILE           read all this from a JSON file, with the keys of\n"
    "                        schema/task.schema.json; what is an option here\n"
    "                        stands over what the file says\n"
    "  --policy FILE         what may be reached; several must all allow it\n"
    "                        (default: exeat/policy.json in\n"
    "                        $XDG_CONFIG_HOME, when there is one)\n"
    "  --workspace DIR       the folder COMMAND works in (default: this one)\n"
    "  --mount SRC[:AT][:rw] show another file or folder, read-only unless rw\n"
    "  --files HOW           overlay: what COMMAND writes is kept apart, and\n"
    "                        what is safe is applied at its end (default);\n"
    "                        direct: it goes through at once; discard\n"
    "  --apply safe|ask|never  what is applied at the end; exeat diff and\n"
    "                        exeat apply do the rest\n"
    "  --from NAME           begin where the snapshot NAME was taken\n"
    "  --snapshot NAME       seal what COMMAND wrote under that name\n"
    "  --hide PATTERN        a file of the workspace that COMMAND must not "
    "see,\n"
    "                        besides .env, keys and the like\n"
    "  --show PATTERN        one that it may see all the same\n"
    "  --env NAME[=VALUE]    set a variable; alone, NAME takes its value here\n"
    "  --proxy-env           set http_proxy and the like to the gateway's own\n"
    "                        proxy; only for programs that insist on one\n"
    "  --via http://HOST:PORT\n"
    "                        go outside through the proxy of your house; it\n"
    "                        sees host and port, and resolves the names.\n"
    "                        What a rule places inside, by \"resolve\" or\n"
    "                        \"private\", is still dialled from here\n"
    "  --via-credential NAME  log in to it with this of --credentials, whose\n"
    "                        \"hosts\" name the proxy\n"
    "  --observe             refuse nothing that a rule would refuse; write\n"
    "                        down what it would (private and other special\n"
    "                        addresses stay closed); then\n"
    "                        exeat policy suggest --run RUN\n"
    "  --timeout TIME        end COMMAND after 90s, 30m or 2h; code 124\n"
    "  --limit NAME=VALUE    what the sandbox may use: memory=2GiB, cpu=1.5,\n"
    "                        pids=512, open-files=4096, file-size=1GiB,\n"
    "                        workspace=10GiB, tmp=1GiB; idle=10m ends what\n"
    "                        does nothing, grace=5s is what it gets then\n"
    "  --nested              let COMMAND make sandboxes of its own in here, "
    "as\n"
    "                        browsers do: mounts and namespaces are its own\n"
    "  --no-ptrace           let no process in here look into another one, as\n"
    "                        debuggers do\n"
    "  --no-exec-record      do not write down which programs it executes\n"
    "  --best-effort         a limit that this machine cannot keep is told in\n"
    "                        the result, and is no error\n"
    "  --credentials FILE    what rules with \"credential\" put into "
    "requests;\n"
    "                        the sandbox never sees it (default:\n"
    "                        exeat/credentials.json in $XDG_CONFIG_HOME)\n"
    "  --identity NAME       an identity of the credential file; COMMAND gets\n"
    "                        tokens at http://exeat.internal/v1/token\n"
    "  --audit DB            the database of requests (default:\n"
    "                        exeat/audit.db in $XDG_STATE_HOME)\n"
    "  --audit-sync WHEN     auto: a request with a credential or an "
    "approval\n"
    "                        waits until its row is on the disk, any other\n"
    "                        until it survives a crash; full: all wait for "
    "the\n"
    "                        disk; normal: none does\n"
    "  --result FILE         write how it ended, as JSON\n"
    "  --quiet               no closing line\n"
    "\n";

static const char usage_examples[] =
    "A first policy, which lets npm install packages and nothing more:\n"
    "  { \"version\": 1,\n"
    "    \"rules\": [ { \"id\": \"packages\", \"host\": [\"@npm\"] } ] }\n"
    "\n"
    "  exeat run --policy policy.json -- npm test\n"
    "  exeat run --task a.json & exeat run --task b.json\n"
    "  exeat audit summary          what it reached, and what was refused\n"
    "\n"
    "Exit code: COMMAND's own, 128+N when signal N ended it, 124 time limit,\n"
    "126 not executable, 127 not found, 125 a failure of exeat itself: then\n"
    "COMMAND was not started, or was ended.\n";

/* By the log, which escapes: some of the words are a sibling's. */
static void
complain(const struct problem *problem)
{
	log_error("%s%s%s", problem->text, problem->cure[0] == '\0' ? "" : "; ",
	    problem->cure);
}

/* As a compiler tells it, so that editors find the place. */
static void
complain_all(const struct problems *problems)
{
	for (size_t i = 0; i < problems->count; i++)
		complain(&problems->list[i]);
	if (problems->dropped > 0)
		log_error("and %zu more", problems->dropped);
}

/* Opened before the start: afterwards the command may have changed paths. */
static int
open_result(const char *path, int *ret_fd, struct problem *reterr)
{
	struct stat st;
	int fd;

	*ret_fd = -1;
	if (path == NULL)
		return STATUS_OK;
	fd = open(path,
	    O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
	if (fd < 0)
		return problem_errno(reterr, "cannot write %s", path);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		(void)close(fd);
		return problem_set(reterr, "%s is not a plain file", path);
	}
	*ret_fd = fd;
	return STATUS_OK;
}

/* What the siblings get, made before any of them runs. */
struct parcel {
	struct ledger_name name;
	int plan_fd, result_fd;
	struct box box; /* when writes do not go through */
	bool has_box;
};

static void
parcel_done(struct parcel *parcel)
{
	if (parcel->plan_fd >= 0)
		(void)close(parcel->plan_fd);
	if (parcel->result_fd >= 0)
		(void)close(parcel->result_fd);
	if (parcel->has_box)
		(void)!box_remove(&parcel->box, NULL);
}

static int
parcel_make(const struct task *task, const struct settings *settings,
    struct parcel *ret, struct problem *reterr)
{
	char *plan;
	int status;

	*ret = (struct parcel){ .plan_fd = -1, .result_fd = -1 };
	if (ledger_name_draw(&ret->name) != STATUS_OK)
		return problem_errno(reterr, "cannot draw a random name");
	if (task->files != TASK_DIRECT) {
		status = harvest_begin(
		    task, settings, ret->name.uid, &ret->box, reterr);
		if (status != STATUS_OK)
			return status;
		ret->has_box = true;
	}
	status = task_plan_make(task, ret->name.uid,
	    ret->has_box ? &ret->box : NULL, &plan, reterr);
	if (status != STATUS_OK)
		return status;
	if (strlen(plan) > LIMIT_PLAN_BYTES)
		status = problem_set(reterr,
		    "the command and its environment are too long: %zu bytes",
		    strlen(plan));
	else if (sealed_of("plan", plan, strlen(plan), &ret->plan_fd) !=
		 STATUS_OK)
		status = problem_errno(reterr, "cannot seal the plan");
	free(plan);
	if (status != STATUS_OK)
		return status;
	ret->result_fd = memfd_create("result", MFD_CLOEXEC);
	if (ret->result_fd < 0)
		return problem_errno(reterr, "cannot make the result");
	return STATUS_OK;
}

/* The commonest reasons of refusals, as " (2 no_rule, 1 method)". */
#define REASONS_MAX 200

struct reasons {
	char text[REASONS_MAX];
	struct cursor_writer out;
	uint64_t times; /* of all together */
};

static bool
on_reason(const struct query_cell *cells, size_t count, void *arg)
{
	struct reasons *reasons = arg;

	if (count < 2)
		return false;
	cursor_put_text(&reasons->out, reasons->out.used == 0 ? " (" : ", ");
	cursor_put_decimal(&reasons->out, (uint64_t)cells[1].number);
	cursor_put_text(&reasons->out, " ");
	cursor_put(&reasons->out, cells[0].text.at, cells[0].text.left);
	reasons->times += (uint64_t)cells[1].number;
	return true;
}

/* Nothing, when the database cannot be asked: the counts stand anyhow. */
static void
find_reasons(const struct question *question, const char *database,
    const char *run, struct reasons *ret)
{
	struct query_value value = { .name = "sbx",
		.text = cursor_of_text(run) };
	struct query_values values = { .list = &value, .count = 1 };
	struct query_reader reader = { .on_row = on_reason, .arg = ret };
	struct query *query;
	bool cut;

	*ret = (struct reasons){ .text = "" };
	ret->out = cursor_writer_of(ret->text, sizeof(ret->text) - 1);
	if (query_open(database, &query, NULL) != STATUS_OK)
		return;
	if (across_ask(query, question, &values, &reader, &cut, NULL) ==
		STATUS_OK &&
	    ret->out.used > 0)
		cursor_put_text(&ret->out, ")");
	query_close(query);
	if (!cursor_written(&ret->out))
		ret->out.used = 0;
	ret->text[ret->out.used] = '\0';
}

/* What the run was let do all the same. */
static void
tell_observed(const struct task *task, const char *run)
{
	struct reasons reasons;

	find_reasons(&summary_observed, task->audit, run, &reasons);
	(void)fprintf(stderr,
	    "; only observed: %" PRIu64 " would have been refused%s",
	    reasons.times, reasons.text);
}

/* The one line at the end. */
static void
tell_counts(const struct siblings_ending *ending, const struct task *task,
    const char *run)
{
	const struct event_closed *counts = &ending->counts;
	struct reasons reasons = { .text = "" };

	if (task->quiet || !ending->closed)
		return;
	if (counts->refused > 0)
		find_reasons(&summary_reasons, task->audit, run, &reasons);
	(void)fprintf(stderr,
	    "exeat: %" PRIu64 " request%s, %" PRIu64 " refused%s",
	    counts->requests, counts->requests == 1 ? "" : "s", counts->refused,
	    reasons.text);
	if (task->observe)
		tell_observed(task, run);
	(void)fprintf(stderr, "; exeat audit summary %s", run);
	if (task->audit_option != NULL)
		(void)fprintf(stderr, " --audit %s", task->audit);
	(void)fprintf(stderr, "\n");
}

/* What the command wrote, and what became of it. */
struct homecoming {
	const struct task *task;
	struct parcel *parcel;
	struct harvest harvest;
	bool failed;
	struct problem problem;
};

/* Once nothing of the command can write any more. */
static void
bring_in(const struct siblings_ending *ending, struct homecoming *home)
{
	struct parcel *parcel = home->parcel;
	bool ran = ending->result.end[0] == '\0' ||
		   strcmp(ending->result.end, "launch_failed") != 0;

	if (!parcel->has_box)
		return;
	parcel->has_box = false;
	home->failed = harvest_end(&parcel->box, home->task, ran,
			   &home->harvest, &home->problem) != STATUS_OK;
}

/* A person who is asked may say no by a signal, which is not heard here. */
static void
on_closing(struct siblings_ending *ending, void *arg)
{
	struct homecoming *home = arg;

	if (home->task->apply != TASK_APPLY_ASK)
		bring_in(ending, home);
}

/* What the run ended with, told in all its places. */
static int
tell(struct siblings_ending *ending, struct homecoming *home, int result_fd)
{
	const struct task *task = home->task;
	const char *run = home->parcel->name.uid;
	struct result_run told = {
		.uid = run,
		.database = task->audit,
		.counts = ending->closed ? &ending->counts : NULL,
		.harvest = &home->harvest,
	};
	struct problem problem;

	complain_all(&ending->problems);
	if (ending->failed)
		complain(&ending->problem);
	bring_in(ending, home);
	if (home->failed) {
		complain(&home->problem);
		ending->failed = true;
		ending->problem = home->problem;
		ending->code = COMMAND_FAILED;
	}
	told.code = ending->code;
	told.problem = ending->failed ? &ending->problem : NULL;
	tell_counts(ending, task, run);
	if (result_fd >= 0 && result_write(result_fd, &ending->result, &told,
				  &problem) != STATUS_OK) {
		complain(&problem);
		return COMMAND_FAILED;
	}
	return ending->code;
}

/* Everything is made: from the first sibling's start to the last word. */
static int
run_parcel(
    const struct siblings_wish *base, struct parcel *parcel, int result_fd)
{
	struct homecoming home = { .task = base->task, .parcel = parcel };
	struct siblings_wish wish = *base;
	struct siblings_ending ending;
	int code;

	wish.name = &parcel->name;
	wish.plan_fd = parcel->plan_fd;
	wish.result_fd = parcel->result_fd;
	wish.on_closing = on_closing;
	wish.arg = &home;
	siblings_run(&wish, &ending);
	code = tell(&ending, &home, result_fd);
	result_done(&ending.result);
	problems_done(&ending.problems);
	return code;
}

static int
start_and_wait(struct task *task, const struct settings *settings,
    struct policies *policies, int result_fd)
{
	struct siblings_wish wish = {
		.task = task, .settings = settings, .policies = policies
	};
	struct lookalikes lookalikes;
	struct parcel parcel;
	struct problem problem;
	int code = COMMAND_FAILED;

	if (lookalikes_make(task->credentials, &policies->needs,
		&task->variables, &lookalikes, &problem) != STATUS_OK) {
		complain(&problem);
		return COMMAND_FAILED;
	}
	wish.lookalikes = &lookalikes;
	if (parcel_make(task, settings, &parcel, &problem) == STATUS_OK)
		code = run_parcel(&wish, &parcel, result_fd);
	else
		complain(&problem);
	lookalikes_done(&lookalikes);
	parcel_done(&parcel);
	return code;
}

static int
load_and_start(struct task *task, const struct settings *settings)
{
	struct policies policies;
	struct problems problems = { .list = NULL };
	struct problem problem;
	int result_fd, code = COMMAND_FAILED;

	if (policies_load(&policies, task, settings, &problems) != STATUS_OK) {
		complain_all(&problems);
		problems_done(&problems);
		return COMMAND_FAILED;
	}
	problems_done(&problems);
	if (task->observe && !task->quiet)
		(void)fprintf(stderr,
		    "exeat: this run is only observed: what its policy would "
		    "refuse is let through and written down\n");
	else if (policies.none_given && !task->quiet)
		(void)fprintf(stderr,
		    "exeat: no policy, so the network is closed; see exeat run "
		    "--help\n");
	if (open_result(task->result, &result_fd, &problem) != STATUS_OK) {
		complain(&problem);
	} else {
		code = start_and_wait(task, settings, &policies, result_fd);
		if (result_fd >= 0)
			(void)close(result_fd);
	}
	policies_done(&policies);
	return code;
}

static int
run(int argc, char **argv)
{
	struct settings settings;
	struct task task;
	struct problems problems = { .list = NULL };
	struct problem problem;
	int code;

	if (settings_read(&settings, &problem) != STATUS_OK) {
		complain(&problem);
		return COMMAND_FAILED;
	}
	if (task_read(&task, argc - 1, argv + 1, &settings, &problems) !=
	    STATUS_OK) {
		complain_all(&problems);
		problems_done(&problems);
		return COMMAND_FAILED;
	}
	if (task.help) {
		(void)fputs(usage, stdout);
		(void)fputs(usage_examples, stdout);
		problems_done(&problems);
		task_done(&task);
		return COMMAND_OK;
	}
	code = load_and_start(&task, &settings);
	task_done(&task);
	return code;
}

const struct command cmd_run = {
	.name = "run",
	.summary = "run a command in a sandbox, behind its gateway",
	.usage = usage,
	.run = run,
};
