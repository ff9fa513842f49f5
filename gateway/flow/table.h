/*
 * table - all live flows: how many may be at once, ended all together,
 * freed at the end of the tick.
 */
#ifndef GATEWAY_FLOW_TABLE_H
#define GATEWAY_FLOW_TABLE_H

#include "schema/attr.h"
#include "schema/reason.h"

#include <stdbool.h>
#include <stddef.h>

struct flow;
struct table;

/* room is how many flows may be at once. */
struct table *table_new(size_t room) MUST_CHECK;

/* Frees every flow that is left. */
void table_free(struct table *table);

bool table_has_room(const struct table *table);
size_t table_count(const struct table *table);

void table_add(struct table *table, struct flow *flow);

/* Takes it out now and frees it at the end of the tick. */
void table_drop(struct table *table, struct flow *flow);

/* Told when there is room again after there was none; may be NULL. */
void table_watch(struct table *table, void (*on_room)(void *arg), void *arg);

/* The policy changed: each flow does what its state does then. */
void table_judge_again(struct table *table);

/* Ends every flow with this reason. */
void table_close_all(struct table *table, enum reason reason);

#endif
