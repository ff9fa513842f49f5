/*
 * via - through the house's own proxy, which sees host and port only.
 *
 * On a connection to an HTTP proxy: one CONNECT (RFC 9110 section 9.3.6), and
 * once the proxy has said yes the socket is as if it led to the target.  No
 * byte behind the head of that answer is read, because a server may speak
 * first.  Whatever else the proxy answers is a refusal; its body is not read.
 */
#ifndef GATEWAY_NET_VIA_H
#define GATEWAY_NET_VIA_H

#include "schema/attr.h"
#include "schema/cursor.h"
#include "schema/reason.h"

struct event_base;
struct via;

struct via_order {
	int fd; /* connected, not blocking; borrowed until the call */
	struct cursor target; /* "host:port", canonical */
	/* The value of Proxy-Authorization, kept in locked memory; or empty. */
	struct cursor login;
};

/*
 * reason is REASON_NONE, or one of
 * REASON_UPSTREAM_REFUSED    the proxy says no,
 * REASON_UPSTREAM_TIMEOUT    it says nothing, or that the target does not,
 * REASON_UPSTREAM_RESET      it ends the connection,
 * REASON_UPSTREAM_MALFORMED  it does not speak HTTP/1,
 * and cause tells it in words, borrowed for the call.
 */
typedef void via_call(enum reason reason, const char *cause, void *arg);

/*
 * Calls on_done once and never before it has returned; the handle is gone by
 * then.  NULL: no memory.
 */
struct via *via_start(struct event_base *base, const struct via_order *order,
    via_call *on_done, void *arg) MUST_CHECK;

/* The call will not come.  Takes NULL. */
void via_cancel(struct via *via);

#endif
