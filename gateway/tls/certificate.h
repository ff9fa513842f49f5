/*
 * certificate - what the run's authority and its leaves have in common: a
 * random serial, a time, a key, and extensions (RFC 5280 section 4.1).
 *
 * Each step of making one returns STATUS_OK, or STATUS_PROBLEM with the cause
 * in OpenSSL's queue for tlserr_take().
 */
#ifndef GATEWAY_TLS_CERTIFICATE_H
#define GATEWAY_TLS_CERTIFICATE_H

#include "schema/attr.h"

#include <stdbool.h>
#include <stdint.h>

struct evp_pkey_st;
struct x509_st;

enum certificate_use {
	CERTIFICATE_SIGNS_CERTIFICATES,
	CERTIFICATE_SERVES /* as a TLS server */
};

/* A P-256 key; NULL: see tlserr_take(). */
struct evp_pkey_st *certificate_key_new(void) MUST_CHECK;

/*
 * Version 3 with a serial of 128 random bits; times are seconds since 1970.
 * NULL: see tlserr_take().
 */
struct x509_st *certificate_new(
    struct evp_pkey_st *key, int64_t begins, int64_t ends) MUST_CHECK;

/* Makes name, of at most 64 characters, the subject's only CN. */
int certificate_set_name(struct x509_st *certificate, const char *name)
    MUST_CHECK;

/*
 * Basic constraints, key usage and, for servers, extended key usage; the
 * identifiers of its own key and of issuer's, which may be itself.
 */
int certificate_set_use(struct x509_st *certificate, enum certificate_use use,
    struct x509_st *issuer) MUST_CHECK;

/*
 * The only subjectAltName: an address if host is one, else a dNSName.
 * Critical when the certificate has no subject.
 */
int certificate_set_host(
    struct x509_st *certificate, const char *host, bool critical) MUST_CHECK;

/* Names the issuer, and signs with its key. */
int certificate_sign(struct x509_st *certificate, struct x509_st *issuer,
    struct evp_pkey_st *issuer_key) MUST_CHECK;

#endif
