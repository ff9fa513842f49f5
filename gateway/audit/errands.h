/*
 * errands - the chores that a command has asked for, on their way.
 *
 * What is done to the record stands in it first: a row says who held, released
 * or pruned what, and is on the disk before anything is done.
 */
#ifndef GATEWAY_AUDIT_ERRANDS_H
#define GATEWAY_AUDIT_ERRANDS_H

#include "schema/chore.h"

struct errand;
struct keeper;
struct writer;

/* Told once, and then the errand is gone; problem is empty when it is done. */
typedef void errand_done(void *arg, const struct problem *problem);

/* Borrows both for its life.  NULL when there is no memory. */
struct errand *errand_new(struct writer *writer, struct keeper *keeper,
    const struct chore *chore, errand_done *done, void *arg) MUST_CHECK;

/* Begins; done may be told, and the errand be gone, before this returns. */
void errand_run(struct errand *errand);

/* Goes on, and nobody is told. */
void errand_forget(struct errand *errand);

#endif
