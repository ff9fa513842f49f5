/*
 * reserve - room on the disk for the last rows.
 *
 * A file beside the database, DB.reserve, that holds nothing but its room.
 * When the disk is full it is given up, so that the ends of what was under
 * way can still be written while new work is refused; nothing new is taken
 * before it could be held again.
 */
#ifndef GATEWAY_AUDIT_RESERVE_H
#define GATEWAY_AUDIT_RESERVE_H

#include "schema/problem.h"

#include <stdbool.h>

struct reserve;

/* audit is borrowed.  Not held yet; NULL when there is no memory. */
struct reserve *reserve_new(const char *audit) MUST_CHECK;

/* What is held is left for the next writer. */
void reserve_free(struct reserve *reserve);

/* False while the disk has not got it, and as much again. */
bool reserve_hold(struct reserve *reserve) MUST_CHECK;
void reserve_give_up(struct reserve *reserve);

/* Whether less is free than LIMIT_DISK_LOW; no when it cannot be told. */
bool reserve_is_low(const struct reserve *reserve);

#endif
