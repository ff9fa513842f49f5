/*
 * corefile - no image of this process's memory is ever written.
 *
 * Such an image would hold keys and other people's requests.
 */
#ifndef GATEWAY_PROC_COREFILE_H
#define GATEWAY_PROC_COREFILE_H

#include "schema/attr.h"

/*
 * Makes the process not dumpable, so that nobody traces it either, and its
 * core files impossible.  STATUS_SYSTEM with errno set.
 */
int corefile_forbid(void) MUST_CHECK;

#endif
