/*
 * abspath - a path in its one absolute spelling.
 *
 * Found by opening it and asking the kernel what was opened, so that links,
 * dots and the working directory are settled once.
 */
#ifndef GATEWAY_CLI_ABSPATH_H
#define GATEWAY_CLI_ABSPATH_H

#include "schema/problem.h"

#include <stdbool.h>

#define ABSPATH_MAX 4096

struct abspath {
	char path[ABSPATH_MAX];
};

/* It must exist; with folder it must be a directory. */
int abspath_of(const char *path, bool folder, struct abspath *ret,
    struct problem *reterr) MUST_CHECK;

/*
 * What the kernel calls the file behind fd, unless it has no name any more;
 * path is for messages.
 */
int abspath_of_fd(int fd, const char *path, struct abspath *ret,
    struct problem *reterr) MUST_CHECK;

/* Of a file that may not exist yet, in a directory that does. */
int abspath_of_new(
    const char *path, struct abspath *ret, struct problem *reterr) MUST_CHECK;

/* Whether path is folder or lies under it; both as abspath_of() gives them. */
bool abspath_is_within(const char *path, const char *folder);

#endif
