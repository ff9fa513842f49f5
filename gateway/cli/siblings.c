#include "gateway/cli/siblings.h"

#include "gateway/cli/auditor.h"
#include "gateway/cli/desk.h"
#include "gateway/cli/ends.h"
#include "gateway/cli/lookalike.h"
#include "gateway/cli/policies.h"
#include "gateway/cli/program.h"
#include "gateway/cli/settings.h"
#include "gateway/cli/sibling.h"
#include "gateway/cli/signals.h"
#include "gateway/cli/steward.h"
#include "gateway/cli/task.h"
#include "gateway/cli/uplink.h"
#include "gateway/proc/channel.h"
#include "gateway/proc/loop.h"
#include "gateway/proc/spawn.h"
#include "schema/status.h"

#include <assert.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CODE_FAILED 125
#define CODE_OF_SIGNAL 128
#define US_A_MS 1000
#define MS_A_SECOND 1000

/* A command that is told to end gets this long before it is killed. */
#define GRACE_MS 5000

enum phase {
	PHASE_OPENING,
	PHASE_RUNNING,
	PHASE_STOPPING,
	PHASE_CLOSING,
	PHASE_OVER,
	PHASE_COUNT
};

/* What may follow a phase, and how long it may last without an answer. */
static const struct {
	const char *waits_for; /* for the message when nothing comes */
	int deadline_ms; /* 0: none */
} phases[] = {
	[PHASE_OPENING] = { "the gateway and its siblings to be ready",
	    LIMIT_SIBLING_MS },
	[PHASE_RUNNING] = { "the command", 0 },
	[PHASE_STOPPING] = { "the gateway to end", LIMIT_SIBLING_MS },
	[PHASE_CLOSING] = { "the last row of the audit, or a sibling's end",
	    LIMIT_SIBLING_MS },
	[PHASE_OVER] = { "nothing", 0 },
};

static_assert(sizeof(phases) / sizeof(phases[0]) == PHASE_COUNT,
    "every phase has a deadline");

struct siblings {
	const struct siblings_wish *wish;
	struct siblings_ending *ending;
	struct loop *loop;
	struct channel *audit, *gateway_channel, *reins;
	struct desk *desk;
	struct sibling gateway, launcher;
	struct steward *steward; /* of the broker; NULL: none is needed */
	struct signals *signals;
	struct event *deadline;
	enum phase phase;
	struct loop_deferred turn; /* what a new phase does */
	bool gateway_ready, audit_ready, broker_ready;
	bool gateway_left; /* its channel ended */
	bool audit_over; /* it has written the last row, or is gone */
	bool killing; /* the launcher was told to end */
};

static void
arm(struct siblings *all, int ms)
{
	struct timeval wait = { .tv_sec = ms / MS_A_SECOND,
		.tv_usec = (suseconds_t)(ms % MS_A_SECOND) * US_A_MS };

	(void)event_del(all->deadline);
	if (ms > 0)
		(void)event_add(all->deadline, &wait);
}

/*
 * The only writer of all->phase, which only goes forward.  What the phase
 * does comes at the end of the tick, when nothing of ours is on the stack.
 */
static void
enter(struct siblings *all, enum phase phase)
{
	assert(phase > all->phase);
	all->phase = phase;
	arm(all, phases[phase].deadline_ms);
	loop_defer(all->loop, &all->turn);
}

/* The launcher takes the sandbox with it. */
static void
end_command(struct siblings *all)
{
	if (!all->launcher.runs || all->killing)
		return;
	all->killing = true;
	sibling_signal(&all->launcher, SIGTERM);
	arm(all, GRACE_MS);
}

/* Keeps the first problem, and brings everything to its end. */
static void
fail(struct siblings *all, const struct problem *problem)
{
	if (!all->ending->failed) {
		all->ending->failed = true;
		all->ending->problem = *problem;
		all->ending->code = CODE_FAILED;
	}
	/* The sandbox goes first, if one is being built. */
	if (all->launcher.runs)
		end_command(all);
	else if (all->phase == PHASE_OPENING)
		enter(all, PHASE_STOPPING);
}

