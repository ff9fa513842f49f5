#include "gateway/cli/desk.h"

#include "gateway/cli/abspath.h"
#include "gateway/cli/caller.h"
#include "gateway/cli/caller_lead.h"
#include "gateway/cli/lead.h"
#include "gateway/cli/prompt.h"
#include "gateway/cli/settings.h"
#include "gateway/cli/steward.h"
#include "gateway/cli/swap.h"
#include "gateway/cli/task.h"
#include "gateway/proc/channel.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/log.h"
#include "gateway/proc/loop.h"
#include "gateway/proc/rundir.h"
#include "schema/approval.h"
#include "schema/brokerage.h"
#include "schema/order.h"
#include "schema/status.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#define US_A_SECOND INT64_C(1000000)

/* Room for the largest frame that we send: one question. */
#define PACKET_ROOM (sizeof(struct approval_question) + 64)

struct pending {
	TAILQ_ENTRY(pending) entry;
	struct approval_question question;
	int64_t asked_us;
};

struct desk {
	struct desk_order order;
	struct rundir *rundir;
	struct event *door;
	struct prompt *prompt;
	struct swap *swap;
	struct caller_run run;
	struct caller *revoker; /* whose revocation is under way, or NULL */
	struct caller *swapper; /* whose policy is on its way, or NULL */
	TAILQ_HEAD(, pending) questions;
	size_t question_count;
	LIST_HEAD(, caller) callers;
	size_t caller_count;
};

/* ---- questions ---- */

static struct pending *
find(struct desk *desk, const char *id)
{
	struct pending *pending;

	TAILQ_FOREACH(pending, &desk->questions, entry)
		if (strcmp(pending->question.id, id) == 0)
			return pending;
	return NULL;
}

static void
forget(struct desk *desk, struct pending *pending)
{
	TAILQ_REMOVE(&desk->questions, pending, entry);
	desk->question_count--;
	free(pending);
}

static bool
take_question(struct desk *desk, struct cursor body)
{
	struct pending *pending = calloc(1, sizeof(*pending));

	if (pending == NULL)
		return true;
	if (desk->question_count >= LIMIT_QUESTIONS ||
	    approval_question_read(body, &pending->question) != STATUS_OK ||
	    find(desk, pending->question.id) != NULL) {
		free(pending);
		return false;
	}
	pending->asked_us = clock_monotonic_us();
	TAILQ_INSERT_TAIL(&desk->questions, pending, entry);
	desk->question_count++;
	prompt_add(desk->prompt, &pending->question);
	return true;
}

static int
send_answer(struct desk *desk, const struct approval_answer *answer)
{
	unsigned char packet[512];
	struct cursor_writer out =
	    frame_begin(FRAME_APPROVAL_ANSWER, packet, sizeof(packet));

	approval_answer_write(answer, &out);
	return channel_send(desk->order.gateway, &out, NULL, 0);
}

/* Who is of this account, and by what it speaks. */
static void
name_speaker(const struct desk *desk, const char *how, char *out, size_t size)
{
	int length =
	    snprintf(out, size, "%s, %s", desk->order.settings->user, how);

	if (length < 0 || (size_t)length >= size)
		out[0] = '\0';
}

static void
on_prompt(const char *id, bool yes, void *arg)
{
	struct desk *desk = arg;
	struct approval_answer answer = { .yes = yes };

	if (find(desk, id) == NULL)
		return;
	memcpy(answer.id, id, strlen(id) + 1);
	name_speaker(desk, "at the terminal", answer.by, sizeof(answer.by));
	if (send_answer(desk, &answer) != STATUS_OK)
		log_warning("the gateway does not take an answer");
}

/* ---- commands ---- */

static void
free_caller(void *arg)
{
	struct caller *caller = arg;

	channel_free(caller->channel);
	policies_done(&caller->layers);
	free(caller);
}

static void
drop(struct caller *caller)
{
	struct desk *desk = caller->desk;

	if (desk->swapper == caller)
		desk->swapper = NULL;
	lead_forget(desk->run.lead, caller);
	if (desk->revoker == caller)
		desk->revoker = NULL;
	LIST_REMOVE(caller, entry);
	desk->caller_count--;
	caller->freeing =
	    (struct loop_deferred){ .call = free_caller, .arg = caller };
	loop_defer(desk->order.loop, &caller->freeing);
}

