/*
 * snapshot - what a run wrote, sealed under a name to begin others from.
 *
 *	STORE/layers/ID/tree     a run's upper layer, from now on only read
 *	                hidden   the paths in it that we whited out
 *	STORE/snapshots/NAME     a manifest: the workspace and the layers
 *
 * Sealing renames, whatever the size.  The box notes first which layer it
 * turns into, so that one that is killed on the way is finished by whoever
 * holds it next; a snapshot has its name only when everything is in its
 * place.  No layer is ever written again, and none is put over one that a
 * run still writes to.
 */
#ifndef GATEWAY_FILES_SNAPSHOT_H
#define GATEWAY_FILES_SNAPSHOT_H

#include "gateway/files/manifest.h"

struct box;

/* Seals what is in the box, which goes on with an empty layer over it. */
int snapshot_take(struct box *box, const char *name, struct problem *reterr)
    MUST_CHECK;

/* STATUS_PROBLEM also when there is none of that name. */
int snapshot_read(const char *store, const char *name, struct manifest *ret,
    struct problem *reterr) MUST_CHECK;

/* Finishes the sealing of a box that is held, if it was begun. */
int snapshot_finish(struct box *box, struct problem *reterr) MUST_CHECK;

#endif
