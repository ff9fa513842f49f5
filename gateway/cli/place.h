/*
 * place - a path in its one absolute spelling.
 *
 * Found by opening it and asking the kernel what was opened, so that links,
 * dots and the working directory are settled once.
 */
#ifndef GATEWAY_CLI_PLACE_H
#define GATEWAY_CLI_PLACE_H

#include "schema/problem.h"

#include <stdbool.h>

#define PLACE_PATH_MAX 4096

struct place {
	char path[PLACE_PATH_MAX];
};

/* It must exist; with folder it must be a directory. */
int place_of(const char *path, bool folder, struct place *ret,
    struct problem *reterr) MUST_CHECK;

/*
 * What the kernel calls the file behind fd, unless it has no name any more;
 * path is for messages.
 */
int place_of_fd(int fd, const char *path, struct place *ret,
    struct problem *reterr) MUST_CHECK;

/* Of a file that may not exist yet, in a directory that does. */
int place_of_new(const char *path, struct place *ret, struct problem *reterr)
    MUST_CHECK;

/* Whether path is folder or lies under it; both as place_of() gives them. */
bool place_is_within(const char *path, const char *folder);

#endif
