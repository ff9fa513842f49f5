#include "gateway/launch/watch.h"

#include "gateway/launch/enter.h"
#include "gateway/launch/fd.h"
#include "gateway/launch/offer.h"
#include "gateway/launch/outcome.h"
#include "gateway/launch/plan.h"
#include "gateway/launch/report.h"
#include "gateway/launch/terminal.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/fdpass.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int forwarded[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1,
	SIGUSR2, SIGWINCH, SIGCONT };

enum watch_state {
	WATCH_BUILDING, /* until the command starts */
	WATCH_RUNNING,
	WATCH_ENDING, /* it has been told to end, or lost its gateway */
	WATCH_OVER
};

struct watch {
	const struct plan *plan;
	struct outcome *outcome;
	struct terminal terminal;
	struct entered entered;
	int gateway, signals;
	enum watch_state state;
	int64_t started_us, deadline_us; /* 0: none */
	bool offered, trusted;
};

static int64_t
in_ms(int64_t ms)
{
	return clock_monotonic_us() + ms * 1000;
}

static void
end(struct watch *watch)
{
	watch->state = WATCH_OVER;
}

static void
fail(struct watch *watch, enum stage stage, const struct problem *problem)
{
	outcome_failed(watch->outcome, stage, OUTCOME_CODE_FAILED, problem);
	end(watch);
}

static void
send_signal(struct watch *watch, enum report_kind kind, int number)
{
	struct report report = {
		.kind = kind, .stage = STAGE_COMMAND, .value = number
	};

	/* A full socket: more signals wait there than anybody can mean. */
	(void)!report_send(watch->entered.control, &report, NULL);
}

/* ---- reports of the inside, a table of what each is good for ---- */

typedef void watch_report(
    struct watch *, const struct report *, struct fdpass *);

static void
on_listeners(
    struct watch *watch, const struct report *report, struct fdpass *fds)
{
	struct problem problem = { 0 };

	(void)report;
	if (offer_send(watch->gateway, fds->fds, &problem) != STATUS_OK)
		fail(watch, STAGE_HANDOFF, &problem);
	watch->offered = true;
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
		fail(watch, STAGE_MASKS, &problem);
	}
}

static void
on_degraded(
    struct watch *watch, const struct report *report, struct fdpass *fds)
{
	(void)fds;
	if (outcome_add_degraded(watch->outcome, report->problem.text) !=
	    STATUS_OK)
		fail(watch, report->stage, &report->problem);
}

static void
on_started(struct watch *watch, const struct report *report, struct fdpass *fds)
{
	(void)report;
	(void)fds;
	watch->state = WATCH_RUNNING;
	watch->deadline_us =
	    watch->plan->wall_ms == 0
		? 0
		: watch->started_us + watch->plan->wall_ms * 1000;
}

static void
on_failed(struct watch *watch, const struct report *report, struct fdpass *fds)
{
	(void)fds;
	outcome_failed(
	    watch->outcome, report->stage, report->value, &report->problem);
	end(watch);
}

static void
on_stopped(struct watch *watch, const struct report *report, struct fdpass *fds)
{
	(void)report;
	(void)fds;
	terminal_stop(&watch->terminal);
}

static void
on_ended(struct watch *watch, const struct report *report, struct fdpass *fds)
{
	(void)fds;
	outcome_ended(watch->outcome, report->value);
	end(watch);
}

/* NULL: only we may say that. */
static watch_report *const handlers[REPORT_COUNT] = {
	[REPORT_LISTENERS] = on_listeners,
	[REPORT_HIDDEN] = on_hidden,
	[REPORT_DEGRADED] = on_degraded,
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
	case REPORT_STARTED:
		return watch->trusted && watch->state == WATCH_BUILDING;
	case REPORT_STOPPED:
	case REPORT_ENDED:
		return watch->state != WATCH_BUILDING;
	case REPORT_HIDDEN:
	case REPORT_DEGRADED:
		return watch->state == WATCH_BUILDING;
	case REPORT_FAILED:
		return true;
	case REPORT_GO:
	case REPORT_TRUST:
	case REPORT_SIGNAL:
	case REPORT_SIGNAL_GROUP:
	case REPORT_COUNT:
		return false;
	}
	return false;
}

/* The inside is gone, or speaks out of turn. */
static void
lose(struct watch *watch)
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
	end(watch);
}

static void
hear_inside(struct watch *watch)
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
			lose(watch);
			return;
		}
		handlers[report.kind](watch, &report, &fds);
		fdpass_done(&fds);
	}
}

/* ---- the gateway ---- */

static void
take_trust(struct watch *watch)
{
	struct report report = { .kind = REPORT_TRUST, .stage = STAGE_TRUST };
	struct problem problem = { 0 };
	int bundle = -1;
	int status = offer_answer(watch->gateway, &bundle, &problem);

	if (status == STATUS_AGAIN)
		return;
	if (status == STATUS_OK && !watch->offered)
		status = problem_set(
		    &problem, "the gateway answered what nobody asked");
	/* An inside that is gone has said why: that is read, and told. */
	if (status == STATUS_OK)
		status = report_send(watch->entered.control, &report, &bundle);
	fd_done(&bundle);
	if (status == STATUS_CLOSED)
		return;
	if (status != STATUS_OK && status != STATUS_PROBLEM)
		status =
		    problem_set(&problem, "the sandbox takes no trust bundle");
	watch->trusted = status == STATUS_OK;
	if (status != STATUS_OK)
		fail(watch, STAGE_HANDOFF, &problem);
}

