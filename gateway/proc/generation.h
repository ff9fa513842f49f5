/*
 * generation - a page of counters that one process writes and others read: a
 * revocation is seen without asking.
 *
 * Whoever holds something that was given under a slot's counter looks whether
 * the slot still has it, before every use.  The page is sealed, so that only
 * the mapping it was made with can write.  Slot 0 is about all the others.
 */
#ifndef GATEWAY_PROC_GENERATION_H
#define GATEWAY_PROC_GENERATION_H

#include "schema/attr.h"

#include <stdbool.h>
#include <stdint.h>

#define GENERATION_SLOTS 512

struct generation;

/* One to write to.  STATUS_SYSTEM with errno set. */
int generation_make(struct generation **ret) MUST_CHECK;

/* Its descriptor, to be sent to readers; borrows. */
int generation_fd(const struct generation *generation);

/*
 * One to read from; fd stays the caller's.  STATUS_REFUSED for what somebody
 * else could still change in size or by writing anew.
 */
int generation_open(int fd, struct generation **ret) MUST_CHECK;
void generation_free(struct generation *generation);

/* Whatever was given under the slot's counter is worth nothing from here on. */
void generation_bump(struct generation *generation, uint16_t slot);

/* A slot that there is not reads as one that never had a counter. */
uint64_t generation_read(const struct generation *generation, uint16_t slot);

#endif
