/*
 * refit - a body that is changed on its way to a leg.
 *
 * What comes in is taken at once; what goes out waits in an outbox until the
 * leg has room, and meanwhile nothing more comes in.  It may be longer or
 * shorter than it was.
 */
#ifndef GATEWAY_FLOW_REFIT_H
#define GATEWAY_FLOW_REFIT_H

#include "gateway/flow/outbox.h"

struct leg;

struct refit_ops {
	/*
	 * Takes bytes and puts into out what may go on; with none, and when
	 * the outbox has become empty, it may go on with what it still has.
	 * last: nothing will follow.  Anything but STATUS_OK breaks the body
	 * off.
	 */
	int (*take)(
	    void *arg, struct cursor bytes, bool last, struct outbox *out);
	/* Whether it holds bytes that it can go on with. */
	bool (*has_more)(const void *arg);
};

/* One that is all zeroes changes nothing. */
struct refit {
	const struct refit_ops *ops;
	void *arg;
	struct outbox box;
	bool ended; /* nothing comes in any more */
};

bool refit_is_set(const struct refit *refit);

/* How much may come in, where the leg has room for so much. */
size_t refit_room(const struct refit *refit, size_t room);

/* Takes bytes, and gives the leg what it has room for. */
int refit_take(struct refit *refit, struct leg *to, struct cursor bytes)
    MUST_CHECK;

/* Nothing comes in any more. */
int refit_end(struct refit *refit, struct leg *to) MUST_CHECK;

/* The leg has room again. */
int refit_push(struct refit *refit, struct leg *to) MUST_CHECK;

/* Whether everything has left. */
bool refit_is_done(const struct refit *refit);

/* Does not touch arg, which is its owner's. */
void refit_done(struct refit *refit);

#endif