static void
fail_with(struct siblings *all, const char *text)
{
	struct problem problem;

	(void)problem_set(&problem, "%s", text);
	fail(all, &problem);
}

/* ---- processes ---- */

static int
launcher_code(struct siblings *all)
{
	struct problem problem;
	int status = all->launcher.status;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (all->killing)
		return CODE_FAILED;
	(void)problem_set(
	    &problem, "the launcher was killed by signal %d", WTERMSIG(status));
	fail(all, &problem);
	return CODE_FAILED;
}

static void
on_launcher_ended(void *arg)
{
	struct siblings *all = arg;
	int code = launcher_code(all);

	if (!all->ending->failed)
		all->ending->code = code;
	/*
	 * Without a last word there is only the code to go by; and of one that
	 * we ended before its command began there is nothing to tell.
	 */
	if (all->phase >= PHASE_RUNNING || !all->killing)
		(void)!result_read(all->wish->result_fd, &all->ending->result);
	if (all->phase < PHASE_STOPPING)
		enter(all, PHASE_STOPPING);
}

/*
 * Its sums come when its last row is accepted: the audit is closed while it
 * ends, and all is over once both are through.
 */
static void
check_ends(struct siblings *all)
{
	bool gone = !all->gateway.runs &&
		    (all->gateway_channel == NULL || all->gateway_left);
	bool silent = (gone || all->ending->tallied) &&
		      (all->steward == NULL || steward_has_ended(all->steward));

	if (silent && all->phase == PHASE_STOPPING)
		enter(all, PHASE_CLOSING);
	else if (gone && all->audit_over && all->phase == PHASE_CLOSING)
		enter(all, PHASE_OVER);
}

/* Its channel tells everything else; here it is only no child any more. */
static void
on_gateway_ended(void *arg)
{
	check_ends(arg);
}

/* ---- the launcher ---- */

/* Answers to commands; that it left is told by its process. */
static void
on_launcher_frame(struct channel *channel, const struct frame *frame,
    struct fdpass *fds, void *arg)
{
	const struct siblings *all = arg;

	if (all->desk == NULL || !desk_hear(all->desk, frame, fds))
		channel_end(channel, STATUS_MALFORMED);
}

static void
on_launcher_left(struct channel *channel, int status, void *arg)
{
	(void)channel;
	if (status == STATUS_MALFORMED)
		fail_with(arg, "the launcher said what it may not say");
}

static const struct channel_events launcher_events = {
	.on_frame = on_launcher_frame,
	.on_end = on_launcher_left,
};

/* It builds while the gateway and the writer get ready. */
static int
start_launcher(struct siblings *all, struct ends *ends, struct problem *reterr)
{
	struct program program;
	int status = program_find("exeat-launch", &program, reterr);
	const char *argv[] = { "exeat-launch", NULL };
	struct spawn spawn = { .path = program.path,
		.argv = argv,
		.envp = program_environment,
		.fds = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO,
		    all->wish->plan_fd, ends->launcher, all->wish->result_fd,
		    ends->bit, ends->recorder },
		.count = 8,
		.dies_with_parent = true };

	if (status != STATUS_OK)
		return status;
	all->reins = channel_new(
	    all->loop, steal_fd(&ends->reins), &launcher_events, all);
	if (all->reins == NULL)
		return problem_set(reterr, "there is no memory for a channel");
	return sibling_start(&all->launcher, all->loop, &spawn, reterr);
}

