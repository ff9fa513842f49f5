#include "gateway/flow/aim.h"

#include "gateway/dns/names.h"
#include "gateway/dns/stub.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/internal.h"
#include "gateway/flow/metadata.h"
#include "gateway/proto/authority.h"
#include "gateway/run/run.h"

enum {
	HTTP_PORT = 80,
	PROXY_PORT = 3128
};

/* Other ports of ours are judged like anybody's: no rule allows them. */
static enum flow_role
role_of(const struct hostname *name, uint16_t port)
{
	if (!names_is_internal(name))
		return FLOW_WORLD;
	if (port == HTTP_PORT)
		return FLOW_INTERNAL;
	return port == PROXY_PORT ? FLOW_PROXY : FLOW_WORLD;
}

static bool
is_metadata(const struct flow *flow, const struct hostname *name)
{
	const struct lures *lures = flow->plane->run->lures;

	if (flow->wanted.port != HTTP_PORT)
		return false;
	return name != NULL ? metadata_is_named(lures, name)
			    : metadata_is_at(lures, &flow->wanted.address);
}

void
aim_by_address(struct flow *flow)
{
	const struct hostname *name =
	    names_find(flow->plane->names, &flow->wanted.address);

	flow->by_name = name != NULL;
	flow->role = FLOW_WORLD;
	if (name != NULL) {
		flow->host = *name;
		flow->role = role_of(name, flow->wanted.port);
	}
	if (is_metadata(flow, name))
		flow->role = FLOW_INTERNAL;
	if (flow->role == FLOW_INTERNAL)
		flow->own_leg = internal_leg;
}

enum reason
aim_at(struct flow *flow, const struct authority *authority)
{
	struct endpoint meant = { .address = authority->literal,
		.port = authority->port };
	enum reason reason;

	if (hostname_is_set(&authority->name)) {
		reason = stub_ask(
		    flow->plane->stub, &authority->name, &meant.address);
		if (reason != REASON_NONE)
			return reason;
	}
	flow->wanted = meant;
	aim_by_address(flow);
	/* A proxy behind itself leads nowhere: it is like any closed port. */
	if (flow->role == FLOW_PROXY)
		flow->role = FLOW_WORLD;
	return REASON_NONE;
}
