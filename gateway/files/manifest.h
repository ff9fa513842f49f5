/*
 * manifest - what is known about the files of a run, or of a snapshot.
 *
 * A JSON object in a file of its own, written whole and renamed into its
 * place.  It stands where the sandbox sees nothing, but may have been written
 * by another version: what does not read is told, not guessed.
 */
#ifndef GATEWAY_FILES_MANIFEST_H
#define GATEWAY_FILES_MANIFEST_H

#include "schema/attr.h"
#include "schema/limits.h"
#include "schema/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MANIFEST_LAYER 64 /* a layer's name, without its NUL */

struct manifest {
	char name[LIMIT_RUN_UID + 1]; /* of the run, or of the snapshot */
	char run[LIMIT_RUN_UID + 1]; /* that a snapshot was taken of */
	char workspace[LIMIT_PATH];
	uint64_t device, inode; /* of the workspace */
	/* The base of all that changed is the workspace at this time. */
	int64_t base_ns;
	bool discard; /* nothing of it is to be kept */
	char layers[LIMIT_STACK][MANIFEST_LAYER + 1]; /* the topmost first */
	size_t layer_count;
};

/* STATUS_NOT_FOUND when there is no such file. */
int manifest_read(int folder, const char *file, struct manifest *ret,
    struct problem *reterr) MUST_CHECK;

/* In place of what is there; no other program sees half of it. */
int manifest_write(int folder, const char *file,
    const struct manifest *manifest, struct problem *reterr) MUST_CHECK;

#endif