static bool
take_list(struct caller *caller, struct cursor body, struct fdpass *fds)
{
	struct pending *pending;
	int64_t now = clock_monotonic_us();

	(void)fds;
	TAILQ_FOREACH(pending, &caller->desk->questions, entry) {
		unsigned char packet[PACKET_ROOM];
		struct cursor_writer out =
		    frame_begin(FRAME_DESK_QUESTION, packet, sizeof(packet));
		struct approval_question question = pending->question;
		int64_t gone = (now - pending->asked_us) / US_A_SECOND;

		question.timeout_s = gone >= question.timeout_s
					 ? 0
					 : question.timeout_s - (uint32_t)gone;
		approval_question_write(&question, &out);
		if (channel_send(caller->channel, &out, NULL, 0) != STATUS_OK)
			return false;
	}
	caller_done(caller, NULL);
	return cursor_is_empty(&body);
}

static bool
say_place(struct caller *caller, const char *path)
{
	unsigned char packet[ABSPATH_MAX + 16];
	struct cursor_writer out =
	    frame_begin(FRAME_DESK_PLACE, packet, sizeof(packet));

	cursor_put_string(&out, path);
	return channel_send(caller->channel, &out, NULL, 0) == STATUS_OK;
}

static bool
take_places(struct caller *caller, struct cursor body, struct fdpass *fds)
{
	const struct task *task = caller->desk->order.task;

	(void)fds;
	if (!say_place(caller, task->workspace.path))
		return false;
	for (size_t i = 0; i < task->mount_count; i++)
		if (task->mounts[i].writable &&
		    !say_place(caller, task->mounts[i].source))
			return false;
	caller_done(caller, NULL);
	return cursor_is_empty(&body);
}

static bool
offers(const struct approval_question *question,
    const struct approval_answer *answer, struct problem *reterr)
{
	if (answer->yes && answer->grant_s > question->grant_s)
		(void)problem_set(reterr,
		    "the rule %s lets a yes stand for %u s at most",
		    question->rule, question->grant_s);
	else if (answer->yes && answer->grant_uses > question->grant_uses)
		(void)problem_set(reterr,
		    "the rule %s lets a yes be used %u times at most",
		    question->rule, question->grant_uses);
	else
		return true;
	return false;
}

static bool
take_answer(struct caller *caller, struct cursor body, struct fdpass *fds)
{
	struct desk *desk = caller->desk;
	struct approval_answer answer;
	struct pending *pending;
	struct problem problem = { .text = "" };

	(void)fds;
	if (approval_answer_read(body, &answer) != STATUS_OK ||
	    caller->waits_for[0] != '\0')
		return false;
	pending = find(desk, answer.id);
	if (pending == NULL) {
		caller_refuse(caller, "this question is not open any more");
		return true;
	}
	if (!offers(&pending->question, &answer, &problem)) {
		caller_done(caller, &problem);
		return true;
	}
	/* Who it was is for us to say. */
	name_speaker(desk, answer.yes ? "exeat approve" : "exeat refuse",
	    answer.by, sizeof(answer.by));
	memcpy(caller->waits_for, answer.id, sizeof(caller->waits_for));
	caller->yes = answer.yes;
	return send_answer(desk, &answer) == STATUS_OK;
}

/* The gateway says what became of a question: whoever answered it hears. */
static bool
take_over(struct desk *desk, struct cursor body)
{
	struct approval_over over;
	struct pending *pending;
	struct caller *caller;

	if (approval_over_read(body, &over) != STATUS_OK)
		return false;
	pending = find(desk, over.id);
	if (pending != NULL)
		forget(desk, pending);
	prompt_drop(desk->prompt, over.id, approval_end_name(over.end));
	LIST_FOREACH(caller, &desk->callers, entry) {
		enum approval_end said =
		    caller->yes ? APPROVAL_GRANTED : APPROVAL_REFUSED;

		if (strcmp(caller->waits_for, over.id) != 0)
			continue;
		caller->waits_for[0] = '\0';
		if (over.end == said)
			caller_done(caller, NULL);
		else
			caller_refuse(
			    caller, "this question is not open any more");
	}
	return true;
}

/* ---- another policy ---- */

