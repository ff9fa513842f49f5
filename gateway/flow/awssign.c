#include "gateway/flow/awssign.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINES_MAX = 1024, /* of a string to sign; scopes are short */
	SECRET_MAX = 512
};

static void
print_hex(const unsigned char *bytes, char ret[AWSSIGN_HEX])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < AWSSIGN_HEX / 2; i++) {
		ret[2 * i] = digits[bytes[i] >> 4];
		ret[2 * i + 1] = digits[bytes[i] & 15];
	}
}

static bool
digest_of(struct cursor bytes, char ret[AWSSIGN_HEX])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned length;

	if (EVP_Digest(
		bytes.at, bytes.left, digest, &length, EVP_sha256(), NULL) != 1)
		return false;
	print_hex(digest, ret);
	return true;
}

static bool
step(const void *key, size_t length, struct cursor text,
    unsigned char ret[AWSSIGN_KEY])
{
	unsigned char mac[EVP_MAX_MD_SIZE];
	unsigned size;

	if (HMAC(EVP_sha256(), key, (int)length, text.at, text.left, mac,
		&size) == NULL)
		return false;
	memcpy(ret, mac, AWSSIGN_KEY);
	return true;
}

bool
awssign_derive(
    struct cursor secret, struct cursor scope, unsigned char ret[AWSSIGN_KEY])
{
	unsigned char first[5 + SECRET_MAX];
	struct cursor part;
	bool more, well;

	if (secret.left > SECRET_MAX || !cursor_until(&scope, '/', &part))
		return false;
	memcpy(first, "AWS4", 5);
	if (secret.left > 0)
		memcpy(first + 4, secret.at, secret.left);
	well = step(first, 4 + secret.left, part, ret);
	do {
		more = cursor_until(&scope, '/', &part);
		well = well && step(ret, AWSSIGN_KEY, more ? part : scope, ret);
	} while (more);
	return well;
}

static void
begin(const char *what, const struct awssign *sign, struct cursor_writer *out)
{
	cursor_put_text(out, what);
	cursor_put_u8(out, '\n');
	cursor_put(out, sign->time.at, sign->time.left);
	cursor_put_u8(out, '\n');
	cursor_put(out, sign->scope.at, sign->scope.left);
	cursor_put_u8(out, '\n');
}

static bool
sign_lines(const struct awssign *sign, const struct cursor_writer *lines,
    char ret[AWSSIGN_HEX])
{
	unsigned char mac[EVP_MAX_MD_SIZE];
	unsigned length;

	if (sign->key.left != AWSSIGN_KEY || !cursor_written(lines) ||
	    HMAC(EVP_sha256(), sign->key.at, AWSSIGN_KEY, lines->bytes,
		lines->used, mac, &length) == NULL)
		return false;
	print_hex(mac, ret);
	return true;
}

bool
awssign_request(
    const struct awssign *sign, struct cursor canonical, char ret[AWSSIGN_HEX])
{
	unsigned char text[LINES_MAX];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	char digest[AWSSIGN_HEX];

	if (!digest_of(canonical, digest))
		return false;
	begin("AWS4-HMAC-SHA256", sign, &out);
	cursor_put(&out, digest, sizeof(digest));
	return sign_lines(sign, &out, ret);
}

bool
awssign_chunk(const struct awssign *sign, struct cursor previous,
    struct cursor data, char ret[AWSSIGN_HEX])
{
	unsigned char text[LINES_MAX];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	char nothing[AWSSIGN_HEX];

	if (!digest_of(cursor_of("", 0), nothing))
		return false;
	begin("AWS4-HMAC-SHA256-PAYLOAD", sign, &out);
	cursor_put(&out, previous.at, previous.left);
	cursor_put_u8(&out, '\n');
	cursor_put(&out, nothing, sizeof(nothing));
	cursor_put_u8(&out, '\n');
	cursor_put(&out, data.at, data.left);
	return sign_lines(sign, &out, ret);
}

bool
awssign_trailer(const struct awssign *sign, struct cursor previous,
    struct cursor trailers, char ret[AWSSIGN_HEX])
{
	unsigned char text[LINES_MAX];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	begin("AWS4-HMAC-SHA256-TRAILER", sign, &out);
	cursor_put(&out, previous.at, previous.left);
	cursor_put_u8(&out, '\n');
	cursor_put(&out, trailers.at, trailers.left);
	return sign_lines(sign, &out, ret);
}

struct awssign_digest {
	EVP_MD_CTX *context;
};

struct awssign_digest *
awssign_digest_new(void)
{
	struct awssign_digest *digest = calloc(1, sizeof(*digest));

	if (digest == NULL)
		return NULL;
	digest->context = EVP_MD_CTX_new();
	if (digest->context == NULL ||
	    EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL) != 1) {
		awssign_digest_free(digest);
		return NULL;
	}
	return digest;
}

void
awssign_digest_free(struct awssign_digest *digest)
{
	if (digest == NULL)
		return;
	EVP_MD_CTX_free(digest->context);
	free(digest);
}

bool
awssign_digest_put(struct awssign_digest *digest, struct cursor bytes)
{
	return EVP_DigestUpdate(digest->context, bytes.at, bytes.left) == 1;
}

bool
awssign_digest_take(struct awssign_digest *digest, char ret[AWSSIGN_HEX])
{
	unsigned char bytes[EVP_MAX_MD_SIZE];

	if (EVP_DigestFinal_ex(digest->context, bytes, NULL) != 1 ||
	    EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL) != 1)
		return false;
	print_hex(bytes, ret);
	return true;
}

bool
awssign_equals(const char signature[AWSSIGN_HEX], struct cursor guess)
{
	return guess.left == AWSSIGN_HEX &&
	       CRYPTO_memcmp(signature, guess.at, AWSSIGN_HEX) == 0;
}
