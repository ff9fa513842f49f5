/*
 * Known answers of RFC 7515 and RFC 8037, and every fault that was found in
 * libjwt 1.10 as a test of its own, numbered as there.
 */
#include "schema/problem.h"
#include "schema/secret.h"
#include "schema/status.h"
#include "tests/broker/forge.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define PAYLOAD                                                    \
	"eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6" \
	"Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

static const struct known {
	const char *key, *token;
} knowns[] = {
	/* RFC 7515 appendix A.2 */
	{ "{\"kty\":\"RSA\",\"e\":\"AQAB\",\"n\":\"ofgWCuLjybRlzo0tZWJjNiuSfb4"
	  "p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4"
	  "QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0L"
	  "OL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xs"
	  "mtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9"
	  "_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ\"}",
	    "eyJhbGciOiJSUzI1NiJ9." PAYLOAD
	    ".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh"
	    "7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX"
	    "4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7"
	    "K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPq"
	    "vhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVr"
	    "Bp0igcN_IoypGlUPQGe77Rw" },
	/* RFC 7515 appendix A.3 */
	{ "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHM"
	  "zV76e8Tus9uPHvRVEU\",\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKI"
	  "WI5a0\"}",
	    "eyJhbGciOiJFUzI1NiJ9." PAYLOAD
	    ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlS"
	    "ApmWQxfKTUJqPP3-Kg6NU1Q" },
	/* RFC 8037 appendix A.4 */
	{ "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"11qYAYKxCrfVS_7TyWQHOg"
	  "7hcvPapiMlrwIaaPcHURo\"}",
	    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il"
	    "_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g"
	    "7sVvpAr_MuM0KAg" },
};

#define KNOWNS (sizeof(knowns) / sizeof(knowns[0]))

static struct jwk *ec, *rsa, *other;

static int
make_keys(void **state)
{
	(void)state;
	ec = jwk_make(JWK_ES256);
	rsa = jwk_make(JWK_RS256);
	other = jwk_make(JWK_ES256);
	return ec != NULL && rsa != NULL && other != NULL ? 0 : -1;
}

static int
free_keys(void **state)
{
	(void)state;
	jwk_free(ec);
	jwk_free(rsa);
	jwk_free(other);
	return 0;
}

static struct jwk *
known_key(size_t number)
{
	struct jwk *key = NULL;

	assert_int_equal(
	    jwk_read(cursor_of_text(knowns[number].key), &key), STATUS_OK);
	return key;
}

static enum jws_fault
try(const char *token, const struct jwk *key)
{
	return forge_try(cursor_of_text(token), key, JWS_PLAIN);
}

static void
the_tokens_of_the_rfcs_verify(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOWNS; i++) {
		struct jwk *key = known_key(i);

		assert_int_equal(
		    forge_try(cursor_of_text(knowns[i].token), key, NULL),
		    JWS_WELL);
		/* They have no typ, and are no access tokens. */
		assert_int_equal(forge_try(cursor_of_text(knowns[i].token), key,
				     JWS_ACCESS_TOKEN),
		    JWS_WRONG_TYPE);
		jwk_free(key);
	}
}

static void
every_byte_of_a_token_counts(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOWNS; i++) {
		struct jwk *key = known_key(i);
		char text[1024];
		size_t length = strlen(knowns[i].token);

		memcpy(text, knowns[i].token, length + 1);
		for (size_t at = 0; at < length; at++) {
			char was = text[at];

			text[at] = was == 'A' ? 'B' : 'A';
			assert_int_not_equal(
			    forge_try(cursor_of(text, length), key, NULL),
			    JWS_WELL);
			text[at] = was;
		}
		for (size_t cut = 0; cut < length; cut++)
			assert_int_not_equal(
			    forge_try(cursor_of(text, cut), key, NULL),
			    JWS_WELL);
		jwk_free(key);
	}
}

