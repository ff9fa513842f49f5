#include "gateway/launch/probe.h"

#include "gateway/files/purge.h"
#include "gateway/launch/plan.h"
#include "gateway/launch/plan_parse.h"
#include "gateway/launch/probe_host.h"
#include "gateway/launch/probe_inside.h"
#include "gateway/launch/report.h"
#include "gateway/launch/userns.h"
#include "gateway/proc/fd.h"
#include "gateway/proc/fdpass.h"
#include "schema/json.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a launch without anything special would do. */
static const char probe_plan[] =
    "{\"version\":1,\"run\":\"probe\",\"command\":[\"true\"]}";

enum probe_result {
	PROBE_OK,
	PROBE_DEGRADED, /* a launch works, with less */
	PROBE_MISSING,
	PROBE_COUNT
};

static const char *const result_names[] = {
	[PROBE_OK] = "ok",
	[PROBE_DEGRADED] = "degraded",
	[PROBE_MISSING] = "missing",
};

static_assert(sizeof(result_names) / sizeof(result_names[0]) == PROBE_COUNT,
    "every result has a name");

typedef int probe_step(const struct plan *, struct problem *);

struct probe {
	const char *name;
	probe_step *run;
	bool inside; /* in new namespaces, or as we are */
	bool needed;
};

static const struct probe probes[] = {
	{ "namespaces", probe_namespaces, true, true },
	{ "network", probe_network, true, true },
	{ "redirect", probe_redirect, true, true },
	{ "listeners", probe_listeners, true, true },
	{ "round trip", probe_round_trip, true, true },
	{ "view", probe_view, true, true },
	{ "proc", probe_proc, true, true },
	{ "syscalls", probe_syscalls, true, true },
	{ "overlay", probe_overlay, true, false },
	{ "process descriptors", probe_pidfd, false, true },
	{ "owner map", probe_idmap, false, false },
	{ "landlock", probe_landlock, false, false },
	{ "exec record", probe_record, true, false },
	{ "control groups", probe_groups, false, false },
	{ "disk", probe_disk, false, false },
	{ "clock", probe_clock, false, false },
};

/* ---- running one ---- */

/* In the child: waits for its ids, tries, tells. */
static NORETURN void
answer(const struct probe *probe, const struct plan *plan, int control,
    const struct userns_ids *ids)
{
	struct report report;
	struct fdpass fds;
	struct problem problem = { 0 };
	int status;

	if (report_receive(control, &report, &fds) != STATUS_OK ||
	    report.kind != REPORT_GO)
		_exit(1);
	status = userns_become(ids, &problem);
	if (status == STATUS_OK)
		status = probe->run(plan, &problem);
	report = (struct report){ .kind = status == STATUS_OK ? REPORT_STARTED
							      : REPORT_FAILED,
		.problem = problem };
	_exit(report_send(control, &report, NULL) == STATUS_OK ? 0 : 1);
}

/* Outside: maps the child's ids and hears how it went. */
static int
ask(const struct userns_child *child, int control, const struct userns_ids *ids,
    struct problem *reterr)
{
	struct report report = { .kind = REPORT_GO };
	struct pollfd wait = { .fd = control, .events = POLLIN };
	struct fdpass fds;
	int status = userns_map(child->pid, ids, reterr);

	if (status != STATUS_OK)
		return status;
	if (report_send(control, &report, NULL) != STATUS_OK ||
	    poll(&wait, 1, LIMIT_SIBLING_MS) != 1 ||
	    report_receive(control, &report, &fds) != STATUS_OK)
		return problem_set(reterr, "the probe gave no answer");
	if (report.kind == REPORT_STARTED)
		return STATUS_OK;
	*reterr = report.problem;
	return STATUS_PROBLEM;
}

static int
try_inside(
    const struct probe *probe, const struct plan *plan, struct problem *reterr)
{
	struct userns_ids ids = userns_ids();
	struct userns_child child;
	int pair[2], status;

	if (fdpass_pair(pair) != STATUS_OK)
		return problem_errno(reterr, "cannot make a socket pair");
	status = userns_clone(&child, reterr);
	if (status == STATUS_OK && child.pid == 0) {
		(void)close(pair[0]);
		answer(probe, plan, pair[1], &ids);
	}
	(void)close(pair[1]);
	if (status == STATUS_OK) {
		status = ask(&child, pair[0], &ids, reterr);
		userns_end(&child);
	}
	(void)close(pair[0]);
	return status;
}

