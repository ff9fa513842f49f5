/*
 * fd - a descriptor that closes itself at the end of its scope.
 */
#ifndef GATEWAY_PROC_FD_H
#define GATEWAY_PROC_FD_H

#include "schema/attr.h"

#include <unistd.h>

/* For ON_SCOPE_EXIT; takes -1. */
static inline void
fd_done(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

#endif
