/*
 * early - the first bytes of a connection, read and kept until it is known
 * who is to have them.
 */
#ifndef GATEWAY_FLOW_EARLY_H
#define GATEWAY_FLOW_EARLY_H

#include "schema/attr.h"

#include <stddef.h>

struct flow;

/*
 * Reads what the client has sent, so that at most most bytes are kept.
 * STATUS_OK: more came; STATUS_AGAIN; STATUS_FULL; STATUS_CLOSED: the end;
 * STATUS_SYSTEM; STATUS_NO_MEMORY.
 */
int early_fill(struct flow *flow, size_t most) MUST_CHECK;

/* Takes the first length bytes away. */
void early_eat(struct flow *flow, size_t length);

#endif