static void
start_command(struct siblings *all)
{
	unsigned char packet[8];
	struct cursor_writer out =
	    frame_begin(FRAME_REINS_GO, packet, sizeof(packet));

	if (all->phase != PHASE_OPENING || !all->gateway_ready ||
	    !all->audit_ready || !all->broker_ready || all->ending->failed)
		return;
	/* One that has ended says why by its end. */
	(void)!channel_send(all->reins, &out, NULL, 0);
	enter(all, PHASE_RUNNING);
}

/* ---- the gateway ---- */

static void
on_gateway_failed(struct siblings *all, struct cursor body)
{
	struct problem problem;

	if (order_failed_read(body, &problem) != STATUS_OK)
		(void)problem_set(&problem, "the gateway cannot start");
	fail(all, &problem);
}

static void
on_gateway_frame(struct channel *channel, const struct frame *frame,
    struct fdpass *fds, void *arg)
{
	struct siblings *all = arg;

	(void)fds;
	if (frame->type == FRAME_ORDER_READY && all->phase == PHASE_OPENING &&
	    cursor_is_empty(&frame->body)) {
		all->gateway_ready = true;
		start_command(all);
	} else if (frame->type == FRAME_ORDER_FAILED &&
		   all->phase < PHASE_STOPPING) {
		on_gateway_failed(all, frame->body);
	} else if (frame->type == FRAME_ORDER_TALLY &&
		   all->phase == PHASE_STOPPING &&
		   order_tally_read(frame->body, &all->ending->tally) ==
		       STATUS_OK) {
		all->ending->tallied = true;
		check_ends(all);
	} else if (all->desk == NULL || !desk_take(all->desk, frame)) {
		channel_end(channel, STATUS_MALFORMED);
	}
}

static void
on_gateway_left(struct channel *channel, int status, void *arg)
{
	struct siblings *all = arg;

	(void)channel;
	all->gateway_left = true;
	if (status == STATUS_MALFORMED)
		fail_with(all, "the gateway said what it may not say");
	else if (all->phase < PHASE_STOPPING)
		fail_with(all, "the gateway ended early");
	else if (!all->ending->tallied && !all->ending->failed)
		fail_with(all, "the gateway ended without telling its sums");
	check_ends(all);
}

static const struct channel_events gateway_events = {
	.on_frame = on_gateway_frame,
	.on_end = on_gateway_left,
};

static int
send_lures(struct siblings *all)
{
	const struct lookalikes *lookalikes = all->wish->lookalikes;
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < lookalikes->count; i++) {
		unsigned char packet[sizeof(lookalikes->list[i]) + 16];
		struct cursor_writer out =
		    frame_begin(FRAME_ORDER_LURE, packet, sizeof(packet));

		order_lure_write(&lookalikes->list[i], &out);
		status = channel_send(all->gateway_channel, &out, NULL, 0);
	}
	return status;
}

static int
send_begin(struct siblings *all)
{
	unsigned char packet[256];
	struct cursor_writer out =
	    frame_begin(FRAME_ORDER_BEGIN, packet, sizeof(packet));
	struct order_begin begin = { .run = "" };

	memcpy(begin.run, all->wish->name->uid, sizeof(begin.run));
	memcpy(begin.id, all->wish->name->id, sizeof(begin.id));
	begin.observe = all->wish->task->observe;
	order_begin_write(&begin, &out);
	return channel_send(all->gateway_channel, &out, NULL, 0);
}

static int
start_gateway(
    struct siblings *all, const struct ends *ends, struct problem *reterr)
{
	struct program program;
	int status = program_find("exeat-gateway", &program, reterr);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const char *level = program_log_level();
	const char *argv[] = { "exeat-gateway", level == NULL ? NULL : "--log",
		level, NULL };
	struct spawn spawn = { .path = program.path,
		.argv = argv,
		.envp = program_environment,
		.fds = { null, null, STDERR_FILENO, ends->gateway,
		    ends->handoff, ends->producer, ends->borrower },
		.count = 7,
		.own_session = true };

