#include "gateway/launch/watch_hear.h"

#include "gateway/launch/execlog.h"
#include "gateway/launch/offer.h"
#include "gateway/launch/outcome.h"
#include "gateway/launch/plan.h"
#include "gateway/launch/report.h"
#include "gateway/launch/serve.h"
#include "gateway/launch/watch_state.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/fdpass.h"
#include "gateway/proc/terminal.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <event2/event.h>
#include <unistd.h>

typedef void watch_report(
    struct watch *, const struct report *, struct fdpass *);

static void
on_listeners(
    struct watch *watch, const struct report *report, struct fdpass *fds)
{
	struct problem problem = { 0 };

	(void)report;
	if (offer_send(watch->gateway, fds->fds, &problem) != STATUS_OK)
		watch_fail(watch, STAGE_HANDOFF, &problem);
	watch->counters = fdpass_take(fds, HANDOFF_FD_COUNT);
	watch->offered = true;
}

void
watch_record(int fd, void *arg)
{
	struct watch *watch = arg;
	struct problem problem = { 0 };

	if (watch->execlog == NULL)
		(void)close(fd);
	else if (execlog_listen(watch->execlog, fd) != STATUS_OK) {
		(void)problem_set(&problem, "programs cannot be recorded");
		watch_fail(watch, STAGE_SYSCALLS, &problem);
	}
}

static void
on_recorder(
    struct watch *watch, const struct report *report, struct fdpass *fds)
{
	(void)report;
	watch_record(fdpass_take(fds, 0), watch);
}

static void
on_proc(struct watch *watch, const struct report *report, struct fdpass *fds)
{
	(void)report;
	watch->proc = fdpass_take(fds, 0);
}

static void
on_terminal(
    struct watch *watch, const struct report *report, struct fdpass *fds)
{
	struct problem problem = { 0 };

	if (terminal_begin(watch->terminal, watch->loop, fdpass_take(fds, 0),
		&problem) != STATUS_OK)
		watch_fail(watch, report->stage, &problem);
}

static void
on_hidden(struct watch *watch, const struct report *report, struct fdpass *fds)
{
	(void)fds;
	if (outcome_add_hidden(watch->outcome, report->problem.text) !=
	    STATUS_OK) {
		struct problem problem = { 0 };

		(void)problem_set(&problem,
		    "more than %d secrets lie in the workspace", LIMIT_HIDDEN);
		watch_fail(watch, STAGE_MASKS, &problem);
	}
}

static void
on_degraded(
    struct watch *watch, const struct report *report, struct fdpass *fds)
{
	(void)fds;
	if (outcome_add_degraded(watch->outcome, report->problem.text) !=
	    STATUS_OK)
		watch_fail(watch, report->stage, &report->problem);
}

/* All is built, and whoever wants the run has written it down. */
void
watch_let_go(struct watch *watch)
{
	struct report report = { .kind = REPORT_RUN, .stage = STAGE_COMMAND };

	/* An inside that is gone is told by its end. */
	if (watch->ready && watch->go)
		(void)!report_send(watch->entered.control, &report, NULL);
}

static void
on_ready(struct watch *watch, const struct report *report, struct fdpass *fds)
{
	(void)report;
	(void)fds;
	watch->ready = true;
	watch_let_go(watch);
}

static void
begin_serving(struct watch *watch)
{
	const struct serve_target target = { .plan = watch->plan,
		.bounds = &watch->bounds,
		.ids = &watch->entered.ids,
		.init = watch->entered.child.pidfd,
		.pause = { .cgroup = &watch->bounds.cgroup,
		    .control = watch->entered.control,
		    .proc = watch->proc } };

	serve_begin(watch->serve, &target);
}