static bool
take_layer(struct caller *caller, struct cursor body, struct fdpass *fds)
{
	struct policies *layers = &caller->layers;
	struct policies_layer *layer = &layers->layers[layers->count];
	struct order_layer order;

	if (order_layer_read(body, &order) != STATUS_OK ||
	    layers->count >= LIMIT_LAYERS)
		return false;
	memcpy(layer->name, order.name, sizeof(layer->name));
	memcpy(layer->sha256, order.sha256, sizeof(layer->sha256));
	layer->fd = fdpass_take(fds, 0);
	layers->count++;
	return true;
}

static bool
take_swap(struct caller *caller, struct cursor body, struct fdpass *fds)
{
	struct desk *desk = caller->desk;
	struct problem problem = { .text = "" };
	char by[LIMIT_PRINCIPAL + 1];

	(void)fds;
	if (!cursor_is_empty(&body))
		return false;
	name_speaker(desk, "exeat policy set", by, sizeof(by));
	if (swap_begin(desk->swap, &caller->layers, by, &problem) !=
	    STATUS_OK) {
		caller_done(caller, &problem);
		return true;
	}
	desk->swapper = caller;
	return true;
}

static void
on_swapped(const struct problem *problem, void *arg)
{
	struct desk *desk = arg;
	struct caller *caller = desk->swapper;

	desk->swapper = NULL;
	if (caller != NULL)
		caller_done(caller, problem);
}

/* ---- a credential ---- */

static void
on_revoked(const struct problem *problem, void *arg)
{
	struct desk *desk = arg;
	struct caller *caller = desk->revoker;

	desk->revoker = NULL;
	if (caller != NULL)
		caller_done(caller, problem);
}

static bool
take_revoke(struct caller *caller, struct cursor body, struct fdpass *fds)
{
	struct desk *desk = caller->desk;
	char name[LIMIT_CREDENTIAL_NAME + 1];
	char by[LIMIT_PRINCIPAL + 1];
	int status = STATUS_NOT_FOUND;

	(void)fds;
	if (brokerage_need_read(body, name) != STATUS_OK)
		return false;
	name_speaker(desk, "exeat credential revoke", by, sizeof(by));
	if (desk->order.steward != NULL)
		status = steward_revoke(
		    desk->order.steward, name, by, on_revoked, desk);
	if (status == STATUS_OK)
		desk->revoker = caller;
	else if (status == STATUS_NOT_FOUND)
		caller_refuse(caller, "this run has no credentials");
	else
		caller_refuse(caller, "the broker cannot be asked now");
	return true;
}

static const struct {
	uint16_t type;
	bool (*take)(
	    struct caller *caller, struct cursor body, struct fdpass *fds);
} messages[] = {
	{ FRAME_DESK_LIST, take_list },
	{ FRAME_DESK_PLACES, take_places },
	{ FRAME_DESK_ANSWER, take_answer },
	{ FRAME_DESK_LAYER, take_layer },
	{ FRAME_DESK_SWAP, take_swap },
	{ FRAME_DESK_INFO, caller_take_info },
	{ FRAME_DESK_PAUSE, caller_take_pause },
	{ FRAME_DESK_RESUME, caller_take_resume },
	{ FRAME_DESK_STOP, caller_take_stop },
	{ FRAME_DESK_EXEC, caller_take_exec },
	{ FRAME_DESK_REVOKE, take_revoke },
};

static void
on_frame(struct channel *channel, const struct frame *frame, struct fdpass *fds,
    void *arg)
{
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		if (messages[i].type == frame->type &&
		    messages[i].take(arg, frame->body, fds))
			return;
	channel_end(channel, STATUS_MALFORMED);
}

static void
on_end(struct channel *channel, int status, void *arg)
{
	(void)channel;
	(void)status;
	drop(arg);
}

static const struct channel_events caller_events = {
	.on_frame = on_frame,
	.on_end = on_end,
};

static void
add_caller(struct desk *desk, int fd)
{
	struct caller *caller;

	if (desk->caller_count >= LIMIT_DESK_CALLERS || !rundir_is_ours(fd)) {
		(void)close(fd);
		return;
	}
	caller = calloc(1, sizeof(*caller));
	if (caller == NULL) {
		(void)close(fd);
		return;
	}
	caller->desk = desk;
	caller->run = &desk->run;
	caller->channel =
	    channel_new(desk->order.loop, fd, &caller_events, caller);
	if (caller->channel == NULL) {
		free(caller);
		return;
	}
	LIST_INSERT_HEAD(&desk->callers, caller, entry);
	desk->caller_count++;
}

