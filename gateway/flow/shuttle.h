/*
 * shuttle - the datagrams of one flow, both ways.
 *
 * What the sandbox sends before there is a socket outside is kept, as far as
 * LIMIT_EARLY_DATAGRAMS and LIMIT_EARLY_BYTES go; more is lost, as datagrams
 * may be.  Each is passed on whole or not at all.  There is no end to see, so
 * a flow is over when nothing came for as long as its row of states says, or
 * when the other side says that nobody listens.
 */
#ifndef GATEWAY_FLOW_SHUTTLE_H
#define GATEWAY_FLOW_SHUTTLE_H

#include "schema/attr.h"
#include "schema/cursor.h"
#include "schema/limits.h"

#include <sys/queue.h>

struct event;
struct flow;
struct forge;

struct shuttle {
	LIST_ENTRY(shuttle) next; /* of those with the same hash: flow/udp */
	struct flow *flow;
	const struct forge *forge;
	struct event *readable; /* of the flow's socket outside */
	size_t last_length; /* of what the sandbox sent */
	size_t early_count, early_bytes;
	struct early {
		unsigned char *bytes;
		size_t length;
	} early[LIMIT_EARLY_DATAGRAMS];
};

/* Both are borrowed and outlive it.  NULL: no memory. */
struct shuttle *shuttle_new(struct flow *flow, const struct forge *forge)
    MUST_CHECK;
void shuttle_free(struct shuttle *shuttle);

/* One from the sandbox: passed on, or kept for a while.  May end the flow. */
void shuttle_take(struct shuttle *shuttle, struct cursor bytes);

/* Tells the sandbox that nobody takes what it sent last. */
void shuttle_refuse(const struct shuttle *shuttle);

/* State FLOW_TUNNELING of a flow of datagrams. */
void shuttle_enter(struct flow *flow);
void shuttle_leave(struct flow *flow);

#endif
