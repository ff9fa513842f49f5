/*
 * digest - SHA-256 over values, as the audit's proof needs it.
 *
 * digester_begin(), then what is hashed, then digester_end().  Values carry a
 * tag and a length, so that two rows never give the same bytes: 0 NULL, 1 and
 * a big-endian number of 64 bits, 2 and 3 a length of 32 bits and that many
 * bytes of text or blob.
 *
 * A digester remembers that it failed, as a cursor_writer does: make every
 * digest, then ask digester_is_well() once.
 */
#ifndef GATEWAY_AUDIT_DIGEST_H
#define GATEWAY_AUDIT_DIGEST_H

#include "schema/cursor.h"

#define DIGEST_BYTES 32

struct digest {
	uint8_t bytes[DIGEST_BYTES];
};

/* What stands before the bytes, so that no kind passes for another. */
enum digest_kind {
	DIGEST_LEAF, /* RFC 9162 section 2.1.1 */
	DIGEST_NODE,
	DIGEST_BLOCK,
	DIGEST_CHAIN /* what the first block is linked to */
};

struct digester;
struct sqlite3_stmt;

struct digester *digester_new(void) MUST_CHECK;
void digester_free(struct digester *digester);

void digester_begin(struct digester *digester, enum digest_kind kind);

/* Bytes and numbers without a tag, for what has a fixed form. */
void digester_put(struct digester *digester, const void *bytes, size_t length);
void digester_put_number(struct digester *digester, int64_t number);

/* Values with their tags. */
void digester_null(struct digester *digester);
void digester_number(struct digester *digester, int64_t number);
void digester_text(struct digester *digester, struct cursor text);
void digester_blob(struct digester *digester, struct cursor blob);

/* The first count columns of the row that statement stands on. */
void digester_columns(
    struct digester *digester, struct sqlite3_stmt *statement, int count);

/* What was put so far; borrows.  False when it was too much to be kept. */
bool digester_bytes(const struct digester *digester, struct cursor *ret)
    MUST_CHECK;

void digester_end(struct digester *digester, struct digest *ret);

/* An inner node of a tree; not between begin and end. */
void digester_node(struct digester *digester, const struct digest *left,
    const struct digest *right, struct digest *ret);

bool digester_is_well(const struct digester *digester) MUST_CHECK;

bool digest_equals(const struct digest *a, const struct digest *b);

/* False when it is not DIGEST_BYTES long. */
bool digest_read(struct cursor bytes, struct digest *ret) MUST_CHECK;

#endif
