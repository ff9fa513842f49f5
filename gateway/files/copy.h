/*
 * copy - one entry of a tree put elsewhere, without an overlay's own marks.
 *
 * Shares the file's blocks where the file system can.  Times are kept;
 * set-user-id and set-group-id bits are not; for root, the owner is.
 */
#ifndef GATEWAY_FILES_COPY_H
#define GATEWAY_FILES_COPY_H

#include "schema/attr.h"

#include <sys/types.h>

/* The permissions of mode on what is at name, never through a link. */
int copy_mode(int directory, const char *name, mode_t mode) MUST_CHECK;

/* Takes the extended attributes away that an overlay sets. */
int copy_strip(int directory, const char *name) MUST_CHECK;

/*
 * A plain file or a link, under another name first and then renamed over
 * what is at the place, which must not be a directory.  STATUS_SYSTEM and
 * errno; nothing is left then.
 */
int copy_replace(int from, const char *from_name, int to, const char *to_name,
    mode_t mode) MUST_CHECK;

#endif
