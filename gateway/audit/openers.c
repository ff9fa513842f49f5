#include "gateway/audit/openers.h"

#include <string.h>

void
openers_put(struct openers *openers, const struct store_run *run,
    const struct event *event, int64_t seq)
{
	size_t place = openers->count % LIMIT_OPENERS;

	if (event->kind != EVENT_FLOW_OPEN &&
	    (event->kind != EVENT_HTTP_INTENT ||
		event->req_id.left != EVENT_REQ_ID))
		return;
	openers->list[place].run = run;
	openers->list[place].seq = seq;
	openers->list[place].flow_id = event->flow_id;
	openers->list[place].kind = event->kind;
	memset(openers->list[place].req_id, 0, EVENT_REQ_ID);
	if (event->req_id.left == EVENT_REQ_ID)
		memcpy(openers->list[place].req_id, event->req_id.at,
		    EVENT_REQ_ID);
	openers->count++;
}

static bool
fits(const struct openers *openers, size_t place, const struct store_run *run,
    const struct event *event)
{
	if (openers->list[place].run != run)
		return false;
	if (event->kind == EVENT_FLOW_END)
		return openers->list[place].kind == EVENT_FLOW_OPEN &&
		       openers->list[place].flow_id == event->flow_id;
	return openers->list[place].kind == EVENT_HTTP_INTENT &&
	       event->req_id.left == EVENT_REQ_ID &&
	       memcmp(openers->list[place].req_id, event->req_id.at,
		   EVENT_REQ_ID) == 0;
}

int64_t
openers_find(const struct openers *openers, const struct store_run *run,
    const struct event *event)
{
	size_t held =
	    openers->count < LIMIT_OPENERS ? openers->count : LIMIT_OPENERS;

	/* The newest first: it is mostly the one before. */
	for (size_t i = 1; i <= held; i++) {
		size_t place = (openers->count - i) % LIMIT_OPENERS;

		if (fits(openers, place, run, event))
			return openers->list[place].seq;
	}
	return 0;
}
