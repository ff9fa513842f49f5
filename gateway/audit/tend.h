/*
 * tend - what the keeper does for an audit, one job after the other.
 */
#ifndef GATEWAY_AUDIT_TEND_H
#define GATEWAY_AUDIT_TEND_H

#include "schema/problem.h"

#include <stdint.h>

/*
 * Takes all rows into the rollup and seals what was left.  A segment that
 * somebody reads is left for the next time, which is no failure.
 */
int tend(const char *audit, struct problem *reterr) MUST_CHECK;

/* Removes the files of a segment; one that is gone already is no failure. */
int tend_remove(const char *audit, int64_t segment, struct problem *reterr)
    MUST_CHECK;

#endif
