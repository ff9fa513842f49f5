/*
 * exchange_leave - a request that may leave does.
 *
 * Its row and a connection outside are made ready at the same time; the head
 * is written once both are there, and never before the row is accepted.
 */
#ifndef GATEWAY_FLOW_EXCHANGE_LEAVE_H
#define GATEWAY_FLOW_EXCHANGE_LEAVE_H

#include "schema/attr.h"
#include "schema/reason.h"

#include <stdbool.h>

struct exchange;

/* It may leave: its row, and a connection; both may still fail. */
void exchange_leave(struct exchange *exchange);

/*
 * The connection outside failed for this reason, and no answer has begun.
 * Whether another is tried; if not, nothing has changed.
 */
bool exchange_leave_again(struct exchange *exchange, enum reason reason)
    MUST_CHECK;

#endif
