#include "gateway/launch/watch.h"

#include "gateway/launch/enter.h"
#include "gateway/launch/execlog.h"
#include "gateway/launch/offer.h"
#include "gateway/launch/outcome.h"
#include "gateway/launch/plan.h"
#include "gateway/launch/redirect.h"
#include "gateway/launch/report.h"
#include "gateway/launch/serve.h"
#include "gateway/launch/watch_hear.h"
#include "gateway/launch/watch_state.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/fd.h"
#include "gateway/proc/fdpass.h"
#include "gateway/proc/loop.h"
#include "gateway/proc/pipes.h"
#include "gateway/proc/terminal.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int forwarded[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1,
	SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP };

void
watch_arm(struct watch *watch, int64_t ms)
{
	struct timeval wait = { .tv_sec = ms / 1000,
		.tv_usec = (suseconds_t)(ms % 1000 * 1000) };

	(void)event_del(watch->timer);
	(void)event_add(watch->timer, &wait);
}

void
watch_look(struct watch *watch)
{
	static const struct timeval time = { .tv_usec = LIMIT_LOOK_MS * 1000L };

	(void)event_add(watch->look, &time);
}

void
watch_end(struct watch *watch)
{
	watch->state = WATCH_OVER;
	loop_stop(watch->loop);
}

