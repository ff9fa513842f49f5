/*
 * exchange_finish - how an exchange ends: its last row, its refusal, its
 * memory.
 *
 * exchange_finish() is the one end; a refusal is an end with a page of ours.
 * Afterwards the exchange is over, and freed at the end of the tick.
 */
#ifndef GATEWAY_FLOW_EXCHANGE_FINISH_H
#define GATEWAY_FLOW_EXCHANGE_FINISH_H

#include "gateway/flow/leg.h"
#include "gateway/flow/record.h"
#include "schema/reason.h"

struct exchange;
struct passage_fault;

/* As it is now, for a row with this reason; borrows from exchange. */
struct record_request exchange_row(
    const struct exchange *exchange, enum reason reason);

/* Why, in words, for its row and its page; cut off at its end. */
void exchange_note(struct exchange *exchange, const char *words);
/* The same, about a credential. */
void exchange_blame(
    struct exchange *exchange, const char *name, const char *words);

/* The one end: its row, then both legs, then (later) its memory. */
void exchange_finish(struct exchange *exchange, enum reason reason,
    enum leg_end inside, enum leg_end outside);

/* Says no with a page of our own, instead of a response. */
void exchange_refuse(struct exchange *exchange, enum reason reason);

/* What the sandbox has sent must not reach the world; it is told so. */
void exchange_refuse_passage(
    struct exchange *exchange, const struct passage_fault *fault);

#endif
