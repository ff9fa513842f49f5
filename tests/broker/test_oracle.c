/*
 * Our reader of tokens beside libjwt: what we accept it accepts too, with the
 * same claims, for any change of a token.  The other way round it does not
 * hold: libjwt takes more, which is why it verifies nothing here.
 */
#include "schema/secret.h"
#include "tests/broker/forge.h"

#include <jansson.h>
#include <jwt.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define TYP "{\"alg\":\"%s\",\"typ\":\"JWT\",\"kid\":\"a\"}"

struct party {
	struct jwk *key;
	jwt_alg_t alg;
	unsigned char pem[4096];
	int pem_length;
	char token[FORGE_MAX];
};

static uint32_t chance_state;

/* xorshift: the same tries every time. */
static uint32_t
chance(uint32_t below)
{
	chance_state ^= chance_state << 13;
	chance_state ^= chance_state >> 17;
	chance_state ^= chance_state << 5;
	return chance_state % below;
}

static void
begin(struct party *party, enum jwk_alg alg)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char header[128];

	party->key = jwk_make(alg);
	party->alg = alg == JWK_ES256 ? JWT_ALG_ES256 : JWT_ALG_RS256;
	assert_int_equal(PEM_write_bio_PUBKEY(bio, jwk_key(party->key)), 1);
	party->pem_length =
	    BIO_read(bio, party->pem, (int)sizeof(party->pem) - 1);
	assert_true(party->pem_length > 0);
	(void)BIO_free(bio);
	(void)snprintf(header, sizeof(header), TYP, jwk_alg_name(alg));
	forge(party->key, header, "{\"sub\":\"agent:a\",\"exp\":7}",
	    party->token);
}

/* A careful caller of libjwt: it asks which algorithm it was. */
static bool
oracle_takes(const struct party *party, const char *token)
{
	jwt_t *jwt = NULL;
	bool takes =
	    jwt_decode(&jwt, token, party->pem, party->pem_length) == 0 &&
	    jwt_get_alg(jwt) == party->alg;

	if (jwt != NULL)
		jwt_free(jwt);
	return takes;
}

/* One change, or a few: a byte put in, taken out, replaced, or two parts. */
static void
mutate(char *token)
{
	static const char some[] = "AZaz09-_+/=. \n\"{}";
	size_t length = strlen(token);

	for (uint32_t changes = 1 + chance(3); changes > 0; changes--) {
		size_t at = chance((uint32_t)length);

		switch (chance(4)) {
		case 0:
			token[at] = some[chance(sizeof(some) - 1)];
			break;
		case 1:
			memmove(token + at, token + at + 1, length - at);
			length--;
			break;
		case 2:
			memmove(token + at + 1, token + at, length - at + 1);
			token[at] = some[chance(sizeof(some) - 1)];
			length++;
			break;
		default:
			token[at] = (char)(token[at] ^ (1 << chance(7)));
			if (token[at] == '\0')
				token[at] = 'A';
		}
	}
}

static void
try_all(struct party *party, int tries)
{
	char token[FORGE_MAX];
	int strict = 0, lax = 0;

	assert_int_equal(
	    forge_try(cursor_of_text(party->token), party->key, JWS_PLAIN),
	    JWS_WELL);
	assert_true(oracle_takes(party, party->token));
	for (int i = 0; i < tries; i++) {
		bool ours, theirs;

		memcpy(token, party->token, strlen(party->token) + 1);
		mutate(token);
		ours = forge_try(cursor_of_text(token), party->key,
			   JWS_PLAIN) == JWS_WELL;
		theirs = oracle_takes(party, token);
		assert_true(!ours || theirs);
		/* Nothing but the token itself is the token. */
		assert_true(!ours || strcmp(token, party->token) == 0);
		strict += ours;
		lax += theirs;
	}
	(void)printf("%s: of %d changed tokens we take %d, libjwt %d\n",
	    jwk_alg_name(jwk_alg(party->key)), tries, strict, lax);
	jwk_free(party->key);
}

static void
what_we_take_libjwt_takes_too(void **state)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	const char *full = secure_getenv("EXEAT_FULL");
	int tries = full != NULL && full[0] == '1' ? 100000 : 1000;

	(void)state;
	chance_state = 20251130;
	for (int alg = JWK_ES256; alg <= JWK_RS256; alg++) {
		struct party party;

		begin(&party, (enum jwk_alg)alg);
		try_all(&party, tries);
	}
}

static void
what_libjwt_signs_we_verify(void **state)
{
	(void)state;
	for (int alg = JWK_ES256; alg <= JWK_RS256; alg++) {
		struct jwk *key = jwk_make((enum jwk_alg)alg);
		struct secret *pem = jwk_pem(key);
		struct cursor bytes = secret_bytes(pem);
		jwt_t *jwt = NULL;
		char *text;

		assert_int_equal(jwt_new(&jwt), 0);
		assert_int_equal(jwt_add_grant(jwt, "sub", "agent:a"), 0);
		assert_int_equal(
		    jwt_set_alg(jwt,
			alg == JWK_ES256 ? JWT_ALG_ES256 : JWT_ALG_RS256,
			bytes.at, (int)bytes.left),
		    0);
		text = jwt_encode_str(jwt);
		assert_non_null(text);
		assert_int_equal(
		    forge_try(cursor_of_text(text), key, JWS_PLAIN), JWS_WELL);
		free(text);
		jwt_free(jwt);
		secret_free(pem);
		jwk_free(key);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_we_take_libjwt_takes_too),
		cmocka_unit_test(what_libjwt_signs_we_verify),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
