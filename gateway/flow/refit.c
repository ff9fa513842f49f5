#include "gateway/flow/refit.h"

#include "gateway/flow/leg.h"
#include "schema/status.h"

enum {
	SLICE_MOST = 16384 /* what one call makes of it fits an outbox */
};

bool
refit_is_set(const struct refit *refit)
{
	return refit->ops != NULL;
}

static bool
is_idle(const struct refit *refit)
{
	return outbox_bytes(&refit->box).left == 0 &&
	       !refit->ops->has_more(refit->arg);
}

size_t
refit_room(const struct refit *refit, size_t room)
{
	if (!is_idle(refit) || refit->ended)
		return 0;
	return room < SLICE_MOST ? room : SLICE_MOST;
}

/* Gives the leg what it has room for; whether all of it. */
static bool
give(struct refit *refit, struct leg *to)
{
	struct cursor bytes = outbox_bytes(&refit->box);
	size_t room = to->ops->room(to);

	if (bytes.left > room)
		bytes.left = room;
	if (bytes.left > 0) {
		to->ops->body(to, bytes);
		outbox_eat(&refit->box, bytes.left);
	}
	return outbox_bytes(&refit->box).left == 0;
}

int
refit_push(struct refit *refit, struct leg *to)
{
	while (give(refit, to) && refit->ops->has_more(refit->arg)) {
		int status = refit->ops->take(
		    refit->arg, cursor_of(NULL, 0), refit->ended, &refit->box);

		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

int
refit_take(struct refit *refit, struct leg *to, struct cursor bytes)
{
	int status = refit->ops->take(refit->arg, bytes, false, &refit->box);

	return status == STATUS_OK ? refit_push(refit, to) : status;
}

int
refit_end(struct refit *refit, struct leg *to)
{
	int status;

	refit->ended = true;
	status =
	    refit->ops->take(refit->arg, cursor_of(NULL, 0), true, &refit->box);
	return status == STATUS_OK ? refit_push(refit, to) : status;
}

bool
refit_is_done(const struct refit *refit)
{
	return refit->ended && is_idle(refit);
}

void
refit_done(struct refit *refit)
{
	outbox_done(&refit->box);
	*refit = (struct refit){ .ops = NULL };
}
