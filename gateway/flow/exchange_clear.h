/*
 * exchange_clear - whether a request may leave: the policy, what is in its
 * body, a person, a credential.
 */
#ifndef GATEWAY_FLOW_EXCHANGE_CLEAR_H
#define GATEWAY_FLOW_EXCHANGE_CLEAR_H

#include "schema/cursor.h"

struct exchange;

/* Judges it: it is held, waits, leaves or is refused. */
void exchange_clear(struct exchange *exchange);

/* While its body is held: a piece of it. */
void exchange_clear_hold(struct exchange *exchange, struct cursor bytes);

/* All of it is there, or as much as is read: judged at the tick's end. */
void exchange_clear_held(struct exchange *exchange);

/* The policy changed: ends it unless the new one allows it too. */
void exchange_clear_again(struct exchange *exchange);

#endif
