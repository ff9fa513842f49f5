/*
 * search - a walk through a directory of the machine, entry by entry.
 *
 * Down to LIMIT_SEARCH_DEPTH and past no link; nothing is opened but
 * directories.  What cannot be opened is passed over: the sandbox, which has
 * no more rights than we, could not open it either.
 */
#ifndef GATEWAY_LAUNCH_SEARCH_H
#define GATEWAY_LAUNCH_SEARCH_H

#include "schema/attr.h"
#include "schema/problem.h"

#include <stdbool.h>
#include <sys/types.h>

struct search_entry {
	int directory; /* where it lies */
	const char *name, *path; /* path is below the top */
	unsigned char type; /* DT_REG and the like, never DT_UNKNOWN */
	ino_t inode;
};

/* What to do after an entry. */
enum search_next {
	SEARCH_ON,
	SEARCH_PAST, /* not into this directory */
	SEARCH_FAILED /* the problem says why */
};

typedef enum search_next search_call(
    const struct search_entry *entry, void *arg, struct problem *reterr);

/*
 * Borrows top, a directory.  With all it also enters the directories that
 * are large and hold no secrets by habit.  *ret_cut says whether it gave up
 * after LIMIT_SEARCH_ENTRIES.
 */
int search_run(int top, bool all, search_call *call, void *arg, bool *ret_cut,
    struct problem *reterr) MUST_CHECK;

#endif
