/*
 * keep - secrets that must survive us: owner-only files in one folder,
 * replaced as a whole, one writer at a time.
 *
 * A refresh token that was exchanged for another is worth nothing any more:
 * so the new one is on the disk before anything is done with what came with
 * it.  Who takes an entry holds its lock until it is released, also against
 * the brokers of other runs.
 */
#ifndef BROKER_KEEP_H
#define BROKER_KEEP_H

#include "schema/attr.h"
#include "schema/cursor.h"

struct keep;
struct keep_entry;
struct problem;
struct secret;

/*
 * Takes folder, also on failure.  It must be ours and closed to others.  NULL:
 * *reterr tells why.
 */
struct keep *keep_new(int folder, struct problem *reterr) MUST_CHECK;
void keep_free(struct keep *keep);

/*
 * Takes the entry of that name, a word of letters, digits, '-', '_' and '.'.
 * STATUS_AGAIN while another has it; else STATUS_PROBLEM.
 */
int keep_take(struct keep *keep, const char *name, struct keep_entry **ret,
    struct problem *reterr) MUST_CHECK;

/* What it holds; NULL when nothing was put there yet.  Borrows. */
const struct secret *keep_secret(const struct keep_entry *entry);

/* Replaces it; on the disk when this returns STATUS_OK. */
int keep_put(struct keep_entry *entry, struct cursor bytes,
    struct problem *reterr) MUST_CHECK;

void keep_release(struct keep_entry *entry);

#endif
