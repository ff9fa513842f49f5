/*
 * deed - the row of what was done with a token: issued, exchanged, revoked or
 * refused.
 *
 * It names tokens by their id and says what they are for, and never has the
 * text of one.  What a token says of itself that nobody vouches for stands in
 * a member of its own, "unverified".
 */
#ifndef BROKER_DEED_H
#define BROKER_DEED_H

#include "schema/event.h"
#include "schema/token.h"

struct issuer_outcome;

/* Where the parts of an event stand until it is put. */
struct deed {
	struct event event;
	char id[TOKEN_ID + 1];
	unsigned char detail[LIMIT_EVENT_DETAIL];
};

/* Of the root of a run, which nobody asked for. */
void deed_of_root(const struct token *root, int64_t wall_us, struct deed *ret);

/* False when there is nothing to write down: one that was shown, and good. */
bool deed_of(const struct token_question *question,
    const struct issuer_outcome *outcome, int64_t wall_us, struct deed *ret);

#endif