	if (status == STATUS_OK && null < 0)
		status = problem_errno(reterr, "cannot open /dev/null");
	if (status == STATUS_OK)
		status =
		    sibling_start(&all->gateway, all->loop, &spawn, reterr);
	if (null >= 0)
		(void)close(null);
	return status;
}

/* While it is still starting. */
static int
instruct_gateway(struct siblings *all, struct problem *reterr)
{
	struct channel *gateway = all->gateway_channel;
	struct policies *policies = all->wish->policies;
	int status = policies_hash(policies, reterr);

	if (status == STATUS_OK &&
	    (uplink_send(&all->wish->task->via, gateway) != STATUS_OK ||
		policies_send(policies, gateway) != STATUS_OK ||
		send_lures(all) != STATUS_OK || send_begin(all) != STATUS_OK))
		return problem_set(reterr, "cannot give the gateway its order");
	return status;
}

/* ---- the broker ---- */

static void
on_broker_ready(void *arg)
{
	struct siblings *all = arg;

	all->broker_ready = true;
	start_command(all);
}

/* Each with its place in the credential file, as a compiler tells it. */
static void
on_broker_failed(
    const struct problems *problems, const struct problem *problem, void *arg)
{
	struct siblings *all = arg;
	const char *file = all->wish->task->credentials;
	struct problem told;

	for (size_t i = 0; i < problems->count; i++) {
		const struct problem *one = &problems->list[i];

		if (one->line > 0)
			(void)problem_set(&told, "%.200s:%u:%u: %s", file,
			    one->line, one->column, one->text);
		else
			(void)problem_set(&told, "%.200s: %s", file, one->text);
		if (one->cure[0] != '\0')
			(void)problem_cure(&told, "%s", one->cure);
		problems_add(&all->ending->problems, &told);
	}
	fail(all, problem);
}

static void
on_broker_ended(void *arg)
{
	check_ends(arg);
}

static bool
needs_broker(const struct siblings_wish *wish)
{
	return wish->policies->needs.count > 0 || wish->task->identity != NULL;
}

static int
start_broker(
    struct siblings *all, const struct ends *ends, struct problem *reterr)
{
	const struct siblings_wish *wish = all->wish;
	struct steward_order order = { .loop = all->loop,
		.file = wish->task->credentials,
		.task = wish->task,
		.name = wish->name,
		.principal = wish->settings->user,
		.identity = wish->task->identity,
		.kept = wish->settings->kept,
		.needs = &wish->policies->needs,
		.gateway = ends->lender,
		.audit = ends->witness,
		.on_ready = on_broker_ready,
		.on_failed = on_broker_failed,
		.on_ended = on_broker_ended,
		.arg = all };

	if (needs_broker(wish))
		return steward_new(&order, &all->steward, reterr);
	all->broker_ready = true;
	return STATUS_OK;
}

/* ---- the audit ---- */

static void
on_audit_frame(struct channel *channel, const struct frame *frame,
    struct fdpass *fds, void *arg)
{
	struct siblings *all = arg;
	bool available;

	(void)fds;
	if (frame->type == FRAME_AUDIT_STATE &&
	    event_state_read(frame->body, &available) == STATUS_OK) {
		/* Closed later, it is the gateway that refuses. */
		if (!available && all->phase == PHASE_OPENING)
			fail_with(all, "the audit writer cannot write now");
		all->audit_ready = available;
		start_command(all);
	} else if (frame->type == FRAME_AUDIT_CLOSED &&
		   all->phase == PHASE_CLOSING &&
		   event_closed_read(frame->body, &all->ending->counts) ==
		       STATUS_OK) {
		all->ending->closed = all->audit_over = true;
		check_ends(all);
	} else if (all->desk == NULL || !desk_take(all->desk, frame)) {
		channel_end(channel, STATUS_MALFORMED);
	}
}

