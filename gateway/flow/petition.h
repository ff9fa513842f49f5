/*
 * petition - POST http://exeat.internal/v1/ask: a program in the sandbox
 * wants a person to be asked for something before it does it.
 *
 * It opens a question where a rule of the policy would ask, exactly as the
 * request itself would have, and does nothing else: no yes is used up, and
 * what no rule opens or asks about is refused, since only the owner of the run
 * can change its policy.  The body is a wish (gateway/proto/wish.h).
 *
 *   202  the question is open, and its id
 *   200  it is allowed already, or a yes for it stands
 *   400  the body is no wish
 *   403  no rule asks for this, or a person has said no
 *   503  nobody can be asked now
 */
#ifndef GATEWAY_FLOW_PETITION_H
#define GATEWAY_FLOW_PETITION_H

#include "schema/cursor.h"

struct flow;
struct json;

/*
 * Answers the body of request id (EVENT_REQ_ID bytes), which came over flow:
 * writes a document, returns the status.
 */
unsigned petition_answer(const struct flow *flow, const uint8_t *id,
    struct cursor body, struct json *j) MUST_CHECK;

#endif
