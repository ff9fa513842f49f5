/*
 * auditor - the one writer of a database: found, or started.
 *
 * Runs that share a database share its writer.  Who gets the lock beside the
 * database listens on the socket beside it; everybody else connects.
 */
#ifndef GATEWAY_CLI_AUDITOR_H
#define GATEWAY_CLI_AUDITOR_H

#include "schema/problem.h"

struct program;

/*
 * Gives a connected channel of a parent, within LIMIT_SIBLING_MS.  Waits: the
 * caller has nothing else to do yet.
 */
int auditor_connect(const char *database, const struct program *writer,
    int *ret_fd, struct problem *reterr) MUST_CHECK;

#endif
