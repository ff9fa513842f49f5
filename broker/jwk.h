/*
 * jwk - a signing key, and its public half as a JSON Web Key (RFC 7517).
 *
 * A key has one algorithm for its whole life, which is chosen when it is made
 * or read and never by a token.  It is named by its thumbprint (RFC 7638), so
 * that two names never mean one key.  RSA of fewer than 2,048 bits and curves
 * that are not the algorithm's are refused.
 */
#ifndef BROKER_JWK_H
#define BROKER_JWK_H

#include "schema/base64url.h"

struct evp_pkey_st;
struct json;
struct problem;
struct secret;

enum jwk_alg {
	JWK_ES256, /* P-256: our own tokens */
	JWK_RS256, /* RSA: what every cloud understands */
	JWK_EDDSA, /* Ed25519 (RFC 8037): only verified */
	JWK_ALG_COUNT
};

/* "ES256", "RS256", "EdDSA". */
const char *jwk_alg_name(enum jwk_alg alg);

/* The algorithm of that name, spelled exactly so. */
bool jwk_alg_find(struct cursor name, enum jwk_alg *ret) MUST_CHECK;

#define JWK_DIGEST 32
#define JWK_THUMBPRINT BASE64URL_LENGTH(JWK_DIGEST)

/* Text of a JWK: 4,096 bits of RSA and what is around them. */
#define JWK_TEXT 1024

struct jwk;

/* A new one of ES256 or RS256 (3,072 bits); NULL when it cannot be made. */
struct jwk *jwk_make(enum jwk_alg alg) MUST_CHECK;

/* A private key in PEM, as jwk_pem() gives it; no passphrase is asked for. */
int jwk_read_pem(enum jwk_alg alg, struct cursor pem, struct jwk **ret,
    struct problem *reterr) MUST_CHECK;

/* The private half, to be kept; NULL without memory. */
struct secret *jwk_pem(const struct jwk *key) MUST_CHECK;

/*
 * One public key as JSON.  STATUS_MALFORMED; STATUS_REFUSED for what is a key
 * and not one of ours: another type, another use, a private or too small one.
 */
int jwk_read(struct cursor text, struct jwk **ret) MUST_CHECK;
void jwk_free(struct jwk *key);

enum jwk_alg jwk_alg(const struct jwk *key);
/* JWK_THUMBPRINT characters; borrows. */
const char *jwk_id(const struct jwk *key);
/* Borrows. */
struct evp_pkey_st *jwk_key(const struct jwk *key);

/* The public half, as an element of "keys" or at the top. */
void jwk_write(const struct jwk *key, struct json *j);

#endif
