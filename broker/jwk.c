#include "broker/jwk.h"

#include "policy/locate.h"
#include "schema/json.h"
#include "schema/limits.h"
#include "schema/problem.h"
#include "schema/secret.h"
#include "schema/status.h"

#include <assert.h>
#include <jansson.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

enum {
	RSA_BITS_LEAST = 2048,
	RSA_BITS_MOST = 4096,
	RSA_BITS_OURS = 3072,
	RSA_BYTES = RSA_BITS_MOST / 8,
	EXPONENT_BYTES = 8,
	POINT = 32, /* a coordinate of P-256, a key of Ed25519 */
	CURVE_NAME = 64,
	POINT_FORM = 4 /* SEC 1: uncompressed */
};

struct jwk {
	enum jwk_alg alg;
	EVP_PKEY *key;
	char id[JWK_THUMBPRINT + 1];
};

static const char *const alg_names[] = {
	[JWK_ES256] = "ES256",
	[JWK_RS256] = "RS256",
	[JWK_EDDSA] = "EdDSA",
};
static_assert(sizeof(alg_names) / sizeof(alg_names[0]) == JWK_ALG_COUNT,
    "every algorithm has a name");

/* What OpenSSL calls the type of such a key. */
static const char *const type_names[] = {
	[JWK_ES256] = "EC",
	[JWK_RS256] = "RSA",
	[JWK_EDDSA] = "ED25519",
};
static_assert(sizeof(type_names) / sizeof(type_names[0]) == JWK_ALG_COUNT,
    "every algorithm has a type of key");

const char *
jwk_alg_name(enum jwk_alg alg)
{
	return alg_names[alg];
}

bool
jwk_alg_find(struct cursor name, enum jwk_alg *ret)
{
	for (int alg = 0; alg < JWK_ALG_COUNT; alg++)
		if (cursor_equals(name, alg_names[alg])) {
			*ret = (enum jwk_alg)alg;
			return true;
		}
	return false;
}

void
jwk_free(struct jwk *key)
{
	if (key == NULL)
		return;
	EVP_PKEY_free(key->key);
	free(key);
}

enum jwk_alg
jwk_alg(const struct jwk *key)
{
	return key->alg;
}

const char *
jwk_id(const struct jwk *key)
{
	return key->id;
}

EVP_PKEY *
jwk_key(const struct jwk *key)
{
	return key->key;
}

/* ---- the public half as text ---- */

static void
put_number(const EVP_PKEY *key, const char *parameter, int width,
    struct cursor_writer *out)
{
	unsigned char bytes[RSA_BYTES];
	BIGNUM *number = NULL;
	int length = -1;

	if (EVP_PKEY_get_bn_param(key, parameter, &number) == 1) {
		if (width == 0)
			width = BN_num_bytes(number);
		if (width <= (int)sizeof(bytes))
			length = BN_bn2binpad(number, bytes, width);
	}
	BN_free(number);
	if (length <= 0)
		out->overflow = true;
	else
		base64url_write(cursor_of(bytes, (size_t)length), out);
}

static void
put_raw(const EVP_PKEY *key, struct cursor_writer *out)
{
	unsigned char bytes[POINT];
	size_t length = sizeof(bytes);

	if (EVP_PKEY_get_raw_public_key(key, bytes, &length) != 1)
		out->overflow = true;
	else
		base64url_write(cursor_of(bytes, length), out);
}

/*
 * The members that make the key, sorted and without blanks: what is hashed
 * for its name, and what stands in a set.
 */
