/*
 * load - one policy text on its way into the database.
 *
 * Read whole and held against its digest before anything is written, so that
 * what the rows name is what the gateway was told to obey.
 */
#ifndef GATEWAY_AUDIT_LOAD_H
#define GATEWAY_AUDIT_LOAD_H

#include "schema/event.h"

struct writer_op;

/*
 * Reads at most LIMIT_POLICY_BYTES from the file or memfd behind fd, which
 * stays the caller's.  NULL when they cannot be read or are not what about
 * says.  The operation frees itself when it was done; before that the caller
 * may, with load_free().  on_loaded is called then, and may be NULL.
 */
struct writer_op *load_new(const struct event_policy *about, int fd,
    int64_t loaded_us, void (*on_loaded)(void *arg), void *arg) MUST_CHECK;
void load_free(struct writer_op *op);

#endif
