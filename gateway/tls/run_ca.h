/*
 * run_ca - a certificate authority that lives as long as one run.
 *
 * A P-256 key and a self-signed certificate (RFC 5280 section 4.2.1.9: CA,
 * path length 0, critical), made at the start of a run, and
 * trusted by one sandbox only.  The key never leaves the memory of this
 * process: nothing here writes or prints it.
 *
 * The end of the run ends it.  Its certificate is good for as long as a run
 * may last, because no sandbox could be given another, and from a day before,
 * because a clock that is put right goes back as well.
 */
#ifndef GATEWAY_TLS_RUN_CA_H
#define GATEWAY_TLS_RUN_CA_H

#include "schema/attr.h"
#include "schema/cursor.h"

#include <stdint.h>

struct evp_pkey_st;
struct problem;
struct run_ca;
struct x509_st;

/*
 * run names the run in the certificate's subject.  wall_us is the time, in
 * microseconds since 1970.  NULL: *reterr tells why.
 */
struct run_ca *run_ca_new(
    const char *run, int64_t wall_us, struct problem *reterr) MUST_CHECK;
void run_ca_free(struct run_ca *ca);

/* The certificate as PEM text; borrows from ca. */
struct cursor run_ca_pem(const struct run_ca *ca);

/* From when and until when it is valid, in seconds since 1970. */
int64_t run_ca_begins(const struct run_ca *ca);
int64_t run_ca_ends(const struct run_ca *ca);

/* For leaf only: the issuer, and its key.  Both borrow from ca. */
struct x509_st *run_ca_certificate(const struct run_ca *ca);
struct evp_pkey_st *run_ca_key(const struct run_ca *ca);

#endif
