#include "broker/mint_jwt.h"

#include "schema/attr.h"
#include "schema/problem.h"
#include "schema/secret.h"
#include "schema/status.h"

#include <assert.h>
#include <jwt.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
	RSA_BITS_LEAST = 2048,
	CURVE_NAME_MAX = 64,
	NUMBER_BYTES = 16
};

const char *const mint_jwt_algs[] = { "RS256", "ES256", NULL };
static_assert(
    sizeof(mint_jwt_algs) / sizeof(mint_jwt_algs[0]) == MINT_JWT_ALG_COUNT + 1,
    "every algorithm has a name");

/* OpenSSL's own would ask at the terminal, and wait for ever. */
static int
/* OpenSSL's prototype.  NOLINTNEXTLINE(readability-non-const-parameter) */
no_passphrase(char *out, int size, int writing, void *arg)
{
	(void)out;
	(void)size;
	(void)writing;
	(void)arg;
	return -1;
}

static EVP_PKEY *
read_key(struct cursor pem)
{
	EVP_PKEY *key = NULL;
	BIO *bio;

	if (pem.left == 0 || pem.left > INT_MAX)
		return NULL;
	bio = BIO_new_mem_buf(pem.at, (int)pem.left);
	if (bio == NULL)
		return NULL;
	key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
	(void)BIO_free(bio);
	return key;
}

static bool
fits(EVP_PKEY *key, enum mint_jwt_alg alg)
{
	char curve[CURVE_NAME_MAX] = "";

	if (alg == MINT_JWT_RS256)
		return EVP_PKEY_is_a(key, "RSA") == 1 &&
		       EVP_PKEY_get_bits(key) >= RSA_BITS_LEAST;
	return EVP_PKEY_is_a(key, "EC") == 1 &&
	       EVP_PKEY_get_group_name(key, curve, sizeof(curve), NULL) == 1 &&
	       strcmp(curve, "prime256v1") == 0;
}

int
mint_jwt_check(enum mint_jwt_alg alg, struct cursor pem, struct problem *reterr)
{
	EVP_PKEY *key = read_key(pem);
	bool well = key != NULL && fits(key, alg);

	EVP_PKEY_free(key);
	if (key == NULL)
		return problem_set(reterr,
		    "it is no private key in PEM, or it has a passphrase");
	if (!well)
		return problem_set(
		    reterr, alg == MINT_JWT_RS256
				? "RS256 needs an RSA key of 2,048 bits or more"
				: "ES256 needs a key on the curve P-256");
	return STATUS_OK;
}

static bool
add_text(jwt_t *token, const char *name, const char *value)
{
	return value == NULL || jwt_add_grant(token, name, value) == 0;
}

static bool
add_number(jwt_t *token)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char bytes[NUMBER_BYTES];
	char text[2 * NUMBER_BYTES + 1];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	text[sizeof(text) - 1] = '\0';
	return jwt_add_grant(token, "jti", text) == 0;
}

static bool
fill(jwt_t *token, const struct mint_jwt *jwt)
{
	return add_text(token, "iss", jwt->issuer) &&
	       add_text(token, "sub", jwt->subject) &&
	       add_text(token, "aud", jwt->audience) &&
	       add_text(token, "scope", jwt->scope) &&
	       jwt_add_grant_int(token, "iat", (long)jwt->issued_s) == 0 &&
	       jwt_add_grant_int(token, "exp", (long)jwt->expires_s) == 0 &&
	       (!jwt->numbered || add_number(token)) &&
	       (jwt->key_id == NULL ||
		   jwt_add_header(token, "kid", jwt->key_id) == 0);
}

struct secret *
mint_jwt_sign(const struct mint_jwt *jwt, struct cursor pem)
{
	struct problem problem;
	struct secret *signed_token = NULL;
	char *text = NULL;
	jwt_t *token = NULL;

	/* libjwt would take any key, and ask for a passphrase. */
	if (mint_jwt_check(jwt->alg, pem, &problem) != STATUS_OK ||
	    jwt_new(&token) != 0)
		return NULL;
	if (fill(token, jwt) &&
	    jwt_set_alg(token,
		jwt->alg == MINT_JWT_RS256 ? JWT_ALG_RS256 : JWT_ALG_ES256,
		pem.at, (int)pem.left) == 0)
		text = jwt_encode_str(token);
	if (text != NULL) {
		signed_token = secret_new(cursor_of_text(text));
		explicit_bzero(text, strlen(text));
		free(text);
	}
	jwt_free(token);
	return signed_token;
}
