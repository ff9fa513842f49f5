/*
 * trusts - the outside contexts of the run, one for each set of roots.
 *
 * The machine's roots serve every rule that names no authority of its own;
 * each "upstream_ca" gets a context that trusts it alone.  Contexts live as
 * long as the run, since their sessions are resumed.
 */
#ifndef GATEWAY_FLOW_TRUSTS_H
#define GATEWAY_FLOW_TRUSTS_H

#include "schema/attr.h"
#include "schema/cursor.h"

struct outside;
struct pool;
struct problem;
struct trusts;

/* roots and pool are borrowed and outlive it. */
struct trusts *trusts_new(struct cursor roots, struct pool *pool) MUST_CHECK;
void trusts_free(struct trusts *trusts);

/*
 * The context for a rule's authority, or for the machine's when pem is NULL;
 * NULL and *reterr when it cannot be made.  pem is copied.
 */
struct outside *trusts_get(
    struct trusts *trusts, const char *pem, struct problem *reterr) MUST_CHECK;

#endif
