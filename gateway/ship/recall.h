/*
 * recall - an audit, made again from what a fleet has of it.
 *
 * The files have the same rows, entries, blocks and checkpoints as the ones
 * that were shipped, so that verify and every question work on them.
 */
#ifndef GATEWAY_SHIP_RECALL_H
#define GATEWAY_SHIP_RECALL_H

#include "schema/problem.h"

/*
 * chain: as exeat.gateway has it.  audit must not be there yet; its segments
 * are put beside it.
 */
int recall_audit(const char *where, const char *chain, const char *audit,
    struct problem *reterr) MUST_CHECK;

#endif