static void
what_is_signed_is_verified_with_its_own_type(void **state)
{
	const struct jwk *keys[] = { ec, rsa };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char text[LIMIT_TOKEN], payload[64];
		struct cursor_writer out = cursor_writer_of(text, sizeof(text));
		struct cursor_writer read =
		    cursor_writer_of(payload, sizeof(payload));
		struct jws jws;

		assert_true(jws_sign(keys[i], JWS_ACCESS_TOKEN,
		    cursor_of_text("{\"sub\":\"a\"}"), &out));
		assert_int_equal(
		    jws_read(cursor_of(text, out.used), &jws), JWS_WELL);
		assert_string_equal(jws.kid, jwk_id(keys[i]));
		assert_string_equal(jws.typ, JWS_ACCESS_TOKEN);
		assert_int_equal(
		    jws_verify(&jws, keys[i], JWS_ACCESS_TOKEN, &read),
		    JWS_WELL);
		assert_true(cursor_equals(
		    cursor_of(payload, read.used), "{\"sub\":\"a\"}"));
		assert_int_equal(
		    jws_verify(&jws, keys[1 - i], JWS_ACCESS_TOKEN, &read),
		    JWS_WRONG_ALG);
		assert_int_equal(
		    forge_try(cursor_of(text, out.used), keys[i], JWS_PLAIN),
		    JWS_WRONG_TYPE);
	}
}

static void
a_token_that_does_not_fit_is_not_signed(void **state)
{
	char text[200];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	(void)state;
	assert_false(jws_sign(
	    ec, JWS_ACCESS_TOKEN, cursor_of_text("{\"sub\":\"a\"}"), &out));
}

/* ---- the faults of libjwt 1.10 ---- */

static void
fault_01_the_public_key_is_no_secret_of_an_hmac(void **state)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char pem[4096], token[FORGE_MAX];
	int length;

	(void)state;
	assert_int_equal(PEM_write_bio_PUBKEY(bio, jwk_key(rsa)), 1);
	length = BIO_read(bio, pem, sizeof(pem));
	(void)BIO_free(bio);
	assert_true(length > 0);
	forge_hmac(cursor_of(pem, (size_t)length),
	    "{\"alg\":\"HS256\",\"typ\":\"JWT\"}", "{}", token);
	assert_int_equal(try(token, rsa), JWS_WRONG_ALG);
	forge_hmac(cursor_of(pem, (size_t)length),
	    "{\"alg\":\"RS256\",\"typ\":\"JWT\"}", "{}", token);
	assert_int_equal(try(token, rsa), JWS_BAD_SIGNATURE);
}

static void
fault_02_and_03_without_a_key_nothing_verifies(void **state)
{
	struct problem problem;
	struct jwk *key = NULL;
	char token[FORGE_MAX];

	(void)state;
	/* There is no verification without a key, and none of an empty one. */
	assert_int_equal(
	    jwk_read_pem(JWK_RS256, cursor_of("", 0), &key, &problem),
	    STATUS_PROBLEM);
	forge_input("{\"alg\":\"RS256\",\"typ\":\"JWT\"}", "{}", token);
	forge_append(token, "", 0);
	assert_int_equal(try(token, rsa), JWS_NOT_COMPACT);
}

static void
fault_04_none_is_no_algorithm(void **state)
{
	static const char *const names[] = { "none", "None", "NONE", "nOnE",
		"" };
	char header[64], token[FORGE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(header, sizeof(header),
		    "{\"alg\":\"%s\",\"typ\":\"JWT\"}", names[i]);
		forge_input(header, "{}", token);
		assert_int_equal(try(token, ec), JWS_NOT_COMPACT);
		forge_append(token, "", 0);
		assert_int_equal(try(token, ec), JWS_NOT_COMPACT);
		forge(ec, header, "{}", token);
		assert_int_equal(try(token, ec), JWS_WRONG_ALG);
	}
}

