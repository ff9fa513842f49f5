/*
 * credfile - what the command has to know of a credential file before there
 * is a broker: its placeholders, and whether anything in it must be kept.
 *
 * What is wrong in the file the broker tells, with its place; here it counts
 * as absent.  No secret stands in it.
 */
#ifndef GATEWAY_CLI_CREDFILE_H
#define GATEWAY_CLI_CREDFILE_H

#include "schema/attr.h"

#include <jansson.h>
#include <stdbool.h>

struct needs;

/* The text as JSON, a reference of the caller's; NULL: it cannot be read. */
json_t *credfile_load(const char *path) MUST_CHECK;

/* One credential of it, or NULL; borrows. */
json_t *credfile_find(json_t *root, const char *name);

/*
 * Whether a broker keeps something that outlives the run, for one of these
 * credentials, or for any in the file without needs: a refresh token that was
 * renewed, a key that others know us by.
 */
bool credfile_keeps(json_t *root, const struct needs *needs);

#endif
