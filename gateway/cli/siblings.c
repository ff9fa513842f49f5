#include "gateway/cli/siblings.h"

#include "gateway/cli/auditor.h"
#include "gateway/cli/policies.h"
#include "gateway/cli/program.h"
#include "gateway/cli/task.h"
#include "gateway/proc/channel.h"
#include "gateway/proc/loop.h"
#include "gateway/proc/spawn.h"
#include "schema/status.h"

#include <assert.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
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
	[PHASE_OPENING] = { "the gateway and the audit writer to be ready",
	    LIMIT_SIBLING_MS },
	[PHASE_RUNNING] = { "the command", 0 },
	[PHASE_STOPPING] = { "the gateway to end", LIMIT_SIBLING_MS },
	[PHASE_CLOSING] = { "the last row of the audit", LIMIT_SIBLING_MS },
	[PHASE_OVER] = { "nothing", 0 },
};

static_assert(sizeof(phases) / sizeof(phases[0]) == PHASE_COUNT,
    "every phase has a deadline");

/* Told to the command by whoever runs us. */
static const int forwarded[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1,
	SIGUSR2, SIGWINCH, SIGCONT };

/* One program that we started and have not seen end. */
struct sibling {
	struct spawned spawned;
	struct event *ended; /* its pidfd */
	int status; /* as waitpid() has it, once it ended */
	bool runs;
};

struct siblings {
	const struct siblings_wish *wish;
	struct siblings_ending *ending;
	struct loop *loop;
	struct channel *audit, *gateway_channel;
	struct sibling gateway, launcher;
	struct event *deadline, *signals;
	sigset_t old_mask;
	int signal_fd;
	int handoff; /* the launcher's end, until it is started */
	enum phase phase;
	struct loop_deferred turn; /* what a new phase does */
	bool gateway_ready, audit_ready;
	bool gateway_left; /* its channel ended */
	bool killing; /* the launcher was told to end */
	struct program_environment environment;
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
	(void)spawn_kill(&all->launcher.spawned, SIGTERM);
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
	if (all->phase == PHASE_OPENING) {
		enter(all, PHASE_STOPPING);
		return;
	}
	end_command(all);
}

static void
fail_with(struct siblings *all, const char *text)
{
	struct problem problem;

	(void)problem_set(&problem, "%s", text);
	fail(all, &problem);
}

/* ---- processes ---- */

static void
reap(struct sibling *sibling)
{
	if (!sibling->runs || !spawn_reap(&sibling->spawned, &sibling->status))
		return;
	sibling->runs = false;
	if (sibling->ended != NULL)
		(void)event_del(sibling->ended);
}

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
on_launcher_ended(evutil_socket_t fd, short what, void *arg)
{
	struct siblings *all = arg;
	int code;

	(void)fd;
	(void)what;
	reap(&all->launcher);
	if (all->launcher.runs)
		return;
	code = launcher_code(all);
	if (!all->ending->failed)
		all->ending->code = code;
	/* Without a last word there is only the code to go by. */
	(void)!result_read(all->wish->result_fd, &all->ending->result);
	if (all->phase < PHASE_STOPPING)
		enter(all, PHASE_STOPPING);
}

/* Its last word is read and its process is gone. */
static void
check_gateway(struct siblings *all)
{
	bool gone = !all->gateway.runs &&
		    (all->gateway_channel == NULL || all->gateway_left);

	if (gone && all->phase == PHASE_STOPPING)
		enter(all, PHASE_CLOSING);
}

/* Its channel tells everything else; here it is only no child any more. */
static void
on_gateway_ended(evutil_socket_t fd, short what, void *arg)
{
	struct siblings *all = arg;

	(void)fd;
	(void)what;
	reap(&all->gateway);
	check_gateway(all);
}

static int
start(struct siblings *all, struct sibling *sibling, const struct spawn *spawn,
    event_callback_fn on_ended, struct problem *reterr)
{
	int status = spawn_start(spawn, &sibling->spawned, reterr);

	if (status != STATUS_OK)
		return status;
	sibling->runs = true;
	sibling->ended = event_new(loop_base(all->loop), sibling->spawned.pidfd,
	    EV_READ | EV_PERSIST, on_ended, all);
	if (sibling->ended == NULL || event_add(sibling->ended, NULL) != 0)
		return problem_set(reterr, "there is no memory for a process");
	return STATUS_OK;
}

/* ---- the launcher ---- */

static int
start_launcher(struct siblings *all, struct problem *reterr)
{
	struct program program;
	int status = program_find("exeat-launch", &program, reterr);
	const char *argv[] = { "exeat-launch", NULL };
	struct spawn spawn = { .path = program.path,
		.argv = argv,
		.envp = all->environment.list,
		.fds = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO,
		    all->wish->plan_fd, all->handoff, all->wish->result_fd },
		.count = 6,
		.dies_with_parent = true };

	if (status == STATUS_OK)
		status = start(
		    all, &all->launcher, &spawn, on_launcher_ended, reterr);
	/* Only the launcher may hold it, or the gateway sees no end. */
	(void)close(steal_fd(&all->handoff));
	return status;
}

