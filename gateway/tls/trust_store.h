/*
 * trust_store - the machine's roots, and with them the run's authority in the
 * form that programs read: one bundle of PEM certificates.
 *
 * Read once, at the start, before the process confines itself.
 */
#ifndef GATEWAY_TLS_TRUST_STORE_H
#define GATEWAY_TLS_TRUST_STORE_H

#include "schema/attr.h"
#include "schema/cursor.h"

struct problem;
struct run_ca;
struct trust_store;

/*
 * Reads the first of the usual bundles that exists, or the first of the usual
 * folders.  NULL when there is none, or it cannot be read: *reterr tells.
 */
struct trust_store *trust_store_new(struct problem *reterr) MUST_CHECK;

/* The same from one file or folder. */
struct trust_store *trust_store_read(const char *path, struct problem *reterr)
    MUST_CHECK;

void trust_store_free(struct trust_store *store);

/* The roots as PEM text; borrows from store. */
struct cursor trust_store_roots(const struct trust_store *store);

/*
 * Gives a sealed memfd, positioned at its start, with the roots and the
 * authority behind them.  store may be NULL: the authority alone.
 */
int trust_store_bundle(const struct trust_store *store, const struct run_ca *ca,
    int *ret_fd, struct problem *reterr) MUST_CHECK;

/* The same for Java; see jks. */
int trust_store_keystore(const struct trust_store *store,
    const struct run_ca *ca, int *ret_fd, struct problem *reterr) MUST_CHECK;

#endif
