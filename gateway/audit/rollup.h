/*
 * rollup - what is known of an audit beyond its segments, in DB.rollup.
 *
 * Counts by hour and host, when a host was first reached, the catalogue of
 * segments and runs, and the rows that are kept longest.  All of it is made
 * from rows, in their order, each once: how far it got stands in the same
 * transaction.  So a file that was removed, or one of another audit, is made
 * anew.  The keeper alone writes it.
 */
#ifndef GATEWAY_AUDIT_ROLLUP_H
#define GATEWAY_AUDIT_ROLLUP_H

#include "schema/problem.h"

#include <stdint.h>

struct rollup;

int rollup_open(const char *audit, struct rollup **ret, struct problem *reterr)
    MUST_CHECK;
void rollup_close(struct rollup *rollup);

/* Takes in every row that is there and not taken in yet. */
int rollup_absorb(struct rollup *rollup, struct problem *reterr) MUST_CHECK;

/* The lowest segment whose state is "sealing"; STATUS_NOT_FOUND. */
int rollup_next_to_seal(struct rollup *rollup, int64_t *ret) MUST_CHECK;

/* It is sealed now: its digest and size. */
int rollup_set_sealed(struct rollup *rollup, int64_t number,
    const uint8_t sha256[32], int64_t bytes, struct problem *reterr) MUST_CHECK;
int rollup_set_pruned(
    struct rollup *rollup, int64_t number, struct problem *reterr) MUST_CHECK;

#endif