static void
start_command(struct siblings *all)
{
	struct problem problem;

	if (all->phase != PHASE_OPENING || !all->gateway_ready ||
	    !all->audit_ready)
		return;
	if (start_launcher(all, &problem) != STATUS_OK) {
		fail(all, &problem);
		return;
	}
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
	} else {
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
	check_gateway(all);
}

static const struct channel_events gateway_events = {
	.on_frame = on_gateway_frame,
	.on_end = on_gateway_left,
};

static int
send_layers(struct siblings *all)
{
	const struct policies *policies = all->wish->policies;
	unsigned char packet[LIMIT_RULE_TEXT + 256];
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < policies->count; i++) {
		const struct policies_layer *layer = &policies->layers[i];
		struct cursor_writer out =
		    frame_begin(FRAME_ORDER_LAYER, packet, sizeof(packet));
		struct order_layer order = { .name = "" };

		memcpy(order.name, layer->name, sizeof(order.name));
		memcpy(order.sha256, layer->sha256, sizeof(order.sha256));
		order_layer_write(&order, &out);
		status =
		    channel_send(all->gateway_channel, &out, &layer->fd, 1);
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
	order_begin_write(&begin, &out);
	return channel_send(all->gateway_channel, &out, NULL, 0);
}

/* fds: the gateway's own ends, which stay the caller's. */
static int
start_gateway(struct siblings *all, int parent, int handoff, int producer,
    struct problem *reterr)
{
	struct program program;
	int status = program_find("exeat-gateway", &program, reterr);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const char *argv[] = { "exeat-gateway", NULL };
	struct spawn spawn = { .path = program.path,
		.argv = argv,
		.envp = all->environment.list,
		.fds = { null, null, STDERR_FILENO, parent, handoff, producer },
		.count = 6,
		.own_session = true };

	if (status == STATUS_OK && null < 0)
		status = problem_errno(reterr, "cannot open /dev/null");
	if (status == STATUS_OK)
		status =
		    start(all, &all->gateway, &spawn, on_gateway_ended, reterr);
	if (null >= 0)
		(void)close(null);
	if (status != STATUS_OK)
		return status;
	if (send_layers(all) != STATUS_OK || send_begin(all) != STATUS_OK)
		return problem_set(reterr, "cannot give the gateway its order");
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
		all->ending->closed = true;
		enter(all, PHASE_OVER);
	} else {
		channel_end(channel, STATUS_MALFORMED);
	}
}

static void
on_audit_left(struct channel *channel, int status, void *arg)
{
	struct siblings *all = arg;

	(void)channel;
	(void)status;
	if (all->phase == PHASE_OVER)
		return;
	fail_with(all, "the audit writer ended before the run was written "
		       "down; exeat audit shows what there is");
	if (all->phase == PHASE_CLOSING)
		enter(all, PHASE_OVER);
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
	status = auditor_connect(
	    all->wish->task->audit, &program, &all->environment, &fd, reterr);
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

	/* A launcher that never started must not keep the gateway waiting. */
	if (all->handoff >= 0)
		(void)close(steal_fd(&all->handoff));
	/* One that has ended already needs no order. */
	if (all->gateway_channel != NULL)
		(void)!channel_send(all->gateway_channel, &out, NULL, 0);
	check_gateway(all);
}

static void
close_audit(struct siblings *all)
{
	const char *end = all->ending->result.end;

	if (end[0] == '\0')
		end = "launch_failed";
	/* Without a writer its absence has been told already. */
	if (all->audit == NULL ||
	    ledger_close(all->audit, all->ending->code, end) != STATUS_OK)
		enter(all, PHASE_OVER);
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
	if (all->phase == PHASE_RUNNING) {
		(void)spawn_kill(&all->launcher.spawned, SIGKILL);
		return;
	}
	(void)problem_set(&problem, "waited %d s for %s",
	    LIMIT_SIBLING_MS / MS_A_SECOND, phases[all->phase].waits_for);
	if (all->phase == PHASE_STOPPING && all->gateway.runs)
		(void)spawn_kill(&all->gateway.spawned, SIGKILL);
	fail(all, &problem);
	if (all->phase == PHASE_CLOSING)
		enter(all, PHASE_OVER);
}

static void
on_signal(evutil_socket_t fd, short what, void *arg)
{
	struct siblings *all = arg;
	struct signalfd_siginfo info;

	(void)what;
	if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	/* A terminal's signal reaches the whole foreground by itself. */
	if (all->launcher.runs && info.ssi_code != SI_KERNEL)
		(void)spawn_kill(&all->launcher.spawned, (int)info.ssi_signo);
	if (all->phase != PHASE_OPENING || info.ssi_signo == SIGWINCH ||
	    info.ssi_signo == SIGCONT)
		return;
	fail_with(all, "a signal came before the command was started");
	all->ending->code = CODE_OF_SIGNAL + (int)info.ssi_signo;
}