static void
on_audit_left(struct channel *channel, int status, void *arg)
{
	struct siblings *all = arg;

	(void)channel;
	(void)status;
	if (all->ending->closed)
		return;
	all->audit_over = true;
	fail_with(all, "the audit writer ended before the run was written "
		       "down; exeat audit shows what there is");
	check_ends(all);
}

static const struct channel_events audit_events = {
	.on_frame = on_audit_frame,
	.on_end = on_audit_left,
};

static int
connect_audit(struct siblings *all, struct problem *reterr)
{
	struct program program;
	int status = program_find("exeat-audit", &program, reterr), fd;

	if (status != STATUS_OK)
		return status;
	status = auditor_connect(all->wish->task->audit, &program, &fd, reterr);
	if (status != STATUS_OK)
		return status;
	all->audit = channel_new(all->loop, fd, &audit_events, all);
	if (all->audit == NULL)
		return problem_set(reterr, "there is no memory for a channel");
	return STATUS_OK;
}

/* ---- phases ---- */

static void
stop_gateway(struct siblings *all)
{
	unsigned char packet[16];
	struct cursor_writer out =
	    frame_begin(FRAME_ORDER_STOP, packet, sizeof(packet));

	/* One that has ended already needs no order. */
	if (all->gateway_channel != NULL)
		(void)!channel_send(all->gateway_channel, &out, NULL, 0);
	if (all->steward != NULL)
		steward_stop(all->steward);
	check_ends(all);
}

static void
close_audit(struct siblings *all)
{
	const char *end = all->ending->result.end;

	if (end[0] == '\0')
		end = "launch_failed";
	/* Without a writer its absence has been told already. */
	if (all->audit == NULL ||
	    ledger_close(all->audit, all->ending->code, end,
		all->ending->result.packets) != STATUS_OK)
		all->audit_over = true;
	if (all->wish->on_closing != NULL) {
		all->wish->on_closing(all->ending, all->wish->arg);
		/* What it took is nobody's delay. */
		arm(all, phases[PHASE_CLOSING].deadline_ms);
	}
	check_ends(all);
}

static void
on_turn(void *arg)
{
	struct siblings *all = arg;

	switch (all->phase) {
	case PHASE_STOPPING:
		stop_gateway(all);
		break;
	case PHASE_CLOSING:
		close_audit(all);
		break;
	case PHASE_OVER:
		loop_stop(all->loop);
		break;
	case PHASE_OPENING:
	case PHASE_RUNNING:
	case PHASE_COUNT:
		break;
	}
}

static void
on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct siblings *all = arg;
	struct problem problem;

	(void)fd;
	(void)what;
	if (all->killing && all->launcher.runs) {
		sibling_signal(&all->launcher, SIGKILL);
		return;
	}
	(void)problem_set(&problem, "waited %d s for %s",
	    LIMIT_SIBLING_MS / MS_A_SECOND, phases[all->phase].waits_for);
	if (all->phase >= PHASE_STOPPING) {
		sibling_signal(&all->gateway, SIGKILL);
		if (all->steward != NULL)
			steward_kill(all->steward);
	}
	fail(all, &problem);
	if (all->phase == PHASE_CLOSING)
		enter(all, PHASE_OVER);
}

static void
on_signal(int number, bool from_terminal, void *arg)
{
	struct siblings *all = arg;

	/* A terminal's signal reaches the whole foreground by itself. */
	if (!from_terminal)
		sibling_signal(&all->launcher, number);
	if (all->phase != PHASE_OPENING || number == SIGWINCH ||
	    number == SIGCONT)
		return;
	fail_with(all, "a signal came before the command was started");
	all->ending->code = CODE_OF_SIGNAL + number;
}

static int
open_desk(struct siblings *all, struct problem *reterr)
{
	struct desk_order order = { .loop = all->loop,
		.run = all->wish->name->uid,
		.task = all->wish->task,
		.settings = all->wish->settings,
		.policies = all->wish->policies,
		.gateway = all->gateway_channel,
		.audit = all->audit,
		.launcher = all->reins,
		.steward = all->steward };

	return desk_new(&order, &all->desk, reterr);
}

