/*
 * box - the folder of one run that takes what its sandbox writes.
 *
 *	STORE/boxes/RUN/upper     what was written, an overlay's upper layer
 *	                work      the overlay's own
 *	                hidden    paths that were whited out, each with a NUL
 *	                lock      held by whoever works with it
 *	                init      the sandbox's first process: number and start
 *	                manifest  see manifest
 *
 * It outlives the run: a run that is killed loses nothing.  It is free when
 * nobody holds its lock, which the kernel drops with the holder, and when the
 * sandbox's first process is gone, known by its number and its start time
 * together.  Only then is it read, applied, sealed or removed.
 */
#ifndef GATEWAY_FILES_BOX_H
#define GATEWAY_FILES_BOX_H

#include "gateway/files/manifest.h"

#include <sys/types.h>

struct box {
	int folder, lock;
	char store[LIMIT_PATH];
	char path[LIMIT_PATH]; /* of the folder */
	struct manifest manifest;
};

/*
 * Makes the folder of a new run and holds it.  The manifest's base_ns is set
 * to now unless it has one already; as root, the folder is the workspace's
 * owner's.
 */
int box_make(const char *store, const struct manifest *manifest,
    struct box *ret, struct problem *reterr) MUST_CHECK;

/*
 * Holds the folder of a run that has ended.  STATUS_NOT_FOUND when there is
 * none, STATUS_AGAIN while it is still in use.
 */
int box_open(const char *store, const char *run, struct box *ret,
    struct problem *reterr) MUST_CHECK;

/*
 * Waits until the sandbox's first process is gone, which a launcher that was
 * killed could not do.  STATUS_TIMEOUT after LIMIT_SIBLING_MS.
 */
int box_settle(const struct box *box) MUST_CHECK;

/*
 * Once the sandbox is gone: removes what only its overlay needed, and what
 * the overlay closed to everybody, so that the rest is an ordinary folder.
 */
void box_tidy(const struct box *box);

/* Lets go of it; what is in it stays. */
void box_done(struct box *box);

/* Removes it with all that is in it, and lets go. */
int box_remove(struct box *box, struct problem *reterr) MUST_CHECK;

/* For the launcher: keeps which process must be gone first. */
int box_note_init(int folder, pid_t pid) MUST_CHECK;

/* Told of each box by rising name; busy says that it cannot be opened now. */
typedef void box_call(const struct manifest *manifest, bool busy, void *arg);

/* A store that is not there has none. */
int box_each(const char *store, box_call *call, void *arg,
    struct problem *reterr) MUST_CHECK;

/* Removes what runs left that were killed and had nothing to keep. */
void box_sweep(const char *store);

#endif
