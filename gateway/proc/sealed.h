/*
 * sealed - a text in memory that another program can read and nobody change.
 *
 * Plans and policies travel between our programs as sealed memfds: whoever
 * gets one knows that it cannot change under its hands.
 */
#ifndef GATEWAY_PROC_SEALED_H
#define GATEWAY_PROC_SEALED_H

#include "schema/attr.h"

#include <stddef.h>

/*
 * Gives a descriptor at offset 0, sealed against writing, growing and
 * shrinking.  name is for /proc only.  STATUS_SYSTEM with errno set.
 */
int sealed_of(const char *name, const void *bytes, size_t length, int *ret_fd)
    MUST_CHECK;

#endif
