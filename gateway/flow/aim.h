/*
 * aim - what a connection's destination stands for: a name, a literal
 * address, or ourselves.
 */
#ifndef GATEWAY_FLOW_AIM_H
#define GATEWAY_FLOW_AIM_H

#include "schema/attr.h"
#include "schema/reason.h"

struct authority;
struct flow;

/* From the address that the program meant to go to. */
void aim_by_address(struct flow *flow);

/*
 * From what it told a proxy, with a port: a name is asked about as the
 * sandbox's resolver is, with the same rows.  REASON_NONE, or why not; then
 * the flow stays as it is.
 */
enum reason aim_at(struct flow *flow, const struct authority *authority)
    MUST_CHECK;

#endif
