#include "gateway/audit/checkpoint.h"

#include "schema/status.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

/* Base64 of a digest, and of a key's id with a signature. */
enum {
	ROOT_TEXT = 44,
	SIGNED_BYTES = 4 + SIGNER_SIGNATURE,
	SIGNED_TEXT = 92,
	ED25519 = 1 /* the algorithm's number in signed-note */
};

/* An em dash, and the blank behind it. */
static const char dash[] = "\xe2\x80\x94 ";

int
checkpoint_origin(struct cursor chain, char ret[CHECKPOINT_ORIGIN])
{
	struct cursor_writer out = cursor_writer_of(ret, CHECKPOINT_ORIGIN);

	cursor_put_text(&out, "exeat-audit/");
	cursor_put(&out, chain.at, chain.left);
	cursor_put_u8(&out, 0);
	return cursor_written(&out) ? STATUS_OK : STATUS_TOO_LONG;
}

static void
put_base64(struct cursor_writer *out, const uint8_t *bytes, size_t length)
{
	unsigned char text[SIGNED_TEXT + 1];

	/* Only what fits is ever given. */
	cursor_put(
	    out, text, (size_t)EVP_EncodeBlock(text, bytes, (int)length));
}

/* As many characters as length bytes have. */
static bool
take_base64(struct cursor *from, uint8_t *ret, size_t length)
{
	unsigned char bytes[SIGNED_TEXT];
	size_t text_length = (length + 2) / 3 * 4;
	struct cursor text;

	if (!cursor_take(from, text_length, &text) ||
	    EVP_DecodeBlock(bytes, text.at, (int)text_length) < (int)length)
		return false;
	memcpy(ret, bytes, length);
	return true;
}

/* What is signed. */
static void
put_text(const struct checkpoint *checkpoint, struct cursor_writer *out)
{
	cursor_put_text(out, checkpoint->origin);
	cursor_put_text(out, "\n");
	cursor_put_decimal(out, checkpoint->size);
	cursor_put_text(out, "\n");
	put_base64(out, checkpoint->root.bytes, DIGEST_BYTES);
	cursor_put_text(out, "\n");
}

static int
key_id(const char *origin, const uint8_t key[SIGNER_KEY], uint8_t ret[4])
{
	unsigned char text[CHECKPOINT_ORIGIN + SIGNER_KEY + 2];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	unsigned char digest[EVP_MAX_MD_SIZE];

	cursor_put_text(&out, origin);
	cursor_put_u8(&out, '\n');
	cursor_put_u8(&out, ED25519);
	cursor_put(&out, key, SIGNER_KEY);
	if (!cursor_written(&out) ||
	    EVP_Digest(text, out.used, digest, NULL, EVP_sha256(), NULL) != 1)
		return STATUS_SYSTEM;
	memcpy(ret, digest, 4);
	return STATUS_OK;
}

int
checkpoint_sign(struct checkpoint *checkpoint, const struct signer *signer)
{
	unsigned char text[CHECKPOINT_NOTE];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	put_text(checkpoint, &out);
	if (!cursor_written(&out) ||
	    key_id(checkpoint->origin, signer_public(signer),
		checkpoint->key_id) != STATUS_OK)
		return STATUS_SYSTEM;
	return signer_sign(
	    signer, cursor_of(text, out.used), checkpoint->signature);
}

void
checkpoint_write(const struct checkpoint *checkpoint, struct cursor_writer *out)
{
	uint8_t bytes[SIGNED_BYTES];

	memcpy(bytes, checkpoint->key_id, 4);
	memcpy(bytes + 4, checkpoint->signature, SIGNER_SIGNATURE);
	put_text(checkpoint, out);
	cursor_put_text(out, "\n");
	cursor_put_text(out, dash);
	cursor_put_text(out, checkpoint->origin);
	cursor_put_text(out, " ");
	put_base64(out, bytes, sizeof(bytes));
	cursor_put_text(out, "\n");
}

static bool
take_origin(struct cursor *from, char ret[CHECKPOINT_ORIGIN])
{
	struct cursor line;

	if (!cursor_until(from, '\n', &line) || line.left == 0 ||
	    line.left >= CHECKPOINT_ORIGIN ||
	    memchr(line.at, '\0', line.left) != NULL)
		return false;
	memcpy(ret, line.at, line.left);
	ret[line.left] = '\0';
	return true;
}

/* A number or base64 has more than one spelling; ours is the only one. */
static bool
is_spelled(const struct checkpoint *checkpoint, struct cursor note)
{
	unsigned char text[CHECKPOINT_NOTE];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	checkpoint_write(checkpoint, &out);
	return cursor_written(&out) && out.used <= note.left &&
	       memcmp(text, note.at, out.used) == 0;
}

int
checkpoint_read(struct cursor *from, struct checkpoint *ret)
{
	struct checkpoint checkpoint = { .size = 0 };
	struct cursor rest = *from;
	uint8_t bytes[SIGNED_BYTES];

	if (!take_origin(&rest, checkpoint.origin) ||
	    !cursor_decimal(&rest, INT64_MAX, &checkpoint.size) ||
	    !cursor_literal(&rest, "\n") ||
	    !take_base64(&rest, checkpoint.root.bytes, DIGEST_BYTES) ||
	    !cursor_literal(&rest, "\n\n") || !cursor_literal(&rest, dash) ||
	    !cursor_literal(&rest, checkpoint.origin) ||
	    !cursor_literal(&rest, " ") ||
	    !take_base64(&rest, bytes, sizeof(bytes)) ||
	    !cursor_literal(&rest, "\n"))
		return STATUS_MALFORMED;
	memcpy(checkpoint.key_id, bytes, 4);
	memcpy(checkpoint.signature, bytes + 4, SIGNER_SIGNATURE);
	if (!is_spelled(&checkpoint, *from))
		return STATUS_MALFORMED;
	*from = rest;
	*ret = checkpoint;
	return STATUS_OK;
}

bool
checkpoint_is_signed_by(
    const struct checkpoint *checkpoint, const uint8_t key[SIGNER_KEY])
{
	unsigned char text[CHECKPOINT_NOTE];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	uint8_t id[4];

	put_text(checkpoint, &out);
	return cursor_written(&out) &&
	       key_id(checkpoint->origin, key, id) == STATUS_OK &&
	       memcmp(id, checkpoint->key_id, sizeof(id)) == 0 &&
	       signer_verify(
		   key, cursor_of(text, out.used), checkpoint->signature);
}

int
checkpoint_key_text(
    const char *origin, const uint8_t key[SIGNER_KEY], char ret[CHECKPOINT_KEY])
{
	struct cursor_writer out = cursor_writer_of(ret, CHECKPOINT_KEY);
	uint8_t bytes[1 + SIGNER_KEY] = { ED25519 }, id[4];
	char text[16];

	if (key_id(origin, key, id) != STATUS_OK ||
	    snprintf(text, sizeof(text), "+%02x%02x%02x%02x+", id[0], id[1],
		id[2], id[3]) != 10)
		return STATUS_SYSTEM;
	memcpy(bytes + 1, key, SIGNER_KEY);
	cursor_put_text(&out, origin);
	cursor_put_text(&out, text);
	put_base64(&out, bytes, sizeof(bytes));
	cursor_put_u8(&out, 0);
	return cursor_written(&out) ? STATUS_OK : STATUS_TOO_LONG;
}
