/*
 * beneath - paths walked below a directory, never through a link and never
 * onto another file system.
 *
 * Whoever wrote into the directory may have left links in it that lead
 * elsewhere; here they are an error (ELOOP), and so is a mount (EXDEV).
 * Paths are relative and have no "..".
 */
#ifndef GATEWAY_FILES_BENEATH_H
#define GATEWAY_FILES_BENEATH_H

#include "schema/attr.h"

#include <stdint.h>

/* A descriptor, O_CLOEXEC; -1 and errno. */
int beneath_open(int directory, const char *path, uint64_t flags) MUST_CHECK;

/*
 * The directory that path's last part lies in, O_PATH; lends that part.
 * -1 and errno.
 */
int beneath_parent(int directory, const char *path, const char **ret_name)
    MUST_CHECK;

#endif
