/*
 * owned - a file that only its owner writes, read whole.
 *
 * What decides over a sandbox is read from nowhere that the sandbox, or
 * another account of the machine, could write: such a file is refused.  All
 * is asked of the open file, since a path could be another one by now.
 */
#ifndef GATEWAY_CLI_OWNED_H
#define GATEWAY_CLI_OWNED_H

#include "schema/cursor.h"
#include "schema/problem.h"

#include <stdbool.h>

/* Whether the sandbox could write there; path is absolute. */
typedef bool owned_writable(const char *path, const void *arg);

/*
 * Gives the bytes, to be freed, with a NUL behind them.  A longer file than
 * most is a problem; writable may be NULL.
 */
int owned_read(const char *path, size_t most, owned_writable *writable,
    const void *arg, struct cursor *ret, struct problem *reterr) MUST_CHECK;

/* The same question for one that was read before: by path, as it is now. */
int owned_check(const char *path, owned_writable *writable, const void *arg,
    struct problem *reterr) MUST_CHECK;

/*
 * A name in a file is meant from where the file stands; false when it is too
 * long for size bytes.
 */
bool owned_resolve(const char *file, const char *name, char *out, size_t size)
    MUST_CHECK;

#endif