static int
open_run(struct siblings *all, struct ends *ends, struct problem *reterr)
{
	struct ledger_producers producers;
	const struct siblings_wish *wish = all->wish;
	int status;

	all->gateway_channel =
	    channel_new(all->loop, steal_fd(&ends->ours), &gateway_events, all);
	if (all->gateway_channel == NULL)
		return problem_set(reterr, "there is no memory for a channel");
	/* First, so that they get ready while we wait for the writer. */
	status = start_broker(all, ends, reterr);
	if (status == STATUS_OK)
		status = start_gateway(all, ends, reterr);
	if (status == STATUS_OK)
		status = start_launcher(all, ends, reterr);
	/* Only the others may hold their ends, or nobody sees them close. */
	(void)close(steal_fd(&ends->launcher));
	(void)close(steal_fd(&ends->bit));
	if (ends->recorder >= 0)
		(void)close(steal_fd(&ends->recorder));
	if (status == STATUS_OK)
		status = instruct_gateway(all, reterr);
	if (status == STATUS_OK)
		status = connect_audit(all, reterr);
	if (status != STATUS_OK)
		return status;
	producers = (struct ledger_producers){ ends->writer, ends->notary };
	if (ledger_open(all->audit, wish->name, wish->task, wish->settings,
		wish->policies, &producers) != STATUS_OK ||
	    (ends->reader >= 0 &&
		ledger_add_launcher(all->audit, ends->reader) != STATUS_OK))
		return problem_set(
		    reterr, "the audit writer does not take the run");
	return open_desk(all, reterr);
}

static bool
prepare(struct siblings *all, struct problem *reterr)
{
	sibling_init(&all->gateway);
	sibling_init(&all->launcher);
	all->gateway.on_ended = on_gateway_ended;
	all->launcher.on_ended = on_launcher_ended;
	all->gateway.arg = all->launcher.arg = all->turn.arg = all;
	all->turn.call = on_turn;
	all->loop = loop_new();
	if (all->loop != NULL) {
		all->deadline =
		    event_new(loop_base(all->loop), -1, 0, on_deadline, all);
		all->signals = signals_new(all->loop, on_signal, all);
	}
	if (all->deadline != NULL && all->signals != NULL)
		return true;
	(void)problem_set(reterr, "there is no memory for a loop");
	return false;
}

static void
release(struct siblings *all)
{
	desk_free(all->desk);
	channel_free(all->audit);
	channel_free(all->gateway_channel);
	channel_free(all->reins);
	steward_free(all->steward);
	sibling_done(&all->gateway);
	sibling_done(&all->launcher);
	signals_free(all->signals);
	if (all->deadline != NULL)
		event_free(all->deadline);
	loop_free(all->loop);
}

void
siblings_run(const struct siblings_wish *wish, struct siblings_ending *ret)
{
	struct siblings all = { .wish = wish, .ending = ret };
	struct ends ends;
	struct problem problem = { .text = "" };
	int status;

	*ret = (struct siblings_ending){ .code = CODE_FAILED };
	if (!prepare(&all, &problem)) {
		ret->failed = true;
		ret->problem = problem;
		release(&all);
		return;
	}
	status =
	    ends_make(needs_broker(wish), !wish->task->no_exec_record, &ends);
	if (status != STATUS_OK)
		(void)problem_errno(&problem, "cannot make a channel");
	if (status == STATUS_OK)
		status = open_run(&all, &ends, &problem);
	ends_done(&ends);
	arm(&all, phases[PHASE_OPENING].deadline_ms);
	if (status != STATUS_OK)
		fail(&all, &problem);
	if (loop_run(all.loop) != STATUS_OK && !ret->failed)
		fail_with(&all, "the loop of events cannot run");
	release(&all);
}