static void
put_members(const struct jwk *key, struct cursor_writer *out)
{
	switch (key->alg) {
	case JWK_ES256:
		cursor_put_text(
		    out, "\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"");
		put_number(key->key, OSSL_PKEY_PARAM_EC_PUB_X, POINT, out);
		cursor_put_text(out, "\",\"y\":\"");
		put_number(key->key, OSSL_PKEY_PARAM_EC_PUB_Y, POINT, out);
		break;
	case JWK_RS256:
		cursor_put_text(out, "\"e\":\"");
		put_number(key->key, OSSL_PKEY_PARAM_RSA_E, 0, out);
		cursor_put_text(out, "\",\"kty\":\"RSA\",\"n\":\"");
		put_number(key->key, OSSL_PKEY_PARAM_RSA_N, 0, out);
		break;
	case JWK_EDDSA:
		cursor_put_text(
		    out, "\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"");
		put_raw(key->key, out);
		break;
	case JWK_ALG_COUNT:
		break;
	}
	cursor_put_text(out, "\"");
}

void
jwk_write(const struct jwk *key, struct json *j)
{
	char text[JWK_TEXT];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	assert(key->alg < JWK_ALG_COUNT);
	cursor_put_text(&out, "{");
	put_members(key, &out);
	cursor_put_text(&out, ",\"alg\":\"");
	cursor_put_text(&out, alg_names[key->alg]);
	cursor_put_text(&out, "\",\"use\":\"sig\",\"kid\":\"");
	cursor_put_text(&out, key->id);
	cursor_put_text(&out, "\"}");
	cursor_put_u8(&out, '\0');
	if (cursor_written(&out))
		json_verbatim(j, NULL, text);
}

static bool
name(struct jwk *key)
{
	unsigned char digest[SHA256_DIGEST_LENGTH];
	char text[JWK_TEXT];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	static_assert(sizeof(digest) == JWK_DIGEST, "a thumbprint is SHA-256");
	cursor_put_text(&out, "{");
	put_members(key, &out);
	cursor_put_text(&out, "}");
	if (!cursor_written(&out) || EVP_Digest(out.bytes, out.used, digest,
					 NULL, EVP_sha256(), NULL) != 1)
		return false;
	out = cursor_writer_of(key->id, JWK_THUMBPRINT);
	base64url_write(cursor_of(digest, sizeof(digest)), &out);
	return cursor_written(&out);
}

/* ---- keys ---- */

static bool
fits(EVP_PKEY *key, enum jwk_alg alg)
{
	char curve[CURVE_NAME] = "";
	int bits = EVP_PKEY_get_bits(key);

	if (EVP_PKEY_is_a(key, type_names[alg]) != 1)
		return false;
	switch (alg) {
	case JWK_ES256:
		return EVP_PKEY_get_group_name(
			   key, curve, sizeof(curve), NULL) == 1 &&
		       strcmp(curve, "prime256v1") == 0;
	case JWK_RS256:
		return bits >= RSA_BITS_LEAST && bits <= RSA_BITS_MOST;
	case JWK_EDDSA:
		return true;
	case JWK_ALG_COUNT:
		break;
	}
	return false;
}

/* Takes key, also on failure.  STATUS_REFUSED: it does not fit alg. */
static int
wrap(enum jwk_alg alg, EVP_PKEY *pkey, struct jwk **ret)
{
	struct jwk *key = NULL;
	int status = STATUS_REFUSED;

	if (pkey != NULL && fits(pkey, alg)) {
		key = calloc(1, sizeof(*key));
		status = STATUS_NO_MEMORY;
	}
	if (key == NULL) {
		EVP_PKEY_free(pkey);
		return status;
	}
	key->alg = alg;
	key->key = pkey;
	if (!name(key)) {
		jwk_free(key);
		return STATUS_NO_MEMORY;
	}
	*ret = key;
	return STATUS_OK;
}

struct jwk *
jwk_make(enum jwk_alg alg)
{
	struct jwk *key = NULL;
	EVP_PKEY *pkey = alg == JWK_ES256
			     ? EVP_EC_gen("P-256")
			     : EVP_RSA_gen((unsigned)RSA_BITS_OURS);

	return wrap(alg, pkey, &key) == STATUS_OK ? key : NULL;
}

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

int
jwk_read_pem(enum jwk_alg alg, struct cursor pem, struct jwk **ret,
    struct problem *reterr)
{
	EVP_PKEY *pkey = NULL;
	BIO *bio = NULL;
	int status;

	/* Of no bytes OpenSSL would make an empty key of any type. */
	if (pem.left > 0 && pem.left <= LIMIT_SECRET)
		bio = BIO_new_mem_buf(pem.at, (int)pem.left);
	if (bio != NULL)
		pkey = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
	(void)BIO_free(bio);
	if (pkey == NULL)
		return problem_set(reterr,
		    "it is no private key in PEM, or it has a passphrase");
	status = wrap(alg, pkey, ret);
	if (status == STATUS_REFUSED)
		return problem_set(reterr,
		    alg == JWK_RS256
			? "RS256 needs an RSA key of 2,048 to 4,096 bits"
			: "ES256 needs a key on the curve P-256");
	if (status != STATUS_OK)
		return problem_set(reterr, "there is no memory for a key");
	return STATUS_OK;
}

struct secret *
jwk_pem(const struct jwk *key)
{
	/* Its buffer is wiped when it is freed. */
	BIO *bio = BIO_new(BIO_s_secmem());
	struct secret *secret = NULL;
	char *text;
	long length;

	if (bio != NULL && PEM_write_bio_PrivateKey(bio, key->key, NULL, NULL,
			       0, no_passphrase, NULL) == 1) {
		length = BIO_get_mem_data(bio, &text);
		if (length > 0)
			secret = secret_new(cursor_of(text, (size_t)length));
	}
	(void)BIO_free(bio);
	return secret;
}

/* ---- a public key of JSON ---- */

/* A member of the key as bytes; false unless it is strict base64url. */
static bool
get_bytes(const json_t *object, const char *key, size_t size,
    struct cursor_writer *out)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_string(value) || out->size < size)
		return false;
	out->size = size;
	out->used = 0;
	return base64url_read(cursor_of(json_string_value(value),
				  json_string_length(value)),
		   out) &&
	       out->used > 0;
}

