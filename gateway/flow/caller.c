#include "gateway/flow/caller.h"

#include "gateway/flow/flow.h"
#include "gateway/flow/program.h"
#include "gateway/proc/channel.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/log.h"
#include "gateway/run/run.h"
#include "policy/rule.h"
#include "policy/stack.h"
#include "schema/status.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define US_A_SECOND INT64_C(1000000)

/* A question that is under way; slot number % LIMIT_SIGHTINGS. */
struct slot {
	uint64_t number;
	struct flow *flow; /* NULL: free */
};

struct caller {
	struct channel *channel;
	bool placed, gone;
	uint64_t asked;
	struct slot slots[LIMIT_SIGHTINGS];
	/* How many may be asked about now, in millionths, and since when. */
	int64_t credit, credit_us;
	/* What the rules of this stack want to know; a reference. */
	struct stack *stack;
	bool needs_exe, needs_digest;
	struct program_list programs;
};

static void on_found(struct caller *caller, const struct sighting *sighting);

static void
on_frame(struct channel *channel, const struct frame *frame, struct fdpass *fds,
    void *arg)
{
	struct sighting sighting;

	(void)fds;
	if (frame->type != FRAME_SIGHTING_FOUND ||
	    sighting_read(frame->body, &sighting) != STATUS_OK) {
		channel_end(channel, STATUS_MALFORMED);
		return;
	}
	on_found(arg, &sighting);
}

static void
on_end(struct channel *channel, int status, void *arg)
{
	struct caller *caller = arg;

	(void)channel;
	log_warning("nobody tells any more which program connects: %s",
	    status_name(status));
	caller->gone = true;
	for (size_t i = 0; i < LIMIT_SIGHTINGS; i++) {
		struct flow *flow = caller->slots[i].flow;

		if (flow != NULL)
			flow_enter(flow, FLOW_JUDGING);
	}
}

struct caller *
caller_new(struct loop *loop, int fd)
{
	static const struct channel_events events = { .on_frame = on_frame,
		.on_end = on_end };
	struct caller *caller = calloc(1, sizeof(*caller));

	if (caller == NULL) {
		(void)close(fd);
		return NULL;
	}
	LIST_INIT(&caller->programs);
	caller->credit = LIMIT_SIGHTINGS_S * US_A_SECOND;
	caller->credit_us = clock_monotonic_us();
	caller->channel = channel_new(loop, fd, &events, caller);
	if (caller->channel == NULL) {
		free(caller);
		return NULL;
	}
	return caller;
}

void
caller_free(struct caller *caller)
{
	if (caller == NULL)
		return;
	channel_free(caller->channel);
	stack_unref(caller->stack);
	free(caller);
}

int
caller_place(struct caller *caller, int diag)
{
	unsigned char packet[16];
	struct cursor_writer out =
	    frame_begin(FRAME_SIGHTING_PLACE, packet, sizeof(packet));
	int status = channel_send(caller->channel, &out, &diag, 1);

	caller->placed = status == STATUS_OK;
	return status;
}

/* ---- questions ---- */

static void
on_found(struct caller *caller, const struct sighting *sighting)
{
	struct slot *slot = &caller->slots[sighting->number % LIMIT_SIGHTINGS];
	struct flow *flow = slot->flow;

	if (flow == NULL || slot->number != sighting->number)
		return;
	if (sighting->pid != 0)
		flow->program = program_ref_to(&caller->programs, sighting);
	/* Leaving the state gives the slot back. */
	flow_enter(flow, FLOW_JUDGING);
}

/* Takes one question's worth from what a second allows. */
static bool
spend(struct caller *caller)
{
	int64_t now = clock_monotonic_us(), full;

	full = LIMIT_SIGHTINGS_S * US_A_SECOND;
	caller->credit += (now - caller->credit_us) * LIMIT_SIGHTINGS_S;
	caller->credit_us = now;
	if (caller->credit > full)
		caller->credit = full;
	if (caller->credit < US_A_SECOND)
		return false;
	caller->credit -= US_A_SECOND;
	return true;
}

static void
look_at_rule(struct caller *caller, const struct rule *rule)
{
	for (size_t i = 0; i < rule->exe_count; i++) {
		caller->needs_exe = true;
		caller->needs_digest =
		    caller->needs_digest || rule->exes[i].by_hash;
	}
}

/* Whether rules want to know; looked up once for each policy in force. */
static void
look_at_policy(struct caller *caller, struct stack *stack)
{
	if (caller->stack == stack)
		return;
	stack_unref(caller->stack);
	caller->stack = stack_ref(stack);
	caller->needs_exe = false;
	caller->needs_digest = false;
	for (size_t i = 0; i < stack_count(stack); i++) {
		const struct policy *layer = stack_layer(stack, i);

		for (size_t k = 0; k < policy_rule_count(layer); k++)
			look_at_rule(caller, policy_rule(layer, k));
	}
}

static bool
ask(struct caller *caller, struct flow *flow, bool digest)
{
	unsigned char packet[128];
	struct cursor_writer out =
	    frame_begin(FRAME_SIGHTING_ASK, packet, sizeof(packet));
	struct sighting_question question = { .number = caller->asked + 1,
		.from = flow->from,
		.to = flow->wanted,
		.transport = flow->datagrams ? SIGHTING_UDP : SIGHTING_TCP,
		.digest = digest };
	struct slot *slot = &caller->slots[question.number % LIMIT_SIGHTINGS];

	if (slot->flow != NULL)
		return false;
	sighting_question_write(&question, &out);
	if (channel_send(caller->channel, &out, NULL, 0) != STATUS_OK)
		return false;
	caller->asked = question.number;
	*slot = (struct slot){ .number = question.number, .flow = flow };
	flow->sighting = question.number;
	return true;
}

void
caller_ask(struct flow *flow)
{
	struct caller *caller = flow->plane->caller;

	if (caller == NULL || !caller->placed || caller->gone) {
		flow_enter(flow, FLOW_JUDGING);
		return;
	}
	look_at_policy(caller, flow->plane->run->stack);
	if ((!caller->needs_exe && !spend(caller)) ||
	    !ask(caller, flow, caller->needs_digest)) {
		flow_enter(flow, FLOW_JUDGING);
		return;
	}
	/* Where a rule wants to know, not to know is a refusal. */
	flow_set_deadline(
	    flow, caller->needs_exe ? LIMIT_DIGEST_MS : LIMIT_SIGHTING_MS);
}

const char *
caller_words(const struct flow *flow)
{
	const struct caller *caller = flow->plane->caller;
	const struct sighting *sighting = program_sighting(flow->program);

	if (caller == NULL || !caller->needs_exe)
		return "";
	if (sighting == NULL || sighting->exe[0] == '\0')
		return "asked by a program that is not known";
	return sighting->exe;
}

void
caller_forget(struct flow *flow)
{
	struct caller *caller = flow->plane->caller;

	if (flow->sighting == 0)
		return;
	caller->slots[flow->sighting % LIMIT_SIGHTINGS].flow = NULL;
	flow->sighting = 0;
}
