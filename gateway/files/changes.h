/*
 * changes - what a run changed, against its workspace as it is now.
 *
 * The trees of a stack are walked and each entry is compared with the base:
 * what is the same there is no change.  Set-user-id and set-group-id bits are
 * not carried over.  Nothing of the trees is believed: links are not
 * followed, names are bytes, and there are limits on how many entries and
 * bytes are taken.
 */
#ifndef GATEWAY_FILES_CHANGES_H
#define GATEWAY_FILES_CHANGES_H

#include "gateway/files/change.h"
#include "schema/attr.h"
#include "schema/problem.h"

struct changes {
	struct change *list; /* by path */
	size_t count;
	uint64_t bytes;
	bool cut; /* there are more than the limits allow */
};

struct changes_wish {
	const char *const *only; /* paths; what lies below them too */
	size_t only_count; /* 0: everything */
	bool large; /* without the limits */
};

/* changes_done() is due after success. */
int changes_collect(const struct stack *stack, const struct changes_wish *wish,
    struct changes *ret, struct problem *reterr) MUST_CHECK;
void changes_done(struct changes *changes);

size_t changes_count(const struct changes *changes, enum change_class class);

#endif
