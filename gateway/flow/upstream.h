/*
 * upstream - a connection outside for one flow: resolved by us, dialled as
 * the policy allows, and verified where it is TLS.
 */
#ifndef GATEWAY_FLOW_UPSTREAM_H
#define GATEWAY_FLOW_UPSTREAM_H

#include "schema/address.h"
#include "schema/attr.h"
#include "schema/reason.h"

#include <stdbool.h>

struct flow;
struct stream;
struct upstream;

/*
 * reason is REASON_NONE and either stream (TLS, verified) or fd is given; or
 * it says why not, with a library's words in cause.
 */
struct upstream_result {
	enum reason reason;
	int fd;
	struct stream *stream;
	struct endpoint to;
	const char *cause; /* borrowed for the call */
};

typedef void upstream_call(const struct upstream_result *result, void *arg);

/*
 * Calls on_done once and never before it has returned; the handle is gone by
 * then.  NULL when there is no memory.
 */
struct upstream *upstream_connect(
    struct flow *flow, bool tls, upstream_call *on_done, void *arg) MUST_CHECK;

/* The call will not come.  Takes NULL. */
void upstream_cancel(struct upstream *upstream);

#endif
