#include "gateway/cli/lead.h"

#include "gateway/proc/channel.h"
#include "schema/reins.h"
#include "schema/status.h"

#include <stdlib.h>
#include <sys/queue.h>

struct errand {
	LIST_ENTRY(errand) entry;
	uint16_t type;
	uint32_t number;
	void *asker; /* NULL: it left; the answer is for nobody */
	struct problem problem; /* why a program could not be started */
};

struct lead {
	struct channel *launcher;
	const struct lead_events *events;
	LIST_HEAD(, errand) errands;
	uint32_t last;
	bool paused;
};

struct lead *
lead_new(struct channel *launcher, const struct lead_events *events)
{
	struct lead *lead = calloc(1, sizeof(*lead));

	if (lead == NULL)
		return NULL;
	lead->launcher = launcher;
	lead->events = events;
	LIST_INIT(&lead->errands);
	return lead;
}

static void
finish(struct errand *errand)
{
	LIST_REMOVE(errand, entry);
	free(errand);
}

void
lead_free(struct lead *lead)
{
	if (lead == NULL)
		return;
	while (!LIST_EMPTY(&lead->errands))
		finish(LIST_FIRST(&lead->errands));
	free(lead);
}

static int
pass(struct lead *lead, uint16_t type, uint32_t number, struct cursor body,
    const struct fdpass *fds)
{
	unsigned char *packet = malloc(LIMIT_FRAME);
	struct cursor_writer out;
	int status;

	if (packet == NULL)
		return STATUS_NO_MEMORY;
	out = frame_begin(type, packet, LIMIT_FRAME);
	cursor_put_u32(&out, number);
	cursor_put(&out, body.at, body.left);
	status = channel_send(lead->launcher, &out,
	    fds == NULL ? NULL : fds->fds, fds == NULL ? 0 : fds->count);
	free(packet);
	return status;
}

int
lead_ask(struct lead *lead, uint16_t type, void *asker, struct cursor body,
    const struct fdpass *fds)
{
	struct errand *errand = calloc(1, sizeof(*errand));
	int status;

	if (errand == NULL)
		return STATUS_NO_MEMORY;
	*errand = (struct errand){
		.type = type, .number = ++lead->last, .asker = asker
	};
	status = pass(lead, type, errand->number, body, fds);
	if (status != STATUS_OK) {
		free(errand);
		return status;
	}
	LIST_INSERT_HEAD(&lead->errands, errand, entry);
	return STATUS_OK;
}

void
lead_forget(struct lead *lead, const void *asker)
{
	static const struct cursor none;
	struct errand *errand;

	LIST_FOREACH(errand, &lead->errands, entry) {
		if (errand->asker != asker)
			continue;
		errand->asker = NULL;
		/* Its answer comes when it has ended, or never. */
		if (errand->type == FRAME_REINS_EXEC)
			(void)!pass(
			    lead, FRAME_REINS_DROP, errand->number, none, NULL);
	}
}

static struct errand *
find(struct lead *lead, uint32_t number)
{
	struct errand *errand;

	LIST_FOREACH(errand, &lead->errands, entry)
		if (errand->number == number)
			return errand;
	return NULL;
}

static bool
take_done(struct lead *lead, struct cursor body)
{
	struct reins_done done;
	struct errand *errand;
	bool well;

	if (reins_done_read(body, &done) != STATUS_OK)
		return false;
	errand = find(lead, done.number);
	/* One that was dropped may have had something to say. */
	if (errand == NULL)
		return true;
	if (errand->type == FRAME_REINS_EXEC) {
		errand->problem = done.problem;
		return true;
	}
	well = done.problem.text[0] == '\0';
	/* What takes long to stand still stands still in the end. */
	if (errand->type == FRAME_REINS_PAUSE && well)
		lead->paused = true;
	if (errand->type == FRAME_REINS_RESUME && well)
		lead->paused = false;
	if (errand->asker != NULL)
		lead->events->on_done(
		    errand->asker, well ? NULL : &done.problem);
	finish(errand);
	return true;
}

static bool
take_exited(struct lead *lead, struct cursor body)
{
	struct reins_exited exited;
	struct errand *errand;

	if (reins_exited_read(body, &exited) != STATUS_OK)
		return false;
	errand = find(lead, exited.number);
	if (errand == NULL || errand->type != FRAME_REINS_EXEC)
		return errand == NULL;
	if (errand->asker != NULL)
		lead->events->on_exited(errand->asker, exited.code,
		    errand->problem.text[0] == '\0' ? NULL : &errand->problem);
	finish(errand);
	return true;
}

static bool
take_terminal(struct lead *lead, struct cursor body, const struct fdpass *fds)
{
	uint32_t number;
	const struct errand *errand;

	if (reins_number_read(body, &number) != STATUS_OK)
		return false;
	errand = find(lead, number);
	if (errand != NULL && errand->asker != NULL)
		lead->events->on_terminal(errand->asker, fds->fds[0]);
	return true;
}

bool
lead_take(struct lead *lead, const struct frame *frame, struct fdpass *fds)
{
	switch (frame->type) {
	case FRAME_REINS_DONE:
		return take_done(lead, frame->body);
	case FRAME_REINS_EXITED:
		return take_exited(lead, frame->body);
	case FRAME_REINS_TERMINAL:
		return take_terminal(lead, frame->body, fds);
	default:
		return false;
	}
}

bool
lead_is_paused(const struct lead *lead)
{
	return lead->paused;
}