static EVP_PKEY *
key_of(const char *type, OSSL_PARAM *params)
{
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	EVP_PKEY *key = NULL;

	if (context == NULL || params == NULL ||
	    EVP_PKEY_fromdata_init(context) != 1 ||
	    EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
		key = NULL;
	EVP_PKEY_CTX_free(context);
	return key;
}

/* Is the point on its curve. */
static EVP_PKEY *
checked(EVP_PKEY *key)
{
	EVP_PKEY_CTX *context =
	    key == NULL ? NULL : EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
	bool well =
	    context != NULL && EVP_PKEY_public_check_quick(context) == 1;

	EVP_PKEY_CTX_free(context);
	if (well)
		return key;
	EVP_PKEY_free(key);
	return NULL;
}

static EVP_PKEY *
read_ec(const json_t *object)
{
	unsigned char point[1 + 2 * POINT] = { POINT_FORM };
	char group[] = "prime256v1";
	struct cursor_writer x = cursor_writer_of(point + 1, POINT);
	struct cursor_writer y = cursor_writer_of(point + 1 + POINT, POINT);
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(
		    OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
		OSSL_PARAM_construct_octet_string(
		    OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point)),
		OSSL_PARAM_construct_end(),
	};

	/* RFC 7518 section 6.2.1.2: of the curve's full width. */
	if (!get_bytes(object, "x", POINT, &x) || x.used != POINT ||
	    !get_bytes(object, "y", POINT, &y) || y.used != POINT)
		return NULL;
	return checked(key_of("EC", params));
}

static EVP_PKEY *
read_okp(const json_t *object)
{
	unsigned char raw[POINT];
	struct cursor_writer x = cursor_writer_of(raw, sizeof(raw));

	if (!get_bytes(object, "x", POINT, &x) || x.used != POINT)
		return NULL;
	return EVP_PKEY_new_raw_public_key(
	    EVP_PKEY_ED25519, NULL, raw, sizeof(raw));
}

static bool
is_odd(const struct cursor_writer *number)
{
	return (number->bytes[number->used - 1] & 1) != 0;
}

