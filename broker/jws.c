#include "broker/jws.h"

#include "policy/locate.h"
#include "schema/json.h"

#include <assert.h>
#include <jansson.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

enum {
	SCALAR = 32, /* r or s of P-256 */
	SIGNATURE_MOST = 512, /* RSA of 4,096 bits */
	DER_MOST = 80 /* a sequence of two numbers of 33 bytes has 72 */
};

static const char *const fault_names[] = {
	[JWS_WELL] = "well",
	[JWS_TOO_LONG] = "too_long",
	[JWS_NOT_COMPACT] = "not_compact",
	[JWS_BAD_HEADER] = "bad_header",
	[JWS_WRONG_ALG] = "alg_mismatch",
	[JWS_WRONG_TYPE] = "wrong_typ",
	[JWS_BAD_SIGNATURE] = "bad_signature",
};
static_assert(sizeof(fault_names) / sizeof(fault_names[0]) == JWS_FAULT_COUNT,
    "every fault has a name");

const char *
jws_fault_name(enum jws_fault fault)
{
	return fault_names[fault];
}

/* ---- the header ---- */

static bool
get_text(const json_t *value, char out[LIMIT_TOKEN_NAME + 1])
{
	const char *text = json_string_value(value);
	size_t length;

	if (text == NULL)
		return false;
	length = strlen(text);
	if (length == 0 || length > LIMIT_TOKEN_NAME)
		return false;
	memcpy(out, text, length + 1);
	return true;
}

static enum jws_fault
take_members(json_t *header, struct jws *jws)
{
	const json_t *alg = json_object_get(header, "alg");
	const json_t *typ = json_object_get(header, "typ");
	const json_t *kid = json_object_get(header, "kid");
	size_t known = 1u + (typ != NULL) + (kid != NULL);

	/* What else it says we do not understand, so it is not ours. */
	if (!json_is_string(alg) || json_object_size(header) != known ||
	    (typ != NULL && !get_text(typ, jws->typ)) ||
	    (kid != NULL && !get_text(kid, jws->kid)))
		return JWS_BAD_HEADER;
	if (!jwk_alg_find(cursor_of_text(json_string_value(alg)), &jws->alg))
		return JWS_WRONG_ALG;
	return JWS_WELL;
}

static enum jws_fault
take_header(struct cursor encoded, struct jws *jws)
{
	char text[LIMIT_TOKEN_HEADER];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	enum jws_fault fault = JWS_BAD_HEADER;
	json_t *header;

	if (!base64url_read(encoded, &out))
		return out.overflow ? JWS_BAD_HEADER : JWS_NOT_COMPACT;
	if (locate_depth(cursor_of(text, out.used)) > LIMIT_JSON_DEPTH)
		return JWS_BAD_HEADER;
	header = json_loadb(text, out.used, JSON_REJECT_DUPLICATES, NULL);
	if (json_is_object(header))
		fault = take_members(header, jws);
	json_decref(header);
	return fault;
}

/* Whether it is some base64url; it is kept as it is until it is wanted. */
static bool
is_encoded(struct cursor text)
{
	unsigned char bytes[LIMIT_TOKEN];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	return text.left > 0 && base64url_read(text, &out);
}

enum jws_fault
jws_read(struct cursor text, struct jws *ret)
{
	struct jws jws = { .typ = "" };
	struct cursor all = text, header, payload;
	enum jws_fault fault;

	/* Before a byte of it is looked at. */
	if (text.left > LIMIT_TOKEN)
		return JWS_TOO_LONG;
	if (!cursor_until(&text, '.', &header) ||
	    !cursor_until(&text, '.', &payload) || !is_encoded(header) ||
	    !is_encoded(payload) || !is_encoded(text))
		return JWS_NOT_COMPACT;
	fault = take_header(header, &jws);
	if (fault != JWS_WELL)
		return fault;
	jws.input = cursor_of(all.at, header.left + 1 + payload.left);
	jws.payload = payload;
	jws.signature = text;
	*ret = jws;
	return JWS_WELL;
}

bool
jws_unverified(const struct jws *jws, struct cursor_writer *out)
{
	return base64url_read(jws->payload, out);
}

/* ---- verify ---- */

static const EVP_MD *
digest_of(enum jwk_alg alg)
{
	/* Ed25519 hashes by itself. */
	return alg == JWK_EDDSA ? NULL : EVP_sha256();
}

