#include "gateway/control/parent.h"

#include "gateway/audit/sink.h"
#include "gateway/control/adopt.h"
#include "gateway/control/engine.h"
#include "gateway/flow/consent.h"
#include "gateway/flow/detour.h"
#include "gateway/proc/channel.h"
#include "gateway/proc/log.h"
#include "gateway/proc/loop.h"
#include "gateway/run/lures.h"
#include "policy/document.h"
#include "policy/honour.h"
#include "policy/rule.h"
#include "policy/stack.h"
#include "schema/frame.h"
#include "schema/limits.h"
#include "schema/order.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum parent_phase {
	PARENT_LOADING, /* layers come in */
	PARENT_RUNNING,
	PARENT_STOPPING, /* the last rows are on their way */
	PARENT_OVER
};

struct parent {
	struct loop *loop;
	struct sink *sink;
	struct channel *channel;
	int handoff_fd, lookout_fd, broker_fd;
	enum parent_phase phase;
	bool in_order; /* it was stopped, not cut off */
	/* Of the policy that is coming in: at first, and at every change. */
	struct policy *layers[LIMIT_LAYERS];
	size_t count;
	bool broken; /* one of them cannot be loaded */
	struct problem fault;
	struct detour_proxy house; /* that order points to, if there is one */
	struct engine_order order;
	struct engine *engine;
	struct adopt *adopt;
	struct event *drain; /* looks whether the last rows are accepted */
	int drain_left;
};

/* How often, and how long, the last rows are waited for. */
enum {
	DRAIN_MS = 10,
	DRAIN_ROUNDS = LIMIT_AUDIT_WAIT_MS / DRAIN_MS
};

static void
say_tally(struct parent *parent)
{
	unsigned char packet[128];
	struct cursor_writer out =
	    frame_begin(FRAME_ORDER_TALLY, packet, sizeof(packet));
	struct order_tally tally = engine_tally(parent->engine);

	order_tally_write(&tally, &out);
	if (channel_send(parent->channel, &out, NULL, 0) != STATUS_OK)
		log_debug("the parent does not take the tally");
}

static void
end(struct parent *parent)
{
	if (parent->in_order && parent->engine != NULL)
		say_tally(parent);
	parent->phase = PARENT_OVER;
	loop_stop(parent->loop);
}

static void
on_drain(evutil_socket_t fd, short what, void *arg)
{
	struct parent *parent = arg;
	static const struct timeval wait = { .tv_usec = DRAIN_MS * 1000L };

	(void)fd;
	(void)what;
	if (sink_waiting(parent->sink) > 0 && parent->drain_left-- > 0 &&
	    event_add(parent->drain, &wait) == 0)
		return;
	if (sink_waiting(parent->sink) > 0)
		log_error("the last rows were not accepted by the audit");
	end(parent);
}

static void
stop(struct parent *parent)
{
	if (parent->phase >= PARENT_STOPPING)
		return;
	parent->phase = PARENT_STOPPING;
	if (parent->engine == NULL) {
		end(parent);
		return;
	}
	engine_stop(parent->engine, REASON_STOPPING);
	sink_flush(parent->sink);
	parent->drain_left = DRAIN_ROUNDS;
	on_drain(-1, 0, parent);
}

static void
say_failed(struct parent *parent, const struct problem *problem)
{
	unsigned char packet[1024];
	struct cursor_writer out =
	    frame_begin(FRAME_ORDER_FAILED, packet, sizeof(packet));

	order_failed_write(problem, &out);
	if (channel_send(parent->channel, &out, NULL, 0) != STATUS_OK)
		log_error("%s", problem->text);
	stop(parent);
}