static void
on_started(struct watch *watch, const struct report *report, struct fdpass *fds)
{
	(void)report;
	(void)fds;
	watch->state = WATCH_RUNNING;
	(void)event_del(watch->timer);
	if (watch->plan->wall_ms > 0) {
		watch->deadline_us =
		    clock_monotonic_us() + watch->plan->wall_ms * 1000;
		watch_arm(watch, watch->plan->wall_ms);
	}
	begin_serving(watch);
	watch_look(watch);
}

static void
on_failed(struct watch *watch, const struct report *report, struct fdpass *fds)
{
	(void)fds;
	outcome_failed(
	    watch->outcome, report->stage, report->value, &report->problem);
	watch_end(watch);
}

static void
on_stopped(struct watch *watch, const struct report *report, struct fdpass *fds)
{
	(void)report;
	(void)fds;
	if (watch->paused ||
	    (!watch->stops && !terminal_is_there(watch->terminal)))
		return;
	watch->stops = false;
	terminal_stop(watch->terminal);
}

static void
on_ended(struct watch *watch, const struct report *report, struct fdpass *fds)
{
	(void)fds;
	outcome_ended(watch->outcome, report->value);
	watch_end(watch);
}

/* NULL: only we may say that. */
static watch_report *const handlers[REPORT_COUNT] = {
	[REPORT_LISTENERS] = on_listeners,
	[REPORT_RECORDER] = on_recorder,
	[REPORT_PROC] = on_proc,
	[REPORT_TERMINAL] = on_terminal,
	[REPORT_HIDDEN] = on_hidden,
	[REPORT_DEGRADED] = on_degraded,
	[REPORT_READY] = on_ready,
	[REPORT_STARTED] = on_started,
	[REPORT_FAILED] = on_failed,
	[REPORT_STOPPED] = on_stopped,
	[REPORT_ENDED] = on_ended,
};

/* The order the inside keeps: one offer, and nothing runs before trust. */
static bool
is_in_order(const struct watch *watch, enum report_kind kind)
{
	switch (kind) {
	case REPORT_LISTENERS:
		return !watch->offered;
	case REPORT_RECORDER:
		return true;
	case REPORT_PROC:
		return watch->proc < 0;
	case REPORT_TERMINAL:
		return terminal_waits(watch->terminal);
	case REPORT_READY:
		return watch->trusted && !watch->ready;
	case REPORT_STARTED:
		return watch->ready && watch->go &&
		       watch->state == WATCH_BUILDING;
	case REPORT_STOPPED:
	case REPORT_ENDED:
		return watch->state != WATCH_BUILDING;
	case REPORT_HIDDEN:
		return watch->state == WATCH_BUILDING;
	/* The command's own process is the last to tell. */
	case REPORT_DEGRADED:
	case REPORT_FAILED:
		return true;
	case REPORT_GO:
	case REPORT_TRUST:
	case REPORT_RUN:
	case REPORT_SIGNAL:
	case REPORT_SIGNAL_GROUP:
	case REPORT_PAUSE:
	case REPORT_COUNT:
		return false;
	}
	return false;
}

/* The inside is gone, or speaks out of turn. */
void
watch_lose(struct watch *watch)
{
	struct problem problem = { 0 };

	/* Who was told to end may go without a word. */
	if (watch->state == WATCH_ENDING)
		outcome_ended(watch->outcome, 0);
	else {
		(void)problem_set(&problem,
		    "the sandbox's first process ended without a word");
		outcome_failed(
		    watch->outcome, STAGE_INIT, OUTCOME_CODE_FAILED, &problem);
	}
	watch_end(watch);
}

void
watch_hear(struct watch *watch)
{
	while (watch->state != WATCH_OVER) {
		struct report report;
		struct fdpass fds;
		int status =
		    report_receive(watch->entered.control, &report, &fds);

		if (status == STATUS_AGAIN)
			return;
		if (status != STATUS_OK || !is_in_order(watch, report.kind)) {
			if (status == STATUS_OK)
				fdpass_done(&fds);
			watch_lose(watch);
			return;
		}
		handlers[report.kind](watch, &report, &fds);
		fdpass_done(&fds);
	}
}
