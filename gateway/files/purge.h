/*
 * purge - a directory removed with all that is in it.
 *
 * However deep it is: directories that lie in directories are first moved up
 * into the one that is removed, so two descriptors are enough.  Directories
 * that their owner may not enter are opened to it first.  No link is
 * followed, and no mount is entered.
 */
#ifndef GATEWAY_FILES_PURGE_H
#define GATEWAY_FILES_PURGE_H

#include "schema/attr.h"

/* STATUS_OK also when it is not there; STATUS_SYSTEM and errno. */
int purge(int parent, const char *name) MUST_CHECK;

#endif