void
watch_fail(struct watch *watch, enum stage stage, const struct problem *problem)
{
	outcome_failed(watch->outcome, stage, OUTCOME_CODE_FAILED, problem);
	watch_end(watch);
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

/* Asked first, and made to after a while; whoever is paused hears nothing. */
static void
begin_end(struct watch *watch)
{
	watch->state = WATCH_ENDING;
	if (watch->paused) {
		outcome_ended(watch->outcome, 0);
		watch_end(watch);
		return;
	}
	watch_arm(watch, watch->plan->grace_ms);
	send_signal(watch, REPORT_SIGNAL_GROUP, SIGTERM);
}

/* ---- the gateway ---- */

static void
take_trust(struct watch *watch)
{
	struct report report = { .kind = REPORT_TRUST, .stage = STAGE_TRUST };
	struct problem problem = { 0 };
	int trust[HANDOFF_TRUST_COUNT] = { -1, -1 };
	int status = offer_answer(watch->gateway, trust, &problem);

	if (status == STATUS_AGAIN)
		return;
	if (status == STATUS_OK && !watch->offered)
		status = problem_set(
		    &problem, "the gateway answered what nobody asked");
	/* An inside that is gone has said why: that is read, and told. */
	if (status == STATUS_OK)
		status = report_send(watch->entered.control, &report, trust);
	for (size_t i = 0; i < HANDOFF_TRUST_COUNT; i++)
		fd_done(&trust[i]);
	if (status == STATUS_CLOSED)
		return;
	if (status != STATUS_OK && status != STATUS_PROBLEM)
		status =
		    problem_set(&problem, "the sandbox takes no trust bundle");
	watch->trusted = status == STATUS_OK;
	if (status != STATUS_OK)
		watch_fail(watch, STAGE_HANDOFF, &problem);
}

static void
hear_gateway(struct watch *watch)
{
	if (!watch->trusted) {
		take_trust(watch);
		return;
	}
	(void)event_del(watch->answered);
	if (watch->state == WATCH_BUILDING) {
		struct problem problem = { 0 };

		(void)problem_set(
		    &problem, "the gateway left before the sandbox began");
		watch_fail(watch, STAGE_HANDOFF, &problem);
		return;
	}
	/* It has nothing more to say: this is its end.  Connections are
	 * refused already; the command gets a moment to notice. */
	if (watch->state != WATCH_RUNNING)
		return;
	watch->outcome->end = OUTCOME_GATEWAY_LOST;
	watch->state = WATCH_ENDING;
	watch_arm(watch, LIMIT_GATEWAY_GRACE_MS);
}

/* ---- the parent ---- */

static void
on_go(void *arg)
{
	struct watch *watch = arg;

	watch->go = true;
	watch_let_go(watch);
}

/* Somebody said exeat stop: as a time limit, but at once. */
static void
on_stop(void *arg)
{
	struct watch *watch = arg;

	if (watch->state != WATCH_RUNNING)
		return;
	watch->outcome->end = OUTCOME_STOPPED;
	begin_end(watch);
}

/* The time of a pause is nobody's. */
static void
on_pause(bool paused, void *arg)
{
	struct watch *watch = arg;
	int64_t now = clock_monotonic_us();

	watch->paused = paused;
	if (paused) {
		watch->paused_us = now;
		(void)event_del(watch->timer);
		(void)event_del(watch->look);
		return;
	}
	watch->bounds.busy_us = 0;
	watch_look(watch);
	if (watch->deadline_us == 0)
		return;
	watch->deadline_us += now - watch->paused_us;
	watch_arm(watch, (watch->deadline_us - now) / 1000);
}

/* Its death is ours, by the kernel; a bad word is as good as that. */
static void
on_left(void *arg)
{
	struct watch *watch = arg;
	struct problem problem = { 0 };

	if (watch->state == WATCH_OVER)
		return;
	(void)problem_set(&problem, "whoever started the sandbox is gone");
	watch_fail(watch, STAGE_COMMAND, &problem);
}

static const struct serve_events serve_events = {
	.on_go = on_go,
	.on_stop = on_stop,
	.on_pause = on_pause,
	.on_left = on_left,
	.on_recorder = watch_record,
};

/* ---- signals and time ---- */

static void
abort_building(struct watch *watch, int number)
{
	if (number != SIGTERM && number != SIGINT && number != SIGHUP &&
	    number != SIGQUIT)
		return;
	/* As if the command had been there and been ended by it. */
	outcome_ended(watch->outcome, number);
	watch_end(watch);
}

/* A terminal speaks to a group, and so does whoever lets us go on. */
static void
pass_on(struct watch *watch, int number, bool from_terminal)
{
	bool group = from_terminal || number == SIGCONT || number == SIGTSTP;

	watch->stops = number == SIGTSTP;
	/* The new size of its own terminal tells it. */
	if (number == SIGWINCH && terminal_is_there(watch->terminal))
		return;
	if (group && terminal_signal(watch->terminal, number))
		return;
	/* A session without a terminal is only stopped by what cannot be
	 * refused. */
	if (number == SIGTSTP)
		number = SIGSTOP;
	send_signal(watch, group ? REPORT_SIGNAL_GROUP : REPORT_SIGNAL, number);
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
		terminal_resume(watch->terminal);
	if (number == SIGWINCH)
		terminal_resize(watch->terminal);
	pass_on(watch, number, info.ssi_code == SI_KERNEL);
}

static void
run_out_of_time(struct watch *watch)
{
	struct problem problem = { 0 };

	switch (watch->state) {
	case WATCH_BUILDING:
		(void)problem_set(&problem, "%s did not answer in time",
		    !watch->offered   ? "the sandbox"
		    : !watch->trusted ? "the gateway"
		    : !watch->ready   ? "the sandbox"
				      : "whoever started it");
		watch_fail(watch, STAGE_HANDOFF, &problem);
		return;
	case WATCH_RUNNING:
		watch->outcome->end = OUTCOME_TIMEOUT;
		begin_end(watch);
		return;
	case WATCH_ENDING:
		outcome_ended(watch->outcome, 0);
		watch_end(watch);
		return;
	case WATCH_OVER:
		return;
	}
}

/* What no control group keeps is kept by looking; nothing is asked of whom
 * takes too much. */
static void
on_look(evutil_socket_t fd, short what, void *arg)
{
	static const enum outcome_end ends[] = {
		[BOUNDS_MEMORY] = OUTCOME_OOM,
		[BOUNDS_DISK] = OUTCOME_LIMIT,
		[BOUNDS_IDLE] = OUTCOME_TIMEOUT,
	};
	struct watch *watch = arg;
	enum bounds_verdict verdict;

	(void)fd;
	(void)what;
	if (watch->state != WATCH_RUNNING)
		return;
	verdict =
	    bounds_look(&watch->bounds, watch->proc, clock_monotonic_us());
	if (verdict == BOUNDS_KEPT)
		return;
	if (verdict == BOUNDS_IDLE) {
		run_out_of_time(watch);
		return;
	}
	watch->outcome->end = ends[verdict];
	outcome_ended(watch->outcome, 0);
	watch_end(watch);
}

/* Reports first: what ended the sandbox was said before it ended. */
static void
on_event(evutil_socket_t fd, short what, void *arg)
{
	struct watch *watch = arg;

	(void)what;
	watch_hear(watch);
	if (watch->state == WATCH_OVER)
		return;
	if (fd == watch->entered.child.pidfd)
		watch_lose(watch);
	else if (fd == watch->signals)
		hear_signal(watch);
	else if (fd == watch->gateway)
		hear_gateway(watch);
	else if (fd < 0)
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

static struct event *
listen_to(struct watch *watch, int fd)
{
	struct event *event = event_new(loop_base(watch->loop), fd,
	    fd < 0 ? 0 : EV_READ | EV_PERSIST, on_event, watch);

	if (event != NULL && fd >= 0 && event_add(event, NULL) != 0) {
		event_free(event);
		return NULL;
	}
	return event;
}

static int
open_record(struct watch *watch, int audit, struct problem *reterr)
{
	if (!watch->plan->record_exec)
		return STATUS_OK;
	if (audit < 0)
		return problem_set(reterr, "there is no audit to record for");
	watch->execlog = execlog_new(watch->loop, audit);
	return watch->execlog == NULL
		   ? problem_errno(reterr, "programs cannot be recorded")
		   : STATUS_OK;
}

static int
open_watch(struct watch *watch, const struct watch_peers *peers,
    struct problem *reterr)
{
	watch->signals = open_signals();
	if (watch->signals < 0)
		return problem_errno(reterr, "cannot listen for signals");
	watch->loop = loop_new();
	if (watch->loop != NULL) {
		watch->serve =
		    serve_new(watch->loop, peers->parent, &serve_events, watch);
		watch->timer = listen_to(watch, -1);
		watch->signalled = listen_to(watch, watch->signals);
		watch->answered = listen_to(watch, watch->gateway);
	}
	watch->look = watch->loop == NULL ? NULL
					  : event_new(loop_base(watch->loop),
						-1, EV_PERSIST, on_look, watch);
	if (watch->look == NULL || watch->serve == NULL ||
	    watch->timer == NULL || watch->signalled == NULL ||
	    watch->answered == NULL)
		return problem_set(reterr, "there is no memory for a loop");
	if (open_record(watch, peers->audit, reterr) != STATUS_OK)
		return STATUS_PROBLEM;
	if (terminal_new(watch->plan->terminal, &watch->terminal, reterr) !=
	    STATUS_OK)
		return STATUS_PROBLEM;
	return pipes_new(&watch->pipes, reterr);
}

/* From the sandbox's birth to its end. */
static int
attend(struct watch *watch, enum stage *ret_stage, struct problem *reterr)
{
	struct enter_order order = { .plan = watch->plan,
		.terminal = watch->terminal,
		.pipes = watch->pipes,
		.bounds = &watch->bounds };
	int status;

	*ret_stage = STAGE_LIMITS;
	status =
	    bounds_make(&watch->bounds, watch->plan, watch->outcome, reterr);
	if (status == STATUS_OK)
		status =
		    enter_start(&order, &watch->entered, ret_stage, reterr);
	if (status != STATUS_OK)
		return status;
	(void)prctl(PR_SET_DUMPABLE, 0);
	status = pipes_begin(watch->pipes, watch->loop, reterr);
	if (status != STATUS_OK)
		return status;
	watch->inside = listen_to(watch, watch->entered.control);
	watch->first = listen_to(watch, watch->entered.child.pidfd);
	watch_arm(watch, LIMIT_SIBLING_MS);
	if (watch->inside == NULL || watch->first == NULL ||
	    loop_run(watch->loop) != STATUS_OK)
		status = problem_set(reterr, "the loop of events cannot run");
	return status;
}

static void
close_watch(struct watch *watch)
{
	struct event *const events[] = { watch->inside, watch->first,
		watch->signalled, watch->answered, watch->timer, watch->look };

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (events[i] != NULL)
			event_free(events[i]);
	serve_free(watch->serve);
	watch->outcome->execs = execlog_free(watch->execlog);
	loop_free(watch->loop);
	fd_done(&watch->signals);
}

/* Version 1 lets nobody die who is frozen; but nothing runs any more. */
static void
thaw(struct watch *watch)
{
	if (!watch->paused)
		return;
	(void)syscall(SYS_pidfd_send_signal, watch->entered.child.pidfd,
	    SIGKILL, NULL, 0);
	(void)!cgroup_freeze(&watch->bounds.cgroup, false);
}

static void
tell_usage(struct watch *watch)
{
	struct outcome *outcome = watch->outcome;
	struct rusage used;

	if (getrusage(RUSAGE_CHILDREN, &used) == 0)
		outcome->cpu_ms =
		    (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) *
			1000 +
		    (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) /
			1000;
	if (watch->bounds.plan == NULL)
		return;
	bounds_tell(&watch->bounds, outcome);
	bounds_done(&watch->bounds);
	fd_done(&watch->proc);
	/* A kill that nobody sent, and the kernel says that it did. */
	if (outcome->end == OUTCOME_SIGNALED && outcome->signal == SIGKILL &&
	    outcome->memory_kills > 0) {
		outcome->end = OUTCOME_OOM;
		outcome->code = OUTCOME_CODE_SIGNAL + SIGKILL;
	}
}

/* Nobody sends any more; the socket has kept the network till now. */
static void
tell_packets(struct watch *watch)
{
	struct outcome *outcome = watch->outcome;

	if (watch->counters < 0)
		return;
	outcome->packets_known =
	    redirect_count(watch->counters, &outcome->packets) == STATUS_OK;
	fd_done(&watch->counters);
}

void
watch_run(const struct plan *plan, const struct watch_peers *peers,
    struct outcome *outcome)
{
	struct watch watch = { .plan = plan,
		.outcome = outcome,
		.entered = { .child = { -1, -1 }, .control = -1 },
		.gateway = peers->gateway,
		.proc = -1,
		.counters = -1,
		.started_us = clock_monotonic_us() };
	struct problem problem = { 0 };
	enum stage stage = STAGE_PLAN;
	int status = open_watch(&watch, peers, &problem);

	if (status == STATUS_OK)
		status = attend(&watch, &stage, &problem);
	if (status != STATUS_OK)
		outcome_failed(outcome, stage, OUTCOME_CODE_FAILED, &problem);
	thaw(&watch);
	entered_done(&watch.entered);
	tell_usage(&watch);
	tell_packets(&watch);
	terminal_free(watch.terminal);
	pipes_free(watch.pipes);
	close_watch(&watch);
	outcome->wall_ms = (clock_monotonic_us() - watch.started_us) / 1000;
}
