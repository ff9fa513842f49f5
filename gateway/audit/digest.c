#include "gateway/audit/digest.h"

#include <openssl/evp.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* The largest event and its keys; only a policy's text is longer. */
enum {
	BUFFER_BYTES = 16384
};

enum tag {
	TAG_NULL,
	TAG_NUMBER,
	TAG_TEXT,
	TAG_BLOB
};

struct digester {
	EVP_MD *sha256;
	EVP_MD_CTX *context;
	bool begun; /* some of it is in context already */
	bool failed;
	size_t used;
	unsigned char buffer[BUFFER_BYTES];
};

struct digester *
digester_new(void)
{
	struct digester *digester = calloc(1, sizeof(*digester));

	if (digester == NULL)
		return NULL;
	/* Fetched once: a fetch costs more than a row. */
	digester->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	digester->context = EVP_MD_CTX_new();
	if (digester->sha256 == NULL || digester->context == NULL) {
		digester_free(digester);
		return NULL;
	}
	return digester;
}

void
digester_free(struct digester *digester)
{
	if (digester == NULL)
		return;
	EVP_MD_CTX_free(digester->context);
	EVP_MD_free(digester->sha256);
	free(digester);
}

void
digester_begin(struct digester *digester, enum digest_kind kind)
{
	digester->begun = false;
	digester->buffer[0] = (unsigned char)kind;
	digester->used = 1;
}

/* Hands length bytes to the hash, which is begun if it has to be. */
static void
hash(struct digester *digester, const void *bytes, size_t length)
{
	if (!digester->begun &&
	    EVP_DigestInit_ex2(digester->context, digester->sha256, NULL) != 1)
		digester->failed = true;
	digester->begun = true;
	if (EVP_DigestUpdate(digester->context, bytes, length) != 1)
		digester->failed = true;
}

static void
flush(struct digester *digester)
{
	hash(digester, digester->buffer, digester->used);
	digester->used = 0;
}

void
digester_put(struct digester *digester, const void *bytes, size_t length)
{
	if (length == 0)
		return;
	if (BUFFER_BYTES - digester->used < length)
		flush(digester);
	if (BUFFER_BYTES < length) {
		hash(digester, bytes, length);
		return;
	}
	memcpy(digester->buffer + digester->used, bytes, length);
	digester->used += length;
}

static void
put_big_endian(struct digester *digester, uint64_t value, size_t length)
{
	unsigned char bytes[sizeof(value)];

	for (size_t i = length; i > 0; i--) {
		bytes[i - 1] = (unsigned char)value;
		value >>= 8;
	}
	digester_put(digester, bytes, length);
}

void
digester_put_number(struct digester *digester, int64_t number)
{
	put_big_endian(digester, (uint64_t)number, sizeof(number));
}

static void
put_tag(struct digester *digester, enum tag tag)
{
	put_big_endian(digester, tag, 1);
}

void
digester_null(struct digester *digester)
{
	put_tag(digester, TAG_NULL);
}

void
digester_number(struct digester *digester, int64_t number)
{
	put_tag(digester, TAG_NUMBER);
	digester_put_number(digester, number);
}

static void
put_bytes(struct digester *digester, enum tag tag, struct cursor bytes)
{
	/* No value of SQLite's is that long. */
	if (bytes.left > UINT32_MAX)
		digester->failed = true;
	put_tag(digester, tag);
	put_big_endian(digester, bytes.left, sizeof(uint32_t));
	digester_put(digester, bytes.at, bytes.left);
}

void
digester_text(struct digester *digester, struct cursor text)
{
	put_bytes(digester, TAG_TEXT, text);
}

void
digester_blob(struct digester *digester, struct cursor blob)
{
	put_bytes(digester, TAG_BLOB, blob);
}

static void
put_column(struct digester *digester, struct sqlite3_stmt *statement, int at)
{
	int type = sqlite3_column_type(statement, at);
	const void *bytes;

	if (type == SQLITE_NULL) {
		digester_null(digester);
		return;
	}
	if (type == SQLITE_INTEGER) {
		digester_number(digester, sqlite3_column_int64(statement, at));
		return;
	}
	/* Asked before the length; a number with a point has its text. */
	bytes = type == SQLITE_BLOB
		    ? sqlite3_column_blob(statement, at)
		    : (const void *)sqlite3_column_text(statement, at);
	put_bytes(digester, type == SQLITE_BLOB ? TAG_BLOB : TAG_TEXT,
	    cursor_of(bytes,
		bytes == NULL ? 0
			      : (size_t)sqlite3_column_bytes(statement, at)));
}

void
digester_columns(
    struct digester *digester, struct sqlite3_stmt *statement, int count)
{
	for (int at = 0; at < count; at++)
		put_column(digester, statement, at);
}

bool
digester_bytes(const struct digester *digester, struct cursor *ret)
{
	if (digester->begun)
		return false;
	/* Without the kind. */
	*ret = cursor_of(digester->buffer + 1, digester->used - 1);
	return true;
}

void
digester_end(struct digester *digester, struct digest *ret)
{
	flush(digester);
	if (EVP_DigestFinal_ex(digester->context, ret->bytes, NULL) != 1)
		digester->failed = true;
	digester->begun = false;
}

void
digester_node(struct digester *digester, const struct digest *left,
    const struct digest *right, struct digest *ret)
{
	digester_begin(digester, DIGEST_NODE);
	digester_put(digester, left->bytes, DIGEST_BYTES);
	digester_put(digester, right->bytes, DIGEST_BYTES);
	digester_end(digester, ret);
}

bool
digester_is_well(const struct digester *digester)
{
	return !digester->failed;
}

bool
digest_equals(const struct digest *a, const struct digest *b)
{
	return memcmp(a->bytes, b->bytes, DIGEST_BYTES) == 0;
}

bool
digest_read(struct cursor bytes, struct digest *ret)
{
	return bytes.left == DIGEST_BYTES &&
	       cursor_copy(&bytes, DIGEST_BYTES, ret->bytes);
}
