/*
 * exchange_relay - the bodies of an exchange, once its head has left.
 *
 * Each way takes what the leg on the other side has room for and the limits
 * let pass.  The exchange may be over when one of these returns.
 */
#ifndef GATEWAY_FLOW_EXCHANGE_RELAY_H
#define GATEWAY_FLOW_EXCHANGE_RELAY_H

#include "schema/cursor.h"

#include <stddef.h>

struct exchange;
struct header;
struct leg;

/* How much of a body from this leg may come now. */
size_t exchange_relay_room(
    const struct exchange *exchange, const struct leg *from);

/* A piece of a body, at most what there was room for, and its end. */
void exchange_relay_body(
    struct exchange *exchange, struct leg *from, struct cursor bytes);
void exchange_relay_end(
    struct exchange *exchange, struct leg *from, const struct header *trailers);

/* What was held back of the body goes on, as far as there is room. */
void exchange_relay_feed(struct exchange *exchange);

/* What was given to leg has left it: the other may go on. */
void exchange_relay_drained(struct exchange *exchange, struct leg *leg);

/* Sends what both legs were given. */
void exchange_relay_flush(struct exchange *exchange);

#endif