static void
on_door(evutil_socket_t door, short what, void *arg)
{
	int fd = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)what;
	if (fd >= 0)
		add_caller(arg, fd);
}

/* ---- the desk ---- */

/*
 * A sandbox runs under our own account: if it saw the socket it could answer
 * its own questions.
 */
static int
check_hidden(const struct desk_order *order, struct problem *reterr)
{
	struct abspath base;
	int status = abspath_of(order->settings->runs, true, &base, reterr);

	if (status != STATUS_OK)
		return status;
	if (!task_shows(order->task, base.path))
		return STATUS_OK;
	(void)problem_set(reterr,
	    "the sandbox could reach the folder of runs %s and answer its own "
	    "questions",
	    base.path);
	return problem_cure(reterr,
	    "name a smaller workspace or mount, or set "
	    "XDG_RUNTIME_DIR to a folder that is not in it");
}

static int
open_door(struct desk *desk, struct problem *reterr)
{
	const struct desk_order *order = &desk->order;
	int status = settings_make_folder(order->settings->runs, reterr);

	if (status == STATUS_OK)
		status = rundir_make(
		    order->settings->runs, order->run, &desk->rundir, reterr);
	if (status == STATUS_OK)
		status = check_hidden(order, reterr);
	if (status != STATUS_OK)
		return status;
	desk->door = event_new(loop_base(order->loop),
	    rundir_socket(desk->rundir), EV_READ | EV_PERSIST, on_door, desk);
	if (desk->door == NULL || event_add(desk->door, NULL) != 0)
		return problem_set(reterr, "there is no memory for a desk");
	return STATUS_OK;
}

int
desk_new(
    const struct desk_order *order, struct desk **ret, struct problem *reterr)
{
	struct desk *desk = calloc(1, sizeof(*desk));
	struct swap_order swap = { .gateway = order->gateway,
		.audit = order->audit,
		.settings = order->settings,
		.policies = order->policies,
		.on_end = on_swapped,
		.arg = desk };
	int status;

	if (desk == NULL)
		return problem_set(reterr, "there is no memory for a desk");
	desk->order = *order;
	TAILQ_INIT(&desk->questions);
	LIST_INIT(&desk->callers);
	desk->swap = swap_new(&swap);
	desk->prompt = prompt_new(order->loop, on_prompt, desk);
	desk->run.lead = lead_new(order->launcher, &caller_lead_events);
	desk->run.name = order->run;
	desk->run.task = order->task;
	desk->run.started_us = clock_wall_us();
	if (desk->swap == NULL || desk->prompt == NULL ||
	    desk->run.lead == NULL)
		status = problem_set(reterr, "there is no memory for a desk");
	else
		status = open_door(desk, reterr);
	if (status != STATUS_OK) {
		desk_free(desk);
		return status;
	}
	*ret = desk;
	return STATUS_OK;
}

void
desk_free(struct desk *desk)
{
	struct caller *caller;

	if (desk == NULL)
		return;
	if (desk->door != NULL)
		event_free(desk->door);
	while ((caller = LIST_FIRST(&desk->callers)) != NULL)
		drop(caller);
	loop_settle(desk->order.loop);
	while (!TAILQ_EMPTY(&desk->questions))
		forget(desk, TAILQ_FIRST(&desk->questions));
	prompt_free(desk->prompt);
	swap_free(desk->swap);
	lead_free(desk->run.lead);
	rundir_remove(desk->rundir);
	free(desk);
}

bool
desk_take(struct desk *desk, const struct frame *frame)
{
	if (frame->type == FRAME_APPROVAL_ASK)
		return take_question(desk, frame->body);
	if (frame->type == FRAME_APPROVAL_OVER)
		return take_over(desk, frame->body);
	return swap_take(desk->swap, frame);
}

bool
desk_hear(struct desk *desk, const struct frame *frame, struct fdpass *fds)
{
	return lead_take(desk->run.lead, frame, fds);
}
