/*
 * seal - makes a segment that was left ready to be asked and kept.
 *
 * Its log is copied into it, the indexes of schema/audit/seal are made and
 * counted, and nobody may write it any more.  Each step can be done twice, so
 * one that was interrupted is done again.  While somebody reads the file in
 * the way of one that is written, it is left for later.
 */
#ifndef GATEWAY_AUDIT_SEAL_H
#define GATEWAY_AUDIT_SEAL_H

#include "schema/problem.h"

#include <stdint.h>

/* Of the file as it stands then; STATUS_AGAIN, with a problem: in use. */
int seal(const char *path, uint8_t ret_sha256[32], int64_t *ret_bytes,
    struct problem *reterr) MUST_CHECK;

#endif
