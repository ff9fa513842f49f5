/*
 * unite - the views of several segments as one.
 *
 * The connection's own file is the newest segment; the ones before it are
 * attached, as many as SQLite allows, and views of the same names are made
 * over all of them for this connection.  A view of a segment joins within
 * its file, where the ids are its own, so each is asked with its indexes.
 */
#ifndef GATEWAY_AUDIT_UNITE_H
#define GATEWAY_AUDIT_UNITE_H

#include "schema/problem.h"

#define UNITE_MAX 11 /* SQLite attaches ten files to one */
#define UNITE_URI 12400 /* every byte of a path may be escaped */

struct shelf;
struct sqlite3;

/* How SQLite is told a path that it shall only read. */
int unite_uri(const char *path, char ret[UNITE_URI], struct problem *reterr)
    MUST_CHECK;

/* Attaches a segment, for reading only. */
int unite_attach(struct sqlite3 *db, const char *path, const char *name,
    struct problem *reterr) MUST_CHECK;

int unite(struct sqlite3 *db, const char *audit, const struct shelf *shelf,
    struct problem *reterr) MUST_CHECK;

#endif
