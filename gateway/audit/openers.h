/*
 * openers - the newest rows that later rows may belong to, by what they name.
 *
 * A flow or request may end before its producer has heard the number of its
 * first row; then it says 0, and the row is found here: the opening of the
 * same flow, or the intent of the same request, of the same run.  What was
 * written longer ago than LIMIT_OPENERS openings is forgotten, but then its
 * number has long been heard.
 */
#ifndef GATEWAY_AUDIT_OPENERS_H
#define GATEWAY_AUDIT_OPENERS_H

#include "schema/event.h"
#include "schema/limits.h"

struct store_run;

struct openers {
	size_t count; /* ever put */
	struct {
		const struct store_run *run; /* compared, never followed */
		int64_t seq, flow_id;
		uint8_t req_id[EVENT_REQ_ID]; /* of an intent */
		enum event_kind kind;
	} list[LIMIT_OPENERS];
};

/* Remembers it if later rows may belong to it. */
void openers_put(struct openers *openers, const struct store_run *run,
    const struct event *event, int64_t seq);

/* The row that event belongs to, or 0. */
int64_t openers_find(const struct openers *openers, const struct store_run *run,
    const struct event *event);

#endif