static void
fault_05_and_06_the_type_is_what_it_was_signed_as(void **state)
{
	static const char *const types[] = { "at+jwt", "dpop+jwt",
		"txntoken+jwt", "wit+jwt" };

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		char text[LIMIT_TOKEN];
		struct cursor_writer out = cursor_writer_of(text, sizeof(text));
		struct cursor token;

		assert_true(jws_sign(ec, types[i], cursor_of_text("{}"), &out));
		token = cursor_of(text, out.used);
		assert_int_equal(forge_try(token, ec, types[i]), JWS_WELL);
		assert_int_equal(
		    forge_try(token, ec, JWS_PLAIN), JWS_WRONG_TYPE);
		assert_int_equal(forge_try(token, ec, NULL), JWS_WRONG_TYPE);
	}
}

static void
fault_08_an_algorithm_has_one_spelling(void **state)
{
	char token[FORGE_MAX];

	(void)state;
	forge(rsa, "{\"alg\":\"rs256\",\"typ\":\"JWT\"}", "{}", token);
	assert_int_equal(try(token, rsa), JWS_WRONG_ALG);
	forge(rsa, "{\"alg\":\"RS256 \",\"typ\":\"JWT\"}", "{}", token);
	assert_int_equal(try(token, rsa), JWS_WRONG_ALG);
	forge(rsa, "{\"alg\":[\"RS256\"],\"typ\":\"JWT\"}", "{}", token);
	assert_int_equal(try(token, rsa), JWS_BAD_HEADER);
}

static void
fault_09_what_a_header_says_and_we_do_not_know_is_refused(void **state)
{
	static const char *const members[] = {
		"\"crit\":[\"exp\"],\"exp\":1",
		"\"crit\":[]",
		"\"b64\":false",
		"\"jku\":\"https://keys.example/\"",
		"\"x5u\":\"https://keys.example/\"",
		"\"jwk\":{\"kty\":\"oct\",\"k\":\"\"}",
		"\"x5c\":[]",
		"\"zip\":\"DEF\"",
		"\"kid\":7",
		"\"kid\":\"\"",
		"\"kid\":\"a\\u0000b\"",
		"\"typ\":\"JWT\"",
		"\"alg\":\"ES256\"",
	};
	char header[256], token[FORGE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		(void)snprintf(header, sizeof(header),
		    "{\"alg\":\"ES256\",\"typ\":\"JWT\",%s}", members[i]);
		forge(ec, header, "{}", token);
		assert_int_equal(try(token, ec), JWS_BAD_HEADER);
	}
	forge(ec, "[\"ES256\"]", "{}", token);
	assert_int_equal(try(token, ec), JWS_BAD_HEADER);
	forge(ec, "{\"typ\":\"JWT\"}", "{}", token);
	assert_int_equal(try(token, ec), JWS_BAD_HEADER);
	forge(ec, "{\"alg\":\"ES256\",\"typ\":\"JWT\"} ", "{}", token);
	assert_int_equal(try(token, ec), JWS_WELL);
	forge(ec, "{\"alg\":\"ES256\",\"typ\":\"JWT\"}{}", "{}", token);
	assert_int_equal(try(token, ec), JWS_BAD_HEADER);
}

static void
fault_12_one_token_has_one_spelling(void **state)
{
	static const char *const behind[] = { "=", "====", "\n", " ", "!", "A",
		".", ".A" };
	char token[FORGE_MAX], text[FORGE_MAX + 8];
	size_t last;

	(void)state;
	forge(ec, "{\"alg\":\"ES256\",\"typ\":\"JWT\"}", "{}", token);
	assert_int_equal(try(token, ec), JWS_WELL);
	for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
		(void)snprintf(text, sizeof(text), "%s%s", token, behind[i]);
		assert_int_not_equal(try(text, ec), JWS_WELL);
		(void)snprintf(text, sizeof(text), "%s%s", behind[i], token);
		assert_int_not_equal(try(text, ec), JWS_WELL);
	}
	/* 64 bytes are 85 digits and two bits: the last digit has four too
	 * many, which must be zero. */
	last = strlen(token) - 1;
	assert_non_null(strchr("AQgw", token[last]));
	token[last]++;
	assert_int_equal(try(token, ec), JWS_NOT_COMPACT);
}

