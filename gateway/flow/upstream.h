/*
 * upstream - a connection outside for one flow: resolved by us, dialled as
 * the policy allows or by the house's proxy, and verified where it is TLS.
 */
#ifndef GATEWAY_FLOW_UPSTREAM_H
#define GATEWAY_FLOW_UPSTREAM_H

#include "schema/address.h"
#include "schema/attr.h"
#include "schema/cursor.h"
#include "schema/reason.h"

#include <stdbool.h>

struct badge;
struct flow;
struct stream;
struct upstream;

enum upstream_kind {
	UPSTREAM_CLEAR,
	UPSTREAM_DATAGRAMS, /* UDP */
	UPSTREAM_TLS_HTTP1, /* offers nothing else */
	UPSTREAM_TLS_ANY /* HTTP/2 too */
};

/*
 * For the requests of a flow: HTTP/2 is offered where its client speaks it,
 * unless the connection has to switch protocols.
 */
enum upstream_kind upstream_kind(const struct flow *flow, bool http1_only);

/*
 * reason is REASON_NONE and either stream (TLS, verified) or fd is given; or
 * it says why not, with a library's words in cause.
 */
struct upstream_result {
	enum reason reason;
	int fd;
	struct stream *stream;
	struct endpoint to; /* not set behind the house's proxy */
	const char *cause; /* borrowed for the call */
};

typedef void upstream_call(const struct upstream_result *result, void *arg);

/* What a connection is to be. */
struct upstream_wish {
	enum upstream_kind kind;
	/* Presented where a server asks, with its text, copied; or NULL. */
	const struct badge *badge;
	struct cursor text;
};

/*
 * Calls on_done once and never before it has returned; the handle is gone by
 * then.  NULL when there is no memory.
 */
struct upstream *upstream_connect(struct flow *flow,
    const struct upstream_wish *wish, upstream_call *on_done, void *arg)
    MUST_CHECK;

/* The call will not come.  Takes NULL. */
void upstream_cancel(struct upstream *upstream);

#endif
