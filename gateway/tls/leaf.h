/*
 * leaf - a certificate for one host, signed by the run's authority.
 *
 * The host is a canonical name or the text of an address, and becomes the
 * only subjectAltName (RFC 5280 section 4.2.1.6): dNSName or iPAddress.  Valid
 * for at most 24 hours, from a little before now, so that a clock that is late
 * does not matter, and never longer than its authority.
 */
#ifndef GATEWAY_TLS_LEAF_H
#define GATEWAY_TLS_LEAF_H

#include "schema/attr.h"

#include <stdint.h>

struct evp_pkey_st;
struct leaf;
struct problem;
struct run_ca;
struct x509_st;

/* The one key of all leaves of a run; the caller frees it.  NULL: *reterr. */
struct evp_pkey_st *leaf_key_new(struct problem *reterr) MUST_CHECK;

/*
 * Gives a leaf for host that certifies key; key gets a reference of its own.
 * STATUS_MALFORMED for what is neither name nor address, STATUS_REFUSED when
 * the authority is not valid at wall_us, otherwise STATUS_PROBLEM or
 * STATUS_NO_MEMORY; *reterr tells why.
 */
int leaf_mint(const struct run_ca *ca, struct evp_pkey_st *key,
    const char *host, int64_t wall_us, struct leaf **ret,
    struct problem *reterr) MUST_CHECK;
void leaf_free(struct leaf *leaf);

/* The canonical text of the host; borrows from leaf. */
const char *leaf_host(const struct leaf *leaf);

/* Seconds since 1970. */
int64_t leaf_begins(const struct leaf *leaf);
int64_t leaf_ends(const struct leaf *leaf);

/* For inside only.  Both borrow from leaf. */
struct x509_st *leaf_certificate(const struct leaf *leaf);
struct evp_pkey_st *leaf_key(const struct leaf *leaf);

#endif
