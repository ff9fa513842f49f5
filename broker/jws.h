/*
 * jws - signed tokens in compact form (RFC 7515): written, read, verified.
 *
 * Read strictly: two dots, three parts of base64url in its one spelling, a
 * header that is a JSON object with "alg", perhaps "typ" and "kid", and
 * nothing else; so "crit", keys and addresses of keys are refused with it.
 * The payload can only be had from jws_verify(), for a key that was found
 * elsewhere: its algorithm counts, and the token has to say the same.
 * The only HMAC, "none" and encryption there is here is their refusal.
 */
#ifndef BROKER_JWS_H
#define BROKER_JWS_H

#include "broker/jwk.h"
#include "schema/limits.h"

/* An access token (RFC 9068), and anything that claims no more than JWT. */
#define JWS_ACCESS_TOKEN "at+jwt"
#define JWS_PLAIN "JWT"

enum jws_fault {
	JWS_WELL,
	JWS_TOO_LONG, /* more than LIMIT_TOKEN */
	JWS_NOT_COMPACT, /* dots, digits */
	JWS_BAD_HEADER, /* no object, or more than it may say */
	JWS_WRONG_ALG, /* not the key's, or none that we know */
	JWS_WRONG_TYPE, /* another typ than was asked for */
	JWS_BAD_SIGNATURE,
	JWS_FAULT_COUNT
};

/* In a word, for rows: "bad_signature". */
const char *jws_fault_name(enum jws_fault fault);

/* What was read and proves nothing yet; the cursors borrow from the text. */
struct jws {
	enum jwk_alg alg;
	char typ[LIMIT_TOKEN_NAME + 1]; /* empty: it says none */
	char kid[LIMIT_TOKEN_NAME + 1]; /* the same */
	struct cursor input; /* header and payload: what is signed */
	struct cursor payload, signature; /* still in base64url */
};

enum jws_fault jws_read(struct cursor text, struct jws *ret) MUST_CHECK;

/*
 * Appends the payload to out when key has signed it and the token's alg is the
 * key's and its typ is this one (NULL: it must have none).
 */
enum jws_fault jws_verify(const struct jws *jws, const struct jwk *key,
    const char *typ, struct cursor_writer *out) MUST_CHECK;

/*
 * The payload of a token that nobody vouches for, to be shown as such.  False
 * when it is not base64url.
 */
bool jws_unverified(const struct jws *jws, struct cursor_writer *out)
    MUST_CHECK;

/* Appends a token; false when it cannot be signed. */
bool jws_sign(const struct jwk *key, const char *typ, struct cursor payload,
    struct cursor_writer *out) MUST_CHECK;

#endif