static int
watch_signals(struct siblings *all, struct problem *reterr)
{
	sigset_t wanted;

	(void)sigemptyset(&wanted);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		(void)sigaddset(&wanted, forwarded[i]);
	all->signal_fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
	if (all->signal_fd < 0)
		return problem_errno(reterr, "cannot listen for signals");
	(void)sigprocmask(SIG_BLOCK, &wanted, &all->old_mask);
	all->signals = event_new(loop_base(all->loop), all->signal_fd,
	    EV_READ | EV_PERSIST, on_signal, all);
	if (all->signals == NULL || event_add(all->signals, NULL) != 0)
		return problem_set(reterr, "there is no memory for signals");
	return STATUS_OK;
}

/* Channels between siblings, by who holds which end. */
struct ends {
	int ours, gateway; /* parent and gateway */
	int handoff; /* the gateway's */
	int producer, writer; /* gateway and audit */
};

static void
ends_done(struct ends *ends)
{
	int all[] = { ends->ours, ends->gateway, ends->handoff, ends->producer,
		ends->writer };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] >= 0)
			(void)close(all[i]);
}

static int
ends_make(struct siblings *all, struct ends *ret, struct problem *reterr)
{
	int pair[2];

	*ret = (struct ends){ -1, -1, -1, -1, -1 };
	if (fdpass_pair(pair) != STATUS_OK)
		return problem_errno(reterr, "cannot make a channel");
	ret->ours = pair[0];
	ret->gateway = pair[1];
	if (fdpass_pair(pair) != STATUS_OK)
		return problem_errno(reterr, "cannot make a channel");
	ret->handoff = pair[0];
	all->handoff = pair[1];
	if (fdpass_pair(pair) != STATUS_OK)
		return problem_errno(reterr, "cannot make a channel");
	ret->producer = pair[0];
	ret->writer = pair[1];
	return STATUS_OK;
}

static int
open_run(struct siblings *all, struct ends *ends, struct problem *reterr)
{
	const struct siblings_wish *wish = all->wish;
	int status = watch_signals(all, reterr);

	if (status != STATUS_OK)
		return status;
	all->gateway_channel =
	    channel_new(all->loop, steal_fd(&ends->ours), &gateway_events, all);
	if (all->gateway_channel == NULL)
		return problem_set(reterr, "there is no memory for a channel");
	/* First, so that it gets ready while we wait for the writer. */
	status = start_gateway(
	    all, ends->gateway, ends->handoff, ends->producer, reterr);
	if (status == STATUS_OK)
		status = connect_audit(all, reterr);
	if (status != STATUS_OK)
		return status;
	if (ledger_open(all->audit, wish->name, wish->task, wish->settings,
		wish->policies, ends->writer) != STATUS_OK)
		return problem_set(
		    reterr, "the audit writer does not take the run");
	return STATUS_OK;
}

static bool
prepare(struct siblings *all, struct problem *reterr)
{
	all->loop = loop_new();
	if (all->loop != NULL)
		all->deadline =
		    event_new(loop_base(all->loop), -1, 0, on_deadline, all);
	if (all->deadline == NULL)
		(void)problem_set(reterr, "there is no memory for a loop");
	return all->deadline != NULL;
}

static void
sibling_done(struct sibling *sibling)
{
	if (sibling->ended != NULL)
		event_free(sibling->ended);
	spawned_done(&sibling->spawned);
}

static void
release(struct siblings *all)
{
	channel_free(all->audit);
	channel_free(all->gateway_channel);
	sibling_done(&all->gateway);
	sibling_done(&all->launcher);
	if (all->deadline != NULL)
		event_free(all->deadline);
	if (all->signals != NULL)
		event_free(all->signals);
	if (all->signal_fd >= 0)
		(void)close(all->signal_fd);
	if (all->handoff >= 0)
		(void)close(all->handoff);
	(void)sigprocmask(SIG_SETMASK, &all->old_mask, NULL);
	loop_free(all->loop);
}

void
siblings_run(const struct siblings_wish *wish, struct siblings_ending *ret)
{
	struct siblings all = { .wish = wish,
		.ending = ret,
		.gateway.spawned = { .pid = -1, .pidfd = -1 },
		.launcher.spawned = { .pid = -1, .pidfd = -1 },
		.turn.call = on_turn,
		.signal_fd = -1,
		.handoff = -1 };
	struct ends ends = { -1, -1, -1, -1, -1 };
	struct problem problem = { .text = "" };
	int status;

	*ret = (struct siblings_ending){ .code = CODE_FAILED };
	all.turn.arg = &all;
	(void)sigprocmask(SIG_BLOCK, NULL, &all.old_mask);
	program_environment(&all.environment);
	if (!prepare(&all, &problem)) {
		*ret = (struct siblings_ending){
			.code = CODE_FAILED, .failed = true, .problem = problem
		};
		release(&all);
		return;
	}
	status = ends_make(&all, &ends, &problem);
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
