/*
 * forge - tokens with any header and payload, right or wrong, for tests.
 */
#ifndef TESTS_BROKER_FORGE_H
#define TESTS_BROKER_FORGE_H

#include "broker/jws.h"

#include <openssl/bn.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORGE_MAX 16384

/* header.payload of these texts, with its NUL. */
static inline void
forge_input(const char *header, const char *payload, char out[FORGE_MAX])
{
	struct cursor_writer w = cursor_writer_of(out, FORGE_MAX);

	base64url_write(cursor_of_text(header), &w);
	cursor_put_u8(&w, '.');
	base64url_write(cursor_of_text(payload), &w);
	cursor_put_u8(&w, '\0');
	if (!cursor_written(&w))
		abort();
}

static inline void
forge_append(char out[FORGE_MAX], const void *signature, size_t length)
{
	size_t used = strlen(out);
	struct cursor_writer w = cursor_writer_of(out + used, FORGE_MAX - used);

	cursor_put_u8(&w, '.');
	base64url_write(cursor_of(signature, length), &w);
	cursor_put_u8(&w, '\0');
	if (!cursor_written(&w))
		abort();
}

/* Signed by key, whatever the header says. */
static inline void
forge(const struct jwk *key, const char *header, const char *payload,
    char out[FORGE_MAX])
{
	unsigned char raw[FORGE_MAX], der[1024];
	struct cursor_writer signature = cursor_writer_of(raw, sizeof(raw));
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	size_t length = sizeof(der);

	forge_input(header, payload, out);
	if (EVP_DigestSignInit(
		context, NULL, EVP_sha256(), NULL, jwk_key(key)) != 1 ||
	    EVP_DigestSign(
		context, der, &length, (unsigned char *)out, strlen(out)) != 1)
		abort();
	EVP_MD_CTX_free(context);
	if (jwk_alg(key) == JWK_ES256) {
		const unsigned char *at = der;
		ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &at, (long)length);

		if (BN_bn2binpad(ECDSA_SIG_get0_r(pair), raw, 32) != 32 ||
		    BN_bn2binpad(ECDSA_SIG_get0_s(pair), raw + 32, 32) != 32)
			abort();
		ECDSA_SIG_free(pair);
		signature.used = 64;
	} else
		cursor_put(&signature, der, length);
	forge_append(out, raw, signature.used);
}

/* An HMAC under secret, as HS256 would have it. */
static inline void
forge_hmac(struct cursor secret, const char *header, const char *payload,
    char out[FORGE_MAX])
{
	unsigned char mac[EVP_MAX_MD_SIZE];
	unsigned length = 0;

	forge_input(header, payload, out);
	if (HMAC(EVP_sha256(), secret.at, (int)secret.left,
		(unsigned char *)out, strlen(out), mac, &length) == NULL)
		abort();
	forge_append(out, mac, length);
}

/* What reading and verifying it comes to. */
static inline enum jws_fault
forge_try(struct cursor text, const struct jwk *key, const char *typ)
{
	unsigned char payload[FORGE_MAX];
	struct cursor_writer out = cursor_writer_of(payload, sizeof(payload));
	struct jws jws;
	enum jws_fault fault = jws_read(text, &jws);

	return fault != JWS_WELL ? fault : jws_verify(&jws, key, typ, &out);
}

#endif
