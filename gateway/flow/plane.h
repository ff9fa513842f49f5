/*
 * plane - what every flow of the run works with, made once at start.
 *
 * All of it outlives every flow.  Nothing here is owned by a flow.
 */
#ifndef GATEWAY_FLOW_PLANE_H
#define GATEWAY_FLOW_PLANE_H

#include <stddef.h>

struct caller;
struct carriers;
struct consent;
struct detour_proxy;
struct grants;
struct inside;
struct loop;
struct names;
struct pool;
struct resolver;
struct run;
struct sink;
struct stub;
struct table;
struct trusts;
struct udp;

struct plane {
	struct loop *loop;
	struct run *run;
	struct sink *sink;
	struct names *names;
	struct stub *stub; /* that gives the names */
	struct resolver *resolver;
	struct pool *buffers; /* of LIMIT_RELAY_BYTES */
	struct inside *inside;
	struct trusts *trusts;
	struct carriers *carriers;
	struct table *table;
	struct udp *udp; /* NULL until there is a sandbox */
	size_t h2_held; /* by the backlogs of all streams */
	struct consent *consent;
	struct grants *grants; /* NULL: this run has no credentials */
	struct caller *caller; /* NULL: nobody tells who asks */
	const struct detour_proxy *house; /* NULL: nothing stands between */
};

#endif
