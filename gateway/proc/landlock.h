/*
 * landlock - walls around files, by what this kernel can.
 *
 * Given up is every right to files, and on newer kernels to TCP ports, but for
 * what is named.  What is open already stays usable.
 */
#ifndef GATEWAY_PROC_LANDLOCK_H
#define GATEWAY_PROC_LANDLOCK_H

#include "schema/attr.h"

#include <stdbool.h>

/*
 * folder is the one in which files may still be read, written, made, renamed
 * and removed; -1: none.  network: TCP ports stay.  Needs no_new_privs.
 * STATUS_NOT_FOUND when the kernel has no Landlock; STATUS_SYSTEM with errno
 * set.
 */
int landlock_close(int folder, bool network) MUST_CHECK;

#endif
