/*
 * precedence - which of two rules supplies the settings of all that both are
 * for, in some region.
 *
 * A rule ranks by its patterns, and of several only those count that can
 * matter there.  True is a proof; false may be doubt.
 */
#ifndef POLICY_PRECEDENCE_H
#define POLICY_PRECEDENCE_H

#include "policy/rule.h"

struct region;

struct precedence {
	const struct region *region;
	const struct rule *rule, *other;
};

/* Whether rule speaks for the connections that both open. */
bool precedence_of_connections(const struct precedence *at);

/* Whether rule speaks for the requests that both let through. */
bool precedence_of_requests(const struct precedence *at);

#endif