/* Reads the whole text; the caller frees it. */
static int
read_text(int fd, char **ret, size_t *ret_length, struct problem *reterr)
{
	struct stat st;
	size_t got = 0;
	char *text;

	if (fstat(fd, &st) != 0)
		return problem_errno(reterr, "cannot examine a policy");
	if (st.st_size < 0 || st.st_size > LIMIT_POLICY_BYTES)
		return problem_set(reterr, "a policy is too long");
	text = malloc((size_t)st.st_size + 1);
	if (text == NULL)
		return problem_set(reterr, "there is no memory");
	while (got < (size_t)st.st_size) {
		ssize_t n =
		    pread(fd, text + got, (size_t)st.st_size - got, (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			free(text);
			return problem_errno(reterr, "cannot read a policy");
		}
		got += (size_t)n;
	}
	*ret = text;
	*ret_length = got;
	return STATUS_OK;
}

/* A gateway never begins to enforce what it would ignore. */
static int
check_promises(const struct parent *parent, const struct policy *policy,
    struct problem *reterr)
{
	const struct rule *rule = NULL;
	struct honour_gap gap;

	if (honour_find_gap(policy, &gap))
		return problem_set(
		    reterr, "\"%s\" cannot be carried out", gap.key);
	if (parent->order.house != NULL)
		rule = honour_find_address_denial(policy);
	if (rule == NULL)
		return STATUS_OK;
	(void)problem_set(reterr,
	    "the rule \"%s\" denies addresses, but behind the proxy of --via "
	    "nobody here knows to which address a name leads",
	    rule_id(rule));
	return problem_cure(reterr,
	    "leave the rule out, have the proxy refuse them, or do without "
	    "--via");
}

static int
load(const struct parent *parent, int fd, const char *name, struct policy **ret,
    struct problem *reterr)
{
	struct problems problems = { 0 };
	struct policy *policy = NULL;
	char *text = NULL;
	size_t length = 0;
	int status = read_text(fd, &text, &length, reterr);

	if (status != STATUS_OK)
		return status;
	status =
	    document_load(cursor_of(text, length), name, &policy, &problems);
	free(text);
	/* The command has shown all of them already: one is enough here. */
	if (status != STATUS_OK && problems.count > 0)
		*reterr = problems.list[0];
	else if (status != STATUS_OK)
		(void)problem_set(reterr, "a policy cannot be loaded");
	problems_done(&problems);
	if (status == STATUS_OK)
		status = check_promises(parent, policy, reterr);
	if (status == STATUS_OK)
		*ret = policy;
	else
		policy_unref(policy);
	return status;
}

static void
on_layer(struct parent *parent, const struct frame *frame, struct fdpass *fds)
{
	struct order_layer layer;
	struct problem problem = { 0 };
	struct policy *policy = NULL;
	int fd = fdpass_take(fds, 0), status;

	if (order_layer_read(frame->body, &layer) != STATUS_OK ||
	    parent->count == LIMIT_LAYERS) {
		(void)close(fd);
		channel_end(parent->channel, STATUS_MALFORMED);
		return;
	}
	status = load(parent, fd, layer.name, &policy, &problem);
	(void)close(fd);
	if (status == STATUS_OK) {
		policy_stamp(policy, layer.sha256);
		parent->layers[parent->count++] = policy;
		return;
	}
	/* A run that has begun goes on with the policy that it has. */
	if (parent->phase == PARENT_LOADING) {
		say_failed(parent, &problem);
	} else {
		parent->broken = true;
		parent->fault = problem;
	}
}

static void
on_lure(struct parent *parent, const struct frame *frame, struct fdpass *fds)
{
	struct order_lure lure;

	(void)fds;
	if (order_lure_read(frame->body, &lure) != STATUS_OK ||
	    lures_add(parent->order.lures, &lure) != STATUS_OK)
		channel_end(parent->channel, STATUS_MALFORMED);
}

/* Before the layers, because they are looked at with it in mind. */
static void
on_via(struct parent *parent, const struct frame *frame, struct fdpass *fds)
{
	struct order_via via;

	(void)fds;
	if (order_via_read(frame->body, &via) != STATUS_OK ||
	    parent->order.house != NULL || parent->count > 0 ||
	    detour_proxy_of(&via, &parent->house) != STATUS_OK) {
		channel_end(parent->channel, STATUS_MALFORMED);
		return;
	}
	parent->order.house = &parent->house;
}

/* The stack has its own references. */
static void
drop_layers(struct parent *parent)
{
	for (size_t i = 0; i < parent->count; i++)
		policy_unref(parent->layers[i]);
	parent->count = 0;
	parent->broken = false;
}

static int
make_stack(struct parent *parent, struct stack **ret, struct problem *reterr)
{
	struct stack *stack = NULL;

	if (parent->broken) {
		*reterr = parent->fault;
		drop_layers(parent);
		return STATUS_PROBLEM;
	}
	stack = stack_new(
	    (const struct policy *const *)parent->layers, parent->count);
	drop_layers(parent);
	if (stack == NULL)
		return problem_set(reterr, "there is no memory");
	if (parent->order.identity.observe)
		stack_observe(stack);
	*ret = stack;
	return STATUS_OK;
}

/* ---- questions to a person ---- */

static void
on_question(const struct approval_question *question, void *arg)
{
	struct parent *parent = arg;
	unsigned char packet[sizeof(*question) + 64];
	struct cursor_writer out =
	    frame_begin(FRAME_APPROVAL_ASK, packet, sizeof(packet));

	approval_question_write(question, &out);
	/* A question that does not arrive stays without an answer: a no. */
	if (channel_send(parent->channel, &out, NULL, 0) != STATUS_OK)
		log_warning("the parent does not take a question");
}

static void
on_over(const struct approval_over *over, void *arg)
{
	struct parent *parent = arg;
	unsigned char packet[sizeof(*over) + 64];
	struct cursor_writer out =
	    frame_begin(FRAME_APPROVAL_OVER, packet, sizeof(packet));

	approval_over_write(over, &out);
	if (channel_send(parent->channel, &out, NULL, 0) != STATUS_OK)
		log_debug("the parent does not take the end of a question");
}

static const struct consent_events consent_events = {
	.on_question = on_question,
	.on_over = on_over,
};

static void
on_approval(
    struct parent *parent, const struct frame *frame, struct fdpass *fds)
{
	struct approval_answer answer;
	struct approval_over over = { .end = APPROVAL_EXPIRED };

	(void)fds;
	if (approval_answer_read(frame->body, &answer) != STATUS_OK) {
		channel_end(parent->channel, STATUS_MALFORMED);
		return;
	}
	if (consent_answer(engine_consent(parent->engine), &answer) ==
	    STATUS_OK)
		return;
	/* It came too late, and whoever gave it is told. */
	memcpy(over.id, answer.id, sizeof(over.id));
	on_over(&over, parent);
}

/* ---- the run ---- */

static int
begin(struct parent *parent, struct problem *reterr)
{
	int status = make_stack(parent, &parent->order.stack, reterr);

	if (status != STATUS_OK)
		return status;
	if (lures_settle(parent->order.lures) != STATUS_OK) {
		stack_unref(STEAL(parent->order.stack));
		return problem_set(reterr, "there is no memory");
	}
	parent->order.lookout = steal_fd(&parent->lookout_fd);
	parent->order.broker = steal_fd(&parent->broker_fd);
	parent->engine =
	    engine_start(parent->loop, parent->sink, &parent->order, reterr);
	if (parent->engine == NULL)
		return STATUS_PROBLEM;
	parent->adopt = adopt_new(
	    parent->loop, steal_fd(&parent->handoff_fd), parent->engine);
	if (parent->adopt == NULL)
		return problem_set(reterr, "there is no memory");
	consent_watch(engine_consent(parent->engine), &consent_events, parent);
	return STATUS_OK;
}

static void
on_begin(struct parent *parent, const struct frame *frame, struct fdpass *fds)
{
	unsigned char packet[16];
	struct cursor_writer out =
	    frame_begin(FRAME_ORDER_READY, packet, sizeof(packet));
	struct problem problem = { 0 };

	(void)fds;
	if (order_begin_read(frame->body, &parent->order.identity) !=
		STATUS_OK ||
	    parent->count == 0) {
		channel_end(parent->channel, STATUS_MALFORMED);
		return;
	}
	if (begin(parent, &problem) != STATUS_OK) {
		say_failed(parent, &problem);
		return;
	}
	parent->phase = PARENT_RUNNING;
	log_run(parent->order.identity.run);
	if (channel_send(parent->channel, &out, NULL, 0) != STATUS_OK)
		channel_end(parent->channel, STATUS_CLOSED);
}

static void
say_swapped(struct parent *parent, const struct problem *problem)
{
	unsigned char packet[1024];
	struct cursor_writer out = frame_begin(
	    problem == NULL ? FRAME_ORDER_SWAPPED : FRAME_ORDER_KEPT, packet,
	    sizeof(packet));

	if (problem != NULL)
		order_failed_write(problem, &out);
	if (channel_send(parent->channel, &out, NULL, 0) != STATUS_OK)
		channel_end(parent->channel, STATUS_CLOSED);
}

/* Without a layer there is nothing to put in force, not even a denial. */
static void
on_swap(struct parent *parent, const struct frame *frame, struct fdpass *fds)
{
	struct order_swap swap;
	struct problem problem = { .text = "" };
	struct stack *stack = NULL;
	int status;

	(void)fds;
	if (order_swap_read(frame->body, &swap) != STATUS_OK ||
	    (parent->count == 0 && !parent->broken)) {
		channel_end(parent->channel, STATUS_MALFORMED);
		return;
	}
	status = make_stack(parent, &stack, &problem);
	if (status == STATUS_OK)
		status = engine_swap(parent->engine, stack, swap.by, &problem);
	say_swapped(parent, status == STATUS_OK ? NULL : &problem);
}

static void
on_stop(struct parent *parent, const struct frame *frame, struct fdpass *fds)
{
	(void)fds;
	if (!cursor_is_empty(&frame->body)) {
		channel_end(parent->channel, STATUS_MALFORMED);
		return;
	}
	parent->in_order = true;
	stop(parent);
}

static const struct message {
	uint16_t type;
	enum parent_phase when;
	void (*handle)(struct parent *parent, const struct frame *frame,
	    struct fdpass *fds);
} messages[] = {
	{ FRAME_ORDER_LAYER, PARENT_LOADING, on_layer },
	{ FRAME_ORDER_LURE, PARENT_LOADING, on_lure },
	{ FRAME_ORDER_VIA, PARENT_LOADING, on_via },
	{ FRAME_ORDER_BEGIN, PARENT_LOADING, on_begin },
	{ FRAME_ORDER_STOP, PARENT_LOADING, on_stop },
	{ FRAME_ORDER_STOP, PARENT_RUNNING, on_stop },
	{ FRAME_ORDER_LAYER, PARENT_RUNNING, on_layer },
	{ FRAME_ORDER_SWAP, PARENT_RUNNING, on_swap },
	{ FRAME_APPROVAL_ANSWER, PARENT_RUNNING, on_approval },
};

static void
on_frame(struct channel *channel, const struct frame *frame, struct fdpass *fds,
    void *arg)
{
	struct parent *parent = arg;

	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		if (messages[i].type == frame->type &&
		    messages[i].when == parent->phase) {
			messages[i].handle(parent, frame, fds);
			return;
		}
	/* What comes behind the end is late, not wrong. */
	if (parent->phase < PARENT_STOPPING)
		channel_end(channel, STATUS_MALFORMED);
}

static void
on_end(struct channel *channel, int status, void *arg)
{
	struct parent *parent = arg;

	(void)channel;
	if (status != STATUS_CLOSED)
		log_error(
		    "the parent's channel ended: %s", status_name(status));
	stop(parent);
}

struct parent *
parent_new(struct loop *loop, struct sink *sink,
    const struct parent_channels *channels)
{
	static const struct channel_events events = { .on_frame = on_frame,
		.on_end = on_end };
	struct parent *parent = calloc(1, sizeof(*parent));

	if (parent == NULL) {
		(void)close(channels->parent);
		(void)close(channels->handoff);
		if (channels->lookout >= 0)
			(void)close(channels->lookout);
		if (channels->broker >= 0)
			(void)close(channels->broker);
		return NULL;
	}
	parent->loop = loop;
	parent->sink = sink;
	parent->order.lures = lures_new();
	parent->handoff_fd = channels->handoff;
	parent->lookout_fd = channels->lookout;
	parent->broker_fd = channels->broker;
	parent->drain = event_new(loop_base(loop), -1, 0, on_drain, parent);
	parent->channel = channel_new(loop, channels->parent, &events, parent);
	if (parent->order.lures == NULL || parent->drain == NULL ||
	    parent->channel == NULL) {
		parent_free(parent);
		return NULL;
	}
	return parent;
}

void
parent_free(struct parent *parent)
{
	if (parent == NULL)
		return;
	adopt_free(parent->adopt);
	engine_free(parent->engine);
	lures_free(parent->order.lures);
	drop_layers(parent);
	if (parent->drain != NULL)
		event_free(parent->drain);
	channel_free(parent->channel);
	if (parent->handoff_fd >= 0)
		(void)close(parent->handoff_fd);
	if (parent->lookout_fd >= 0)
		(void)close(parent->lookout_fd);
	if (parent->broker_fd >= 0)
		(void)close(parent->broker_fd);
	free(parent);
}

int
parent_exit_code(const struct parent *parent)
{
	return parent->in_order ? 0 : 1;
}