static void
fault_13_the_signature_has_the_curves_width(void **state)
{
	char token[FORGE_MAX];
	unsigned char zeros[96] = { 0 };

	(void)state;
	for (size_t length = 1; length <= sizeof(zeros); length++) {
		forge_input("{\"alg\":\"ES256\",\"typ\":\"JWT\"}", "{}", token);
		/* All zero is a signature of nothing, too. */
		forge_append(token, zeros, length);
		assert_int_equal(try(token, ec), JWS_BAD_SIGNATURE);
	}
}

static void
fault_15_forty_megabytes_are_refused_before_they_are_read(void **state)
{
	size_t length = 40u << 20;
	char *text = malloc(length);

	(void)state;
	assert_non_null(text);
	memset(text, 'A', length);
	text[10] = text[20] = '.';
	assert_int_equal(
	    forge_try(cursor_of(text, length), ec, NULL), JWS_TOO_LONG);
	assert_int_equal(forge_try(cursor_of(text, LIMIT_TOKEN + 1), ec, NULL),
	    JWS_TOO_LONG);
	assert_int_not_equal(
	    forge_try(cursor_of(text, LIMIT_TOKEN), ec, NULL), JWS_TOO_LONG);
	free(text);
}

static void
another_key_or_another_part_does_not_verify(void **state)
{
	char a[FORGE_MAX], b[FORGE_MAX], mixed[FORGE_MAX];
	const char *header = "{\"alg\":\"ES256\",\"typ\":\"JWT\"}";
	const char *signature;

	(void)state;
	forge(ec, header, "{\"sub\":\"a\"}", a);
	forge(ec, header, "{\"sub\":\"b\"}", b);
	assert_int_equal(try(a, other), JWS_BAD_SIGNATURE);
	signature = strrchr(b, '.');
	(void)snprintf(mixed, sizeof(mixed), "%.*s%s",
	    (int)(strrchr(a, '.') - a), a, signature);
	assert_int_equal(try(mixed, ec), JWS_BAD_SIGNATURE);
}

static void
every_fault_has_a_name(void **state)
{
	(void)state;
	for (int fault = 0; fault < JWS_FAULT_COUNT; fault++)
		assert_non_null(jws_fault_name((enum jws_fault)fault));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tokens_of_the_rfcs_verify),
		cmocka_unit_test(every_byte_of_a_token_counts),
		cmocka_unit_test(what_is_signed_is_verified_with_its_own_type),
		cmocka_unit_test(a_token_that_does_not_fit_is_not_signed),
		cmocka_unit_test(
		    fault_01_the_public_key_is_no_secret_of_an_hmac),
		cmocka_unit_test(
		    fault_02_and_03_without_a_key_nothing_verifies),
		cmocka_unit_test(fault_04_none_is_no_algorithm),
		cmocka_unit_test(
		    fault_05_and_06_the_type_is_what_it_was_signed_as),
		cmocka_unit_test(fault_08_an_algorithm_has_one_spelling),
		cmocka_unit_test(
		    fault_09_what_a_header_says_and_we_do_not_know_is_refused),
		cmocka_unit_test(fault_12_one_token_has_one_spelling),
		cmocka_unit_test(fault_13_the_signature_has_the_curves_width),
		cmocka_unit_test(
		    fault_15_forty_megabytes_are_refused_before_they_are_read),
		cmocka_unit_test(another_key_or_another_part_does_not_verify),
		cmocka_unit_test(every_fault_has_a_name),
	};

	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
