/*
 * h1_request - one request of HTTP/1 while it is under way; an idle
 * connection has none.
 */
#ifndef GATEWAY_FLOW_H1_REQUEST_H
#define GATEWAY_FLOW_H1_REQUEST_H

#include "gateway/proto/head_fault.h"
#include "gateway/proto/request.h"
#include "policy/urlpath.h"
#include "schema/attr.h"
#include "schema/cursor.h"

struct flow;

struct h1_request {
	struct request head; /* borrows from the bytes that it was read from */
	struct urlpath path;
};

/*
 * Reads the head that input of a flow begins with; gives a request, which
 * free() destroys.  STATUS_AGAIN: it is not whole yet; STATUS_MALFORMED, and
 * why in *ret_fault; STATUS_NO_MEMORY.
 */
int h1_request_read(const struct flow *flow, struct cursor input,
    struct h1_request **ret, enum head_fault *ret_fault) MUST_CHECK;

#endif
