/*
 * apply - changes put into the workspace.
 *
 * One after the other, each of them whole: a file appears under its name by
 * one rename, with all that stands in it.  Every path is walked to below the
 * workspace without following a link or entering a mount, and the entry in
 * its place is looked at once more before it is replaced.  What the run wrote
 * itself is moved where that is possible; what stands in a sealed layer, or
 * on another file system, is copied.
 *
 * A change that cannot be made leaves what was there, is told, and does not
 * stop the others.
 */
#ifndef GATEWAY_FILES_APPLY_H
#define GATEWAY_FILES_APPLY_H

#include "gateway/files/change.h"
#include "schema/attr.h"
#include "schema/problem.h"

struct box;
struct changes;
struct stack;

struct apply_wish {
	bool review; /* those, too */
	bool overwrite; /* and what was changed meanwhile */
	bool dry; /* look, and change nothing */
	bool keep; /* copy: what the run wrote stays where it is */
	/* Told of each change that was not made; why is NULL when its class
	 * held it back.  May be NULL. */
	void (*on_held)(
	    const struct change *change, const char *why, void *arg);
	void *arg;
};

struct apply_counts {
	uint64_t applied, held, failed, dropped;
};

/* Whether its class lets it through. */
bool apply_wants(const struct apply_wish *wish, const struct change *change);

/* The box is where folders go that are removed. */
int apply_changes(const struct box *box, const struct stack *stack,
    const struct changes *changes, const struct apply_wish *wish,
    struct apply_counts *ret) MUST_CHECK;

#endif
