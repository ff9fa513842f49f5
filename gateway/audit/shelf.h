/*
 * shelf - the files that one audit is made of, in order.
 *
 * The first segment has the audit's own name, DB; the ones behind it stand
 * beside it as DB.000002, DB.000003 and so on.  A file never changes its name,
 * because a reader finds a database's log by it; the last one is being
 * written.  What is there is asked of the folder, so that no catalogue can
 * disagree with it.
 */
#ifndef GATEWAY_AUDIT_SHELF_H
#define GATEWAY_AUDIT_SHELF_H

#include "schema/limits.h"
#include "schema/problem.h"

#include <stdint.h>

#define SHELF_PATH 4096 /* with its NUL */

struct shelf {
	size_t count; /* 0: there is no audit yet */
	int64_t numbers[LIMIT_SEGMENTS]; /* rising; some may be pruned */
};

/* A folder that is not there has no segments. */
int shelf_read(const char *audit, struct shelf *ret, struct problem *reterr)
    MUST_CHECK;

/* The path of one segment, or of "DB.ending". */
int shelf_path(const char *audit, int64_t number, char ret[SHELF_PATH],
    struct problem *reterr) MUST_CHECK;
int shelf_beside(const char *audit, const char *ending, char ret[SHELF_PATH],
    struct problem *reterr) MUST_CHECK;

/* Makes new and removed names of the folder last through a power cut. */
int shelf_sync(const char *audit, struct problem *reterr) MUST_CHECK;

#endif