static EVP_PKEY *
read_rsa(const json_t *object)
{
	unsigned char modulus[RSA_BYTES], exponent[EXPONENT_BYTES];
	struct cursor_writer n = cursor_writer_of(modulus, sizeof(modulus));
	struct cursor_writer e = cursor_writer_of(exponent, sizeof(exponent));
	OSSL_PARAM_BLD *builder = NULL;
	OSSL_PARAM *params = NULL;
	BIGNUM *n_number = NULL, *e_number = NULL;
	EVP_PKEY *key = NULL;

	/* RFC 7518 section 6.3.1: without leading zero octets. */
	if (!get_bytes(object, "n", sizeof(modulus), &n) || modulus[0] == 0 ||
	    !get_bytes(object, "e", sizeof(exponent), &e) || exponent[0] == 0)
		return NULL;
	/*
	 * RFC 8017 section 3.1.  OpenSSL's check also looks for factors, at
	 * random: it would take the same number today and refuse it tomorrow.
	 */
	if (!is_odd(&n) || !is_odd(&e) || (e.used == 1 && exponent[0] == 1))
		return NULL;
	builder = OSSL_PARAM_BLD_new();
	n_number = BN_bin2bn(modulus, (int)n.used, NULL);
	e_number = BN_bin2bn(exponent, (int)e.used, NULL);
	if (builder != NULL && n_number != NULL && e_number != NULL &&
	    OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n_number) ==
		1 &&
	    OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e_number) ==
		1)
		params = OSSL_PARAM_BLD_to_param(builder);
	key = key_of("RSA", params);
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(builder);
	BN_free(n_number);
	BN_free(e_number);
	return key;
}

static const struct kind {
	const char *kty, *crv; /* crv NULL: there is none */
	enum jwk_alg alg;
	EVP_PKEY *(*read)(const json_t *object);
} kinds[] = {
	{ "EC", "P-256", JWK_ES256, read_ec },
	{ "RSA", NULL, JWK_RS256, read_rsa },
	{ "OKP", "Ed25519", JWK_EDDSA, read_okp },
};

/* An absent member is as good as the expected text. */
static bool
says(const json_t *object, const char *key, const char *expected, bool needed)
{
	const json_t *value = json_object_get(object, key);

	if (value == NULL)
		return !needed;
	return json_is_string(value) && expected != NULL &&
	       strcmp(json_string_value(value), expected) == 0;
}

static const struct kind *
find_kind(const json_t *object)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (says(object, "kty", kinds[i].kty, true) &&
		    says(object, "crv", kinds[i].crv, kinds[i].crv != NULL) &&
		    says(object, "alg", alg_names[kinds[i].alg], false) &&
		    says(object, "use", "sig", false))
			return &kinds[i];
	return NULL;
}

/* A key that shows its private half is not private any more. */
static bool
is_private(const json_t *object)
{
	static const char *const members[] = { "d", "p", "q", "dp", "dq", "qi",
		"oth", "k" };

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (json_object_get(object, members[i]) != NULL)
			return true;
	return false;
}

static int
read_object(const json_t *object, struct jwk **ret)
{
	const struct kind *kind;
	EVP_PKEY *key;

	if (!json_is_object(object) ||
	    !json_is_string(json_object_get(object, "kty")))
		return STATUS_MALFORMED;
	kind = find_kind(object);
	if (kind == NULL || is_private(object))
		return STATUS_REFUSED;
	key = kind->read(object);
	if (key == NULL)
		return STATUS_MALFORMED;
	return wrap(kind->alg, key, ret);
}

int
jwk_read(struct cursor text, struct jwk **ret)
{
	json_t *object;
	int status;

	if (text.left > LIMIT_JWK || locate_depth(text) > LIMIT_JSON_DEPTH)
		return STATUS_MALFORMED;
	object = json_loadb(
	    (const char *)text.at, text.left, JSON_REJECT_DUPLICATES, NULL);
	status = read_object(object, ret);
	json_decref(object);
	return status;
}
