/*
 * internal - http://exeat.internal/, the place in the sandbox where a run can
 * ask its gateway: a client leg that is never dialled.
 *
 *   GET  /v1/whoami   which run this is, and which program asks
 *   GET  /v1/policy   what the run may reach, in words
 *   GET  /v1/limits   how much of its budgets is left
 *   POST /v1/ask      asks a person for something beforehand
 *   POST /v1/token, /v1/introspect, /v1/revoke
 *                     tokens of the run's identity: see passport.h
 *
 * The look-alikes of the clouds' metadata services answer here, too: see
 * metadata.h.
 *
 * It needs no rule and no credential: only the run's sandbox can reach these
 * listeners.  Each request has its rows like any other.  What is no endpoint
 * is answered with a problem document (RFC 9457).
 */
#ifndef GATEWAY_FLOW_INTERNAL_H
#define GATEWAY_FLOW_INTERNAL_H

#include "schema/attr.h"

struct flow;
struct leg;

/*
 * A leg for one exchange of flow, which it ends with; NULL when there is no
 * memory.
 */
struct leg *internal_leg(struct flow *flow) MUST_CHECK;

#endif
