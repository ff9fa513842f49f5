/*
 * detour - the way outside through the house's own proxy.
 *
 * What lies outside the house goes through it: every name, which the proxy
 * resolves, and every public address that is meant literally.  What a rule
 * places inside, by "resolve" or "private", and every other address, is
 * dialled from here as if there were no proxy.  Only what the policy says
 * decides, never what a payload says (D17).
 *
 * The proxy's address is the owner's choice, and no policy is asked about it.
 */
#ifndef GATEWAY_FLOW_DETOUR_H
#define GATEWAY_FLOW_DETOUR_H

#include "schema/address.h"
#include "schema/attr.h"
#include "schema/hostname.h"
#include "schema/limits.h"
#include "schema/reason.h"

#include <stdbool.h>

struct detour;
struct flow;
struct order_via;
struct stack_settings;

/* The house's proxy. */
struct detour_proxy {
	char host[LIMIT_HOST + 1]; /* as credentials are bound to it */
	struct hostname name; /* not set: it has an address */
	struct address literal;
	uint16_t port;
	char credential[LIMIT_CREDENTIAL_NAME + 1]; /* or empty */
};

/* STATUS_MALFORMED: it has neither a canonical name nor an address. */
int detour_proxy_of(const struct order_via *via, struct detour_proxy *ret)
    MUST_CHECK;

/* Whether a flow with these settings goes that way. */
bool detour_is_due(
    const struct flow *flow, const struct stack_settings *settings);

/* fd is given when reason is REASON_NONE, else cause says why in words. */
struct detour_result {
	enum reason reason;
	int fd;
	const char *cause; /* borrowed for the call */
};
typedef void detour_call(const struct detour_result *result, void *arg);

/*
 * Makes a connection to where the flow leads.  Calls on_done once and never
 * before it has returned; the handle is gone by then.  NULL: no memory.
 */
struct detour *detour_start(struct flow *flow, detour_call *on_done, void *arg)
    MUST_CHECK;

/* The call will not come.  Takes NULL. */
void detour_cancel(struct detour *detour);

#endif