/* RFC 7518 section 3.4: r and s, of the curve's width each, to DER. */
static int
to_der(const unsigned char *raw, unsigned char der[DER_MOST])
{
	ECDSA_SIG *pair = ECDSA_SIG_new();
	BIGNUM *r = BN_bin2bn(raw, SCALAR, NULL);
	BIGNUM *s = BN_bin2bn(raw + SCALAR, SCALAR, NULL);
	int length = -1;

	if (pair != NULL && r != NULL && s != NULL &&
	    ECDSA_SIG_set0(pair, r, s) == 1) {
		/* The pair owns them now. */
		r = s = NULL;
		length = i2d_ECDSA_SIG(pair, NULL);
		if (length > 0 && length <= DER_MOST)
			length = i2d_ECDSA_SIG(pair, &der);
		else
			length = -1;
	}
	BN_free(r);
	BN_free(s);
	ECDSA_SIG_free(pair);
	return length;
}

static bool
is_signed_by(const struct jwk *key, struct cursor input,
    const unsigned char *signature, size_t length)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool well = context != NULL &&
		    EVP_DigestVerifyInit(context, NULL, digest_of(jwk_alg(key)),
			NULL, jwk_key(key)) == 1 &&
		    EVP_DigestVerify(
			context, signature, length, input.at, input.left) == 1;

	EVP_MD_CTX_free(context);
	return well;
}

static bool
has_signature(const struct jws *jws, const struct jwk *key)
{
	unsigned char raw[SIGNATURE_MOST], der[DER_MOST];
	struct cursor_writer out = cursor_writer_of(raw, sizeof(raw));
	int length;

	if (!base64url_read(jws->signature, &out))
		return false;
	if (jwk_alg(key) != JWK_ES256)
		return is_signed_by(key, jws->input, raw, out.used);
	if (out.used != (size_t)2 * SCALAR)
		return false;
	length = to_der(raw, der);
	return length > 0 && is_signed_by(key, jws->input, der, (size_t)length);
}

enum jws_fault
jws_verify(const struct jws *jws, const struct jwk *key, const char *typ,
    struct cursor_writer *out)
{
	if (jws->alg != jwk_alg(key))
		return JWS_WRONG_ALG;
	if (strcmp(jws->typ, typ == NULL ? "" : typ) != 0)
		return JWS_WRONG_TYPE;
	if (!has_signature(jws, key))
		return JWS_BAD_SIGNATURE;
	return base64url_read(jws->payload, out) ? JWS_WELL : JWS_TOO_LONG;
}

/* ---- sign ---- */

static bool
from_der(const unsigned char *der, size_t length, unsigned char *raw)
{
	ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)length);
	bool well =
	    pair != NULL &&
	    BN_bn2binpad(ECDSA_SIG_get0_r(pair), raw, SCALAR) == SCALAR &&
	    BN_bn2binpad(ECDSA_SIG_get0_s(pair), raw + SCALAR, SCALAR) ==
		SCALAR;

	ECDSA_SIG_free(pair);
	return well;
}

static bool
put_signature(
    const struct jwk *key, struct cursor input, struct cursor_writer *out)
{
	unsigned char signature[SIGNATURE_MOST], raw[2 * SCALAR];
	size_t length = sizeof(signature);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool well = context != NULL &&
		    EVP_DigestSignInit(context, NULL, digest_of(jwk_alg(key)),
			NULL, jwk_key(key)) == 1 &&
		    EVP_DigestSign(
			context, signature, &length, input.at, input.left) == 1;

	EVP_MD_CTX_free(context);
	if (well && jwk_alg(key) == JWK_ES256)
		well = from_der(signature, length, raw);
	if (!well)
		return false;
	if (jwk_alg(key) == JWK_ES256)
		base64url_write(cursor_of(raw, sizeof(raw)), out);
	else
		base64url_write(cursor_of(signature, length), out);
	return cursor_written(out);
}

bool
jws_sign(const struct jwk *key, const char *typ, struct cursor payload,
    struct cursor_writer *out)
{
	unsigned char text[LIMIT_TOKEN_HEADER];
	struct cursor_writer header = cursor_writer_of(text, sizeof(text));
	struct json j = json_to(&header);
	size_t start = out->used;

	json_open(&j, NULL, '{');
	json_text(&j, "alg", jwk_alg_name(jwk_alg(key)));
	json_text(&j, "typ", typ);
	json_text(&j, "kid", jwk_id(key));
	json_close(&j, '}');
	if (!cursor_written(&header))
		return false;
	base64url_write(cursor_of(text, header.used), out);
	cursor_put_u8(out, '.');
	base64url_write(payload, out);
	if (!cursor_written(out))
		return false;
	payload = cursor_of(out->bytes + start, out->used - start);
	cursor_put_u8(out, '.');
	return put_signature(key, payload, out);
}
