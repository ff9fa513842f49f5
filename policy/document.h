/*
 * document - JSON bytes to a policy, or every problem in them.
 *
 * Does no I/O: sets of the machine and the text of "upstream_ca" files are
 * put in beforehand by the command (cli/sets), which gives the loader the
 * expanded document; that one is what a gateway loads and the audit stores.
 */
#ifndef POLICY_DOCUMENT_H
#define POLICY_DOCUMENT_H

#include "policy/policy.h"
#include "schema/cursor.h"
#include "schema/problem.h"

/*
 * Gives a policy with one reference, or fills *reterr with every problem and
 * returns STATUS_PROBLEM.  name is for messages and is copied.
 */
int document_load(struct cursor text, const char *name, struct policy **ret,
    struct problems *reterr) MUST_CHECK;

#endif