static void
hear_gateway(struct watch *watch)
{
	if (!watch->trusted) {
		take_trust(watch);
		return;
	}
	if (watch->state == WATCH_BUILDING) {
		struct problem problem = { 0 };

		(void)problem_set(
		    &problem, "the gateway left before the sandbox began");
		fail(watch, STAGE_HANDOFF, &problem);
		return;
	}
	/* It has nothing more to say: this is its end.  Connections are
	 * refused already; the command gets a moment to notice. */
	watch->gateway = -1;
	if (watch->state != WATCH_RUNNING)
		return;
	watch->outcome->end = OUTCOME_GATEWAY_LOST;
	watch->state = WATCH_ENDING;
	watch->deadline_us = in_ms(LIMIT_GATEWAY_GRACE_MS);
}

/* ---- signals and time ---- */

static void
abort_building(struct watch *watch, int number)
{
	if (number != SIGTERM && number != SIGINT && number != SIGHUP &&
	    number != SIGQUIT)
		return;
	/* As if the command had been there and been ended by it. */
	outcome_ended(watch->outcome, number);
	end(watch);
}

static void
hear_signal(struct watch *watch)
{
	struct signalfd_siginfo info;
	int number;

	if (read(watch->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	number = (int)info.ssi_signo;
	if (watch->state == WATCH_BUILDING) {
		abort_building(watch, number);
		return;
	}
	if (number == SIGCONT)
		terminal_resume(&watch->terminal);
	/* A terminal speaks to a group, and so does whoever lets us go on. */
	if (info.ssi_code == SI_KERNEL || number == SIGCONT)
		send_signal(watch, REPORT_SIGNAL_GROUP, number);
	else
		send_signal(watch, REPORT_SIGNAL, number);
}

static void
run_out_of_time(struct watch *watch)
{
	struct problem problem = { 0 };

	switch (watch->state) {
	case WATCH_BUILDING:
		(void)problem_set(&problem, "%s did not answer in time",
		    watch->offered ? "the gateway" : "the sandbox");
		fail(watch, STAGE_HANDOFF, &problem);
		return;
	case WATCH_RUNNING:
		watch->outcome->end = OUTCOME_TIMEOUT;
		watch->state = WATCH_ENDING;
		watch->deadline_us = in_ms(LIMIT_TIMEOUT_GRACE_MS);
		send_signal(watch, REPORT_SIGNAL_GROUP, SIGTERM);
		return;
	case WATCH_ENDING:
		outcome_ended(watch->outcome, 0);
		end(watch);
		return;
	case WATCH_OVER:
		return;
	}
}

/* How long poll may wait, in milliseconds, never too short. */
static int
time_left(const struct watch *watch)
{
	int64_t left;

	if (watch->deadline_us == 0)
		return -1;
	left = (watch->deadline_us - clock_monotonic_us() + 999) / 1000;
	if (left < 0)
		return 0;
	return left > INT32_MAX ? INT32_MAX : (int)left;
}

static void
step(struct watch *watch)
{
	struct pollfd wait[] = {
		{ .fd = watch->entered.control, .events = POLLIN },
		{ .fd = watch->entered.child.pidfd, .events = POLLIN },
		{ .fd = watch->signals, .events = POLLIN },
		{ .fd = watch->gateway, .events = POLLIN },
	};
	int ready =
	    poll(wait, sizeof(wait) / sizeof(wait[0]), time_left(watch));

	if (ready < 0 && errno != EINTR) {
		lose(watch);
		return;
	}
	/* Reports first: what ended the command was said before it ended. */
	if (ready > 0 && (wait[0].revents != 0 || wait[1].revents != 0))
		hear_inside(watch);
	if (watch->state != WATCH_OVER && ready > 0 && wait[1].revents != 0)
		lose(watch);
	if (watch->state != WATCH_OVER && ready > 0 && wait[2].revents != 0)
		hear_signal(watch);
	if (watch->state != WATCH_OVER && ready > 0 && wait[3].revents != 0)
		hear_gateway(watch);
	if (watch->state != WATCH_OVER && watch->deadline_us != 0 &&
	    clock_monotonic_us() >= watch->deadline_us)
		run_out_of_time(watch);
}

static int
open_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		(void)sigaddset(&set, forwarded[i]);
	/* Whoever reads our messages may leave. */
	(void)sigaddset(&set, SIGPIPE);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return -1;
	(void)sigdelset(&set, SIGPIPE);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void
watch_run(const struct plan *plan, int gateway, struct outcome *outcome)
{
	struct watch watch = { .plan = plan,
		.outcome = outcome,
		.terminal = terminal_look(),
		.gateway = gateway,
		.signals = open_signals(),
		.started_us = clock_monotonic_us(),
		.deadline_us = in_ms(LIMIT_SIBLING_MS) };
	struct problem problem = { 0 };
	enum stage stage = STAGE_PLAN;
	int status = watch.signals < 0
			 ? problem_errno(&problem, "cannot listen for signals")
			 : enter_start(plan, &watch.terminal, &watch.entered,
			       &stage, &problem);

	if (status != STATUS_OK) {
		outcome_failed(outcome, stage, OUTCOME_CODE_FAILED, &problem);
	} else {
		(void)prctl(PR_SET_DUMPABLE, 0);
		while (watch.state != WATCH_OVER)
			step(&watch);
		entered_done(&watch.entered);
		terminal_restore(&watch.terminal);
	}
	fd_done(&watch.signals);
	outcome->wall_ms = (clock_monotonic_us() - watch.started_us) / 1000;
}
