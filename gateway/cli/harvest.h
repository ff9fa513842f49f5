/*
 * harvest - the files of a run, from before it begins to after its end.
 *
 * Before: a folder that takes what the sandbox writes.  After: what is safe
 * is put into the workspace, the rest is held for a person, and one or two
 * lines say so.  A folder with nothing left in it is removed; one that holds
 * something stays until it is applied or discarded.
 */
#ifndef GATEWAY_CLI_HARVEST_H
#define GATEWAY_CLI_HARVEST_H

#include "gateway/files/box.h"

#include <stdbool.h>
#include <stdint.h>

struct settings;
struct task;

/* What became of the changes, in numbers. */
struct harvest {
	bool known; /* false: writes went through, or were discarded */
	uint64_t added, changed, deleted;
	uint64_t review, conflicts, dropped;
	uint64_t applied, held;
};

/* Makes the folder of a run whose writes do not go through. */
int harvest_begin(const struct task *task, const struct settings *settings,
    const char *run, struct box *ret, struct problem *reterr) MUST_CHECK;

/*
 * Takes the box.  ran is whether there was a command at all.  *ret is filled
 * always; after a problem the folder is still there.
 */
int harvest_end(struct box *box, const struct task *task, bool ran,
    struct harvest *ret, struct problem *reterr) MUST_CHECK;

#endif
