/*
 * mint_jwt - assertions of our own: a JWT with typ JWT, signed for somebody
 * else to read (RFC 7519, RFC 7523).  The only user of libjwt, which signs
 * here and verifies nothing.
 */
#ifndef BROKER_MINT_JWT_H
#define BROKER_MINT_JWT_H

#include "schema/cursor.h"

#include <stdint.h>

struct problem;
struct secret;

enum mint_jwt_alg {
	MINT_JWT_RS256,
	MINT_JWT_ES256,
	MINT_JWT_ALG_COUNT
};

/* Their names, ended by NULL: as the credential file has them. */
extern const char *const mint_jwt_algs[];

struct mint_jwt {
	enum mint_jwt_alg alg;
	const char *key_id; /* NULL: none */
	const char *issuer, *subject, *audience; /* NULL: left out */
	const char *scope; /* NULL: left out */
	int64_t issued_s, expires_s;
	bool numbered; /* has a jti, by chance */
};

/*
 * Whether PEM is a private key that can sign this: unencrypted, RSA of 2,048
 * bits at least, or on the curve P-256.
 */
int mint_jwt_check(enum mint_jwt_alg alg, struct cursor pem,
    struct problem *reterr) MUST_CHECK;

/* NULL when it cannot be signed: a key that does not fit, no memory. */
struct secret *mint_jwt_sign(const struct mint_jwt *jwt, struct cursor pem)
    MUST_CHECK;

#endif
