/*
 * mend - what a writer or a keeper that died has left half done in a file.
 *
 * Who makes a segment, or puts its log away for good, changes it by SQLite's
 * rollback journal; one that is left behind must be taken back before the file
 * can be read, and a reader may not do that.  A segment that is being written
 * has a log and never such a journal, so there is nobody to disturb.
 */
#ifndef GATEWAY_AUDIT_MEND_H
#define GATEWAY_AUDIT_MEND_H

#include "schema/attr.h"

#include <stdbool.h>

struct sqlite3;

/* Whether that is why the last call to db has failed. */
bool mend_is_needed(struct sqlite3 *db) MUST_CHECK;

/* False when it cannot be taken back: the file is another's, say. */
bool mend(const char *path) MUST_CHECK;

#endif
