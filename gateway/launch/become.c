#include "gateway/launch/become.h"

#include "gateway/launch/bounds.h"
#include "gateway/launch/outcome.h"
#include "gateway/launch/plan.h"
#include "gateway/launch/privs.h"
#include "gateway/launch/syscalls.h"
#include "schema/status.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int become_step(const struct become *, struct problem *);

static int
reset_signals(const struct become *become, struct problem *reterr)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t none;

	(void)become;
	for (int number = 1; number < NSIG; number++)
		(void)sigaction(number, &action, NULL);
	(void)sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) != 0)
		return problem_errno(reterr, "cannot reset the signal mask");
	return STATUS_OK;
}

static int
enter_directory(const struct become *become, struct problem *reterr)
{
	if (chdir(become->cwd) == 0)
		return STATUS_OK;
	(void)problem_errno(reterr, "cannot go to %s", become->cwd);
	return problem_cure(
	    reterr, "the working directory must lie in what the sandbox sees");
}

static int
drop_privileges(const struct become *become, struct problem *reterr)
{
	int status = privs_limit(become->plan, reterr);

	if (status == STATUS_OK)
		status = bounds_enter(become->bounds, reterr);
	if (status != STATUS_OK)
		return status;
	return privs_drop(reterr);
}

/* One who records above us tells it where it is wanted, too. */
static int
tell_outer(const struct become *become)
{
	struct report report = { .kind = REPORT_DEGRADED,
		.stage = STAGE_SYSCALLS };

	(void)problem_set(&report.problem,
	    "programs are recorded by the sandbox around this one");
	return report_send(become->control, &report, NULL);
}

static int
filter_and_tell(const struct become *become, struct problem *reterr)
{
	struct report report = { .kind = REPORT_RECORDER,
		.stage = STAGE_SYSCALLS };
	int listener = -1, status;

	status = syscalls_filter_told(
	    become->plan->nested, become->plan->ptrace, &listener, reterr);
	if (status == STATUS_REFUSED) {
		status = tell_outer(become);
		if (status == STATUS_OK)
			status = syscalls_filter(
			    become->plan->nested, become->plan->ptrace, reterr);
		return status;
	}
	if (status != STATUS_OK)
		return status;
	status = report_send(become->control, &report, &listener);
	(void)close(listener);
	return status;
}

static int
filter_syscalls(const struct become *become, struct problem *reterr)
{
	if (become->control >= 0 && become->plan->record_exec)
		return filter_and_tell(become, reterr);
	return syscalls_filter(
	    become->plan->nested, become->plan->ptrace, reterr);
}

static const struct {
	enum stage stage;
	become_step *run;
} steps[] = {
	{ STAGE_TERMINAL, reset_signals },
	{ STAGE_DIRECTORY, enter_directory },
	{ STAGE_PRIVILEGES, drop_privileges },
	{ STAGE_SYSCALLS, filter_syscalls },
};

int
become_confined(
    const struct become *become, enum stage *ret_stage, struct problem *reterr)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int status = steps[i].run(become, reterr);

		if (status == STATUS_OK)
			continue;
		*ret_stage = steps[i].stage;
		return status;
	}
	return STATUS_OK;
}

/* execve by each directory of the path; what is said of the best one. */
static int
execute_by_path(const struct become *become)
{
	const char *path = environment_get(&become->environment, "PATH");
	int error = ENOENT;

	while (path != NULL && *path != '\0') {
		size_t length = strcspn(path, ":");
		char file[PATH_MAX];

		if (length > 0 &&
		    snprintf(file, sizeof(file), "%.*s/%s", (int)length, path,
			become->argv[0]) < (int)sizeof(file)) {
			(void)execve(
			    file, become->argv, become->environment.list);
			if (errno != ENOENT && errno != ENOTDIR)
				error = errno;
		}
		path += length + (path[length] == ':');
	}
	return error;
}

int
become_executed(const struct become *become, struct problem *reterr)
{
	const char *name = become->argv[0];
	int error;

	if (strchr(name, '/') != NULL) {
		(void)execve(name, become->argv, become->environment.list);
		error = errno;
	} else
		error = execute_by_path(become);
	errno = error;
	(void)problem_errno(reterr, "cannot execute %s", name);
	if (error == ENOENT || error == ENOTDIR) {
		(void)problem_cure(reterr,
		    "it must lie in what the sandbox sees: /usr, /opt, the "
		    "workspace or a mount");
		return OUTCOME_CODE_NOT_FOUND;
	}
	(void)problem_cure(reterr,
	    "it must be an executable program, or a script that names its "
	    "interpreter");
	return OUTCOME_CODE_NOT_EXECUTABLE;
}
