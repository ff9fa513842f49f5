/*
 * cursor - bounded reader and writer; the only way to touch bytes that we
 * did not make.
 *
 * A read moves the cursor and fills its output, or returns false and leaves
 * both alone.  Numbers are big-endian.  A writer remembers that it ran out of
 * room: write everything, then ask cursor_written() once.
 *
 * Neither owns the bytes behind it.
 */
#ifndef SCHEMA_CURSOR_H
#define SCHEMA_CURSOR_H

#include "schema/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
	const unsigned char *at;
	size_t left;
};

struct cursor cursor_of(const void *bytes, size_t length);
struct cursor cursor_of_text(const char *text);

bool cursor_u8(struct cursor *c, uint8_t *ret) MUST_CHECK;
bool cursor_u16(struct cursor *c, uint16_t *ret) MUST_CHECK;
bool cursor_u24(struct cursor *c, uint32_t *ret) MUST_CHECK;
bool cursor_u32(struct cursor *c, uint32_t *ret) MUST_CHECK;
bool cursor_u64(struct cursor *c, uint64_t *ret) MUST_CHECK;

/* The next byte, which stays. */
bool cursor_peek(const struct cursor *c, uint8_t *ret) MUST_CHECK;

bool cursor_skip(struct cursor *c, size_t length) MUST_CHECK;

/* A cursor over the next length bytes; borrows from what c reads. */
bool cursor_take(struct cursor *c, size_t length, struct cursor *ret)
    MUST_CHECK;

/* Takes what stands before the first byte that is end, and passes end. */
bool cursor_until(struct cursor *c, uint8_t end, struct cursor *ret) MUST_CHECK;

/* Copies the next length bytes into out, which has room for them. */
bool cursor_copy(struct cursor *c, size_t length, void *out) MUST_CHECK;

/* Passes text if it stands next. */
bool cursor_literal(struct cursor *c, const char *text) MUST_CHECK;

/*
 * One decimal or hexadecimal number, from as many digits as stand here: at
 * least one, no sign, no blank, at most max.
 */
bool cursor_decimal(struct cursor *c, uint64_t max, uint64_t *ret) MUST_CHECK;
bool cursor_hex(struct cursor *c, uint64_t max, uint64_t *ret) MUST_CHECK;

/* A 16 bit length and as many bytes. */
bool cursor_block(struct cursor *c, struct cursor *ret) MUST_CHECK;

/*
 * A block as a string in out: refused when it does not fit with its NUL, or
 * has a NUL inside.
 */
bool cursor_string(struct cursor *c, char *out, size_t size) MUST_CHECK;

bool cursor_is_empty(const struct cursor *c);

/* Compares all that is left with text, byte by byte. */
bool cursor_equals(struct cursor c, const char *text);

struct cursor_writer {
	unsigned char *bytes;
	size_t size, used;
	bool overflow;
};

struct cursor_writer cursor_writer_of(void *bytes, size_t size);

void cursor_put_u8(struct cursor_writer *w, uint8_t value);
void cursor_put_u16(struct cursor_writer *w, uint16_t value);
void cursor_put_u32(struct cursor_writer *w, uint32_t value);
void cursor_put_u64(struct cursor_writer *w, uint64_t value);
void cursor_put(struct cursor_writer *w, const void *bytes, size_t length);
void cursor_put_text(struct cursor_writer *w, const char *text);
void cursor_put_decimal(struct cursor_writer *w, uint64_t value);

/* A 16 bit length and the bytes; longer than that overflows. */
void cursor_put_block(
    struct cursor_writer *w, const void *bytes, size_t length);
void cursor_put_string(struct cursor_writer *w, const char *text);

/* Puts length big-endian into the two bytes that were written at place. */
void cursor_patch_u16(struct cursor_writer *w, size_t place, uint16_t value);

/* True when everything fitted. */
bool cursor_written(const struct cursor_writer *w) MUST_CHECK;

#endif