static enum probe_result
try(const struct probe *probe, const struct plan *plan, struct problem *reterr)
{
	int status = probe->inside ? try_inside(probe, plan, reterr)
				   : probe->run(plan, reterr);

	if (status == STATUS_OK)
		return PROBE_OK;
	if (status != STATUS_PROBLEM)
		(void)problem_set(
		    reterr, "it failed (%s)", status_name(status));
	return probe->needed ? PROBE_MISSING : PROBE_DEGRADED;
}

static void
print(const struct probe *probe, enum probe_result result,
    const struct problem *problem, int out)
{
	const char *between = problem->cure[0] == '\0' ? "" : "; ";

	if (result == PROBE_OK && problem->text[0] == '\0')
		(void)dprintf(out, "ok        %s\n", probe->name);
	else
		(void)dprintf(out, "%-9s %s: %s%s%s\n", result_names[result],
		    probe->name, problem->text, between, problem->cure);
}

static void
put(struct json *j, const struct probe *probe, enum probe_result result,
    const struct problem *problem)
{
	json_open(j, NULL, '{');
	json_text(j, "probe", probe->name);
	json_text(j, "result", result_names[result]);
	if (result == PROBE_OK && problem->text[0] != '\0')
		json_text(j, "note", problem->text);
	if (result != PROBE_OK) {
		json_text(j, "error", problem->text);
		json_text(j, "cure", problem->cure);
	}
	json_close(j, '}');
}

/* ---- the folder ---- */

/* Somewhere in place; the working directory from now on. */
struct den {
	int place;
	char name[32];
};

static void
den_done(struct den *den)
{
	if (den->place < 0)
		return;
	(void)!fchdir(den->place);
	(void)!purge(den->place, den->name);
	fd_done(&den->place);
}

/* As the folder of a run is made: the sandbox's user owns what is in it. */
static bool
den_fill(const struct den *den)
{
	static const char *const names[] = { PROBE_LOWER, PROBE_UPPER,
		PROBE_WORK };
	struct userns_ids ids = userns_ids();
	ON_SCOPE_EXIT(fd_done) int folder = -1;
	ON_SCOPE_EXIT(fd_done) int below = -1;

	if (mkdirat(den->place, den->name, S_IRWXU) != 0)
		return false;
	folder =
	    openat(den->place, den->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 || fchdir(folder) != 0)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (mkdir(names[i], S_IRWXU) != 0)
			return false;
	below = open(PROBE_LOWER "/below", O_WRONLY | O_CREAT | O_CLOEXEC,
	    S_IRUSR | S_IWUSR);
	if (below < 0)
		return false;
	if (!ids.switched)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (chown(names[i], ids.uid, ids.gid) != 0)
			return false;
	return fchown(folder, ids.uid, ids.gid) == 0 &&
	       fchown(below, ids.uid, ids.gid) == 0;
}

static bool
den_make(struct den *den, const char *place)
{
	int length =
	    snprintf(den->name, sizeof(den->name), ".probe-%d", (int)getpid());

	den->place = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Where nothing can be made, the steps are to see that. */
	return den->place >= 0 && fchdir(den->place) == 0 && length >= 0 &&
	       (size_t)length < sizeof(den->name) && den_fill(den);
}

/* ---- all of them ---- */

static bool
run_all(const struct plan *plan, struct json *j, bool as_json, int out)
{
	bool works = true;

	json_open(j, NULL, '[');
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		struct problem problem = { 0 };
		enum probe_result result = try(&probes[i], plan, &problem);

		works = works && result != PROBE_MISSING;
		if (as_json)
			put(j, &probes[i], result, &problem);
		else
			print(&probes[i], result, &problem, out);
	}
	json_close(j, ']');
	return works;
}

bool
probe_all(bool as_json, const char *place, int out)
{
	unsigned char text[16384];
	struct cursor_writer writer = cursor_writer_of(text, sizeof(text));
	struct json j = json_to(&writer);
	struct den den = { .place = -1 };
	struct plan plan;
	bool works;

	if (plan_parse(probe_plan, sizeof(probe_plan) - 1, &plan, NULL) !=
	    STATUS_OK)
		return false;
	/* The steps that need it tell that it is not there. */
	(void)!den_make(&den, place);
	works = run_all(&plan, &j, as_json, out);
	den_done(&den);
	cursor_put_u8(&writer, '\n');
	plan_done(&plan);
	if (as_json &&
	    (!cursor_written(&writer) ||
		write(out, text, writer.used) != (ssize_t)writer.used))
		return false;
	return works;
}
