#include "broker/jwk.h"
#include "schema/json.h"
#include "schema/limits.h"
#include "schema/problem.h"
#include "schema/secret.h"
#include "schema/status.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* RFC 7638 section 3.1. */
#define RSA_N                                                              \
	"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86"  \
	"zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5J" \
	"sGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMi" \
	"cAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt" \
	"-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-cs" \
	"FCur-kEgU8awapJzKnqDKgw"
/* RFC 7515 appendix A.3. */
#define EC_X "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
#define EC_Y "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"

static int
try(const char *text)
{
	struct jwk *key = NULL;
	int status = jwk_read(cursor_of_text(text), &key);

	assert_true((status == STATUS_OK) == (key != NULL));
	jwk_free(key);
	return status;
}

static void
the_thumbprints_of_the_rfcs_come_out(void **state)
{
	struct jwk *key = NULL;

	(void)state;
	assert_int_equal(
	    jwk_read(cursor_of_text("{\"kty\":\"RSA\",\"n\":\"" RSA_N
				    "\",\"e\":\"AQAB\",\"alg\":\"RS256\","
				    "\"kid\":\"2011-04-29\"}"),
		&key),
	    STATUS_OK);
	assert_string_equal(
	    jwk_id(key), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
	assert_int_equal(jwk_alg(key), JWK_RS256);
	jwk_free(key);
	/* RFC 8037 appendix A.2 and A.3. */
	assert_int_equal(
	    jwk_read(cursor_of_text("{\"kty\":\"OKP\",\"crv\":\"Ed25519\","
				    "\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMl"
				    "rwIaaPcHURo\"}"),
		&key),
	    STATUS_OK);
	assert_string_equal(
	    jwk_id(key), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
	jwk_free(key);
}

static void
a_key_is_read_as_it_was_written_and_keeps_its_name(void **state)
{
	(void)state;
	for (int alg = JWK_ES256; alg <= JWK_RS256; alg++) {
		struct jwk *key = jwk_make((enum jwk_alg)alg), *again = NULL;
		char text[2 * JWK_TEXT];
		struct cursor_writer out = cursor_writer_of(text, sizeof(text));
		struct json j = json_to(&out);

		assert_non_null(key);
		jwk_write(key, &j);
		assert_true(cursor_written(&out));
		assert_int_equal(
		    jwk_read(cursor_of(text, out.used), &again), STATUS_OK);
		assert_string_equal(jwk_id(key), jwk_id(again));
		assert_int_equal(jwk_alg(again), alg);
		assert_int_equal(EVP_PKEY_eq(jwk_key(key), jwk_key(again)), 1);
		jwk_free(again);
		jwk_free(key);
	}
}

static void
a_private_key_is_kept_as_pem_and_read_again(void **state)
{
	(void)state;
	for (int alg = JWK_ES256; alg <= JWK_RS256; alg++) {
		struct jwk *key = jwk_make((enum jwk_alg)alg), *again = NULL;
		struct secret *pem = jwk_pem(key);
		struct problem problem;

		assert_non_null(pem);
		assert_int_equal(jwk_read_pem((enum jwk_alg)alg,
				     secret_bytes(pem), &again, &problem),
		    STATUS_OK);
		assert_string_equal(jwk_id(key), jwk_id(again));
		jwk_free(again);
		again = NULL;
		/* Of the other algorithm it is no key. */
		assert_int_equal(jwk_read_pem((enum jwk_alg)(1 - alg),
				     secret_bytes(pem), &again, &problem),
		    STATUS_PROBLEM);
		assert_null(again);
		secret_free(pem);
		jwk_free(key);
	}
}

static void
what_is_no_public_signing_key_of_ours_is_refused(void **state)
{
	static const char *const refused[] = {
		/* symmetric, encrypting, other curves, other uses */
		"{\"kty\":\"oct\",\"k\":\"c2VjcmV0\"}",
		"{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":\"11qYAYKxCrfVS_"
		"7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}",
		"{\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"" EC_X
		"\",\"y\":\"" EC_Y "\"}",
		"{\"kty\":\"EC\",\"crv\":\"P-256\",\"use\":\"enc\",\"x\":"
		"\"" EC_X "\",\"y\":\"" EC_Y "\"}",
		/* an algorithm that is not this key's */
		"{\"kty\":\"EC\",\"crv\":\"P-256\",\"alg\":\"RS256\",\"x\":"
		"\"" EC_X "\",\"y\":\"" EC_Y "\"}",
		"{\"kty\":\"RSA\",\"alg\":\"HS256\",\"n\":\"" RSA_N
		"\",\"e\":\"AQAB\"}",
		"{\"kty\":\"RSA\",\"alg\":7,\"n\":\"" RSA_N
		"\",\"e\":\"AQAB\"}",
		/* its private half is shown */
		"{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_X
		"\",\"y\":\"" EC_Y "\",\"d\":\"jpsQnnGQmL-YBIffH1136cspYG6-"
		"0iY7X1fCE9-E9LI\"}",
	};

	(void)state;
	assert_int_equal(try("{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_X
			     "\",\"y\":\"" EC_Y "\"}"),
	    STATUS_OK);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_int_equal(try(refused[i]), STATUS_REFUSED);
}

static void
a_modulus_of_too_few_or_too_many_bits_is_refused(void **state)
{
	static const unsigned bits[] = { 1024, 2048, 4608 };

	(void)state;
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		EVP_PKEY *key = EVP_RSA_gen(bits[i]);
		unsigned char modulus[1024];
		char text[2048];
		struct cursor_writer out = cursor_writer_of(text, sizeof(text));
		BIGNUM *n = NULL;

		assert_int_equal(EVP_PKEY_get_bn_param(key, "n", &n), 1);
		cursor_put_text(
		    &out, "{\"kty\":\"RSA\",\"e\":\"AQAB\",\"n\":\"");
		base64url_write(
		    cursor_of(modulus, (size_t)BN_bn2bin(n, modulus)), &out);
		cursor_put_text(&out, "\"}");
		cursor_put_u8(&out, '\0');
		BN_free(n);
		EVP_PKEY_free(key);
		assert_int_equal(try(text), bits[i] == 2048 ? STATUS_OK
					    : bits[i] == 1024
						? STATUS_REFUSED
						: STATUS_MALFORMED);
	}
}

static void
what_is_malformed_is_no_key(void **state)
{
	static const char *const malformed[] = {
		"",
		"[]",
		"{}",
		"null",
		"{\"kty\":1}",
		/* a member twice */
		"{\"kty\":\"EC\",\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_X
		"\",\"y\":\"" EC_Y "\"}",
		/* a point that is not on the curve */
		"{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_X
		"\",\"y\":\"" EC_X "\"}",
		/* too short, padded, of other digits */
		"{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"f83O\",\"y\":"
		"\"" EC_Y "\"}",
		"{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_X
		"=\",\"y\":\"" EC_Y "\"}",
		"{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_X
		"\",\"y\":\"x/FEzRu9m36HLN/tue659LNpXW6pCyStikYjKIWI5a0\"}",
		/* no exponent, one of nothing, one with zeros before it */
		"{\"kty\":\"RSA\",\"n\":\"" RSA_N "\"}",
		"{\"kty\":\"RSA\",\"n\":\"" RSA_N "\",\"e\":\"\"}",
		"{\"kty\":\"RSA\",\"n\":\"" RSA_N "\",\"e\":\"AAEAAQ\"}",
		/* an exponent of one, one that is even */
		"{\"kty\":\"RSA\",\"n\":\"" RSA_N "\",\"e\":\"AQ\"}",
		"{\"kty\":\"RSA\",\"n\":\"" RSA_N "\",\"e\":\"AQAA\"}",
		"{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AQAB\"}",
	};
	char deep[2048];

	(void)state;
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		assert_int_equal(try(malformed[i]), STATUS_MALFORMED);
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	assert_int_equal(try(deep), STATUS_MALFORMED);
}

static size_t
write_pem(EVP_PKEY *key, const EVP_CIPHER *cipher, char *out, size_t size)
{
	static unsigned char word[] = "word";
	BIO *bio = BIO_new(BIO_s_mem());
	int length;

	assert_int_equal(
	    PEM_write_bio_PrivateKey(bio, key, cipher, word, 4, NULL, NULL), 1);
	length = BIO_read(bio, out, (int)size);
	assert_true(length > 0);
	(void)BIO_free(bio);
	return (size_t)length;
}

static void
a_key_that_is_weak_foreign_or_locked_is_refused_without_asking(void **state)
{
	static const char *const weak[] = { "RSA", "EC", "EC" };
	EVP_PKEY *keys[] = { EVP_RSA_gen(1024), EVP_EC_gen("P-384"),
		EVP_EC_gen("P-256") };
	struct problem problem;
	struct jwk *key = NULL;
	char pem[4096];
	size_t length;

	(void)state;
	/* Faults 13, 14 and 16 of libjwt 1.10. */
	for (size_t i = 0; i < 3; i++) {
		length = write_pem(keys[i], i == 2 ? EVP_aes_128_cbc() : NULL,
		    pem, sizeof(pem));
		assert_int_equal(
		    jwk_read_pem(
			strcmp(weak[i], "RSA") == 0 ? JWK_RS256 : JWK_ES256,
			cursor_of(pem, length), &key, &problem),
		    STATUS_PROBLEM);
		assert_null(key);
		EVP_PKEY_free(keys[i]);
	}
	/* Fault 3: an empty key file. */
	assert_int_equal(
	    jwk_read_pem(JWK_RS256, cursor_of(NULL, 0), &key, &problem),
	    STATUS_PROBLEM);
	assert_int_equal(
	    jwk_read_pem(JWK_RS256, cursor_of_text("key"), &key, &problem),
	    STATUS_PROBLEM);
	assert_null(key);
}

static void
an_algorithm_is_found_by_its_exact_name_only(void **state)
{
	enum jwk_alg alg = JWK_ALG_COUNT;

	(void)state;
	assert_true(jwk_alg_find(cursor_of_text("RS256"), &alg));
	assert_int_equal(alg, JWK_RS256);
	alg = JWK_ALG_COUNT;
	assert_false(jwk_alg_find(cursor_of_text("rs256"), &alg));
	assert_false(jwk_alg_find(cursor_of_text("none"), &alg));
	assert_false(jwk_alg_find(cursor_of_text("HS256"), &alg));
	assert_false(jwk_alg_find(cursor_of_text("ES256 "), &alg));
	assert_int_equal(alg, JWK_ALG_COUNT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_thumbprints_of_the_rfcs_come_out),
		cmocka_unit_test(
		    a_key_is_read_as_it_was_written_and_keeps_its_name),
		cmocka_unit_test(a_private_key_is_kept_as_pem_and_read_again),
		cmocka_unit_test(
		    what_is_no_public_signing_key_of_ours_is_refused),
		cmocka_unit_test(
		    a_modulus_of_too_few_or_too_many_bits_is_refused),
		cmocka_unit_test(what_is_malformed_is_no_key),
		cmocka_unit_test(
		    a_key_that_is_weak_foreign_or_locked_is_refused_without_asking),
		cmocka_unit_test(an_algorithm_is_found_by_its_exact_name_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
