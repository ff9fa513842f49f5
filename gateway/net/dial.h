/*
 * dial - connect outward: one of several addresses, whichever answers first.
 *
 * Families alternate, IPv6 first, and the next address is tried when the one
 * before fails or LIMIT_HAPPY_MS after it (RFC 8305 section 5), until all were
 * tried or LIMIT_DIAL_MS is over.  Every address is put to the caller's policy
 * after resolution, each for itself; the unspecified address and the ranges of
 * synthetic addresses are never dialled, whatever the policy says, nor any
 * form of IPv6 address that has one inside.
 */
#ifndef GATEWAY_NET_DIAL_H
#define GATEWAY_NET_DIAL_H

#include "schema/address.h"
#include "schema/attr.h"
#include "schema/reason.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dial;
struct event_base;

typedef bool dial_permission(const struct address *address, void *arg);

struct dial_order {
	const struct address *list; /* copied; at most LIMIT_ADDRESSES count */
	size_t count;
	uint16_t port;
	dial_permission *may_dial;
	void *arg; /* for may_dial, which is asked before dial_start returns */
	bool datagrams; /* UDP: the first address that has a route is taken */
};

/*
 * How it ended.  reason is REASON_NONE and fd a connected socket, not
 * blocking, closed on exec, with TCP_NODELAY if it is one of TCP, which is
 * given; or fd is -1 and
 * reason one of
 * REASON_SPECIAL_ADDRESS      every address was forbidden,
 * REASON_UPSTREAM_UNRESOLVED  there was none,
 * REASON_UPSTREAM_REFUSED     the last one tried failed, error says how,
 * REASON_UPSTREAM_TIMEOUT     nobody answered in time,
 * REASON_OVERLOAD             no descriptor or memory for a socket.
 */
struct dial_result {
	int fd;
	struct endpoint to; /* when connected */
	enum reason reason;
	int error; /* errno of the last failed attempt, or 0 */
};

/* The handle is gone when this is called. */
typedef void dial_call(const struct dial_result *result, void *arg);

/*
 * Calls on_dialed once and never before it has returned.  The handle, which
 * belongs to the dialling, serves to cancel until then.  NULL: no memory.
 */
struct dial *dial_start(struct event_base *base, const struct dial_order *order,
    dial_call *on_dialed, void *arg) MUST_CHECK;

/* Closes what was begun; the call will not come.  Takes NULL. */
void dial_cancel(struct dial *dial);

/* Whether an address is refused here, before any policy is asked. */
bool dial_never(const struct address *address);

#endif
