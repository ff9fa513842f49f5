#include "schema/cursor.h"

#include <string.h>

struct cursor
cursor_of(const void *bytes, size_t length)
{
	return (struct cursor){ .at = bytes, .left = length };
}

struct cursor
cursor_of_text(const char *text)
{
	return cursor_of(text, strlen(text));
}

/* Reads width bytes, at most eight, most significant first. */
static bool
read_number(struct cursor *c, size_t width, uint64_t *ret)
{
	uint64_t value = 0;

	if (c->left < width)
		return false;
	for (size_t i = 0; i < width; i++)
		value = value << 8 | c->at[i];
	c->at += width;
	c->left -= width;
	*ret = value;
	return true;
}

bool
cursor_u8(struct cursor *c, uint8_t *ret)
{
	uint64_t value;

	if (!read_number(c, 1, &value))
		return false;
	*ret = (uint8_t)value;
	return true;
}

bool
cursor_u16(struct cursor *c, uint16_t *ret)
{
	uint64_t value;

	if (!read_number(c, 2, &value))
		return false;
	*ret = (uint16_t)value;
	return true;
}

bool
cursor_u24(struct cursor *c, uint32_t *ret)
{
	uint64_t value;

	if (!read_number(c, 3, &value))
		return false;
	*ret = (uint32_t)value;
	return true;
}

bool
cursor_u32(struct cursor *c, uint32_t *ret)
{
	uint64_t value;

	if (!read_number(c, 4, &value))
		return false;
	*ret = (uint32_t)value;
	return true;
}

bool
cursor_u64(struct cursor *c, uint64_t *ret)
{
	return read_number(c, 8, ret);
}

bool
cursor_peek(const struct cursor *c, uint8_t *ret)
{
	if (c->left == 0)
		return false;
	*ret = c->at[0];
	return true;
}

bool
cursor_skip(struct cursor *c, size_t length)
{
	if (c->left < length)
		return false;
	/* An empty cursor may have no memory behind it to count from. */
	if (length == 0)
		return true;
	c->at += length;
	c->left -= length;
	return true;
}

bool
cursor_take(struct cursor *c, size_t length, struct cursor *ret)
{
	struct cursor taken = { .at = c->at, .left = length };

	if (!cursor_skip(c, length))
		return false;
	*ret = taken;
	return true;
}

bool
cursor_until(struct cursor *c, uint8_t end, struct cursor *ret)
{
	const unsigned char *found;

	if (c->left == 0)
		return false;
	found = memchr(c->at, end, c->left);
	if (found == NULL)
		return false;
	*ret = cursor_of(c->at, (size_t)(found - c->at));
	return cursor_skip(c, ret->left + 1);
}

bool
cursor_copy(struct cursor *c, size_t length, void *out)
{
	if (c->left < length)
		return false;
	if (length > 0)
		memcpy(out, c->at, length);
	return cursor_skip(c, length);
}

bool
cursor_literal(struct cursor *c, const char *text)
{
	size_t length = strlen(text);

	if (c->left < length ||
	    (length > 0 && memcmp(c->at, text, length) != 0))
		return false;
	return cursor_skip(c, length);
}

static int
digit_of(unsigned char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	if (byte >= 'A' && byte <= 'F')
		return byte - 'A' + 10;
	return 16;
}

static bool
read_digits(struct cursor *c, unsigned base, uint64_t max, uint64_t *ret)
{
	struct cursor at = *c;
	uint64_t value = 0;

	while (at.left > 0 && (unsigned)digit_of(at.at[0]) < base) {
		uint64_t digit = (uint64_t)digit_of(at.at[0]);

		if (digit > max || value > (max - digit) / base)
			return false;
		value = value * base + digit;
		at.at++;
		at.left--;
	}
	if (at.left == c->left)
		return false;
	*c = at;
	*ret = value;
	return true;
}

bool
cursor_decimal(struct cursor *c, uint64_t max, uint64_t *ret)
{
	return read_digits(c, 10, max, ret);
}

bool
cursor_hex(struct cursor *c, uint64_t max, uint64_t *ret)
{
	return read_digits(c, 16, max, ret);
}

bool
cursor_block(struct cursor *c, struct cursor *ret)
{
	struct cursor at = *c;
	uint16_t length;

	if (!cursor_u16(&at, &length) || !cursor_take(&at, length, ret))
		return false;
	*c = at;
	return true;
}

bool
cursor_string(struct cursor *c, char *out, size_t size)
{
	struct cursor at = *c, block;

	if (!cursor_block(&at, &block) || block.left >= size)
		return false;
	if (block.left > 0) {
		if (memchr(block.at, '\0', block.left) != NULL)
			return false;
		memcpy(out, block.at, block.left);
	}
	out[block.left] = '\0';
	*c = at;
	return true;
}

bool
cursor_is_empty(const struct cursor *c)
{
	return c->left == 0;
}

bool
cursor_equals(struct cursor c, const char *text)
{
	size_t length = strlen(text);

	return c.left == length &&
	       (length == 0 || memcmp(c.at, text, length) == 0);
}

struct cursor_writer
cursor_writer_of(void *bytes, size_t size)
{
	return (struct cursor_writer){ .bytes = bytes, .size = size };
}

static void
write_number(struct cursor_writer *w, unsigned width, uint64_t value)
{
	unsigned char bytes[8];

	for (unsigned i = 0; i < width; i++)
		bytes[i] = (unsigned char)(value >> (8 * (width - 1 - i)));
	cursor_put(w, bytes, width);
}

void
cursor_put_u8(struct cursor_writer *w, uint8_t value)
{
	write_number(w, 1, value);
}

void
cursor_put_u16(struct cursor_writer *w, uint16_t value)
{
	write_number(w, 2, value);
}

void
cursor_put_u32(struct cursor_writer *w, uint32_t value)
{
	write_number(w, 4, value);
}

void
cursor_put_u64(struct cursor_writer *w, uint64_t value)
{
	write_number(w, 8, value);
}

void
cursor_put(struct cursor_writer *w, const void *bytes, size_t length)
{
	if (w->overflow || w->size - w->used < length) {
		w->overflow = true;
		return;
	}
	if (length > 0)
		memcpy(w->bytes + w->used, bytes, length);
	w->used += length;
}

void
cursor_put_text(struct cursor_writer *w, const char *text)
{
	cursor_put(w, text, strlen(text));
}

void
cursor_put_decimal(struct cursor_writer *w, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	cursor_put(w, digits + at, sizeof(digits) - at);
}

void
cursor_put_block(struct cursor_writer *w, const void *bytes, size_t length)
{
	if (length > UINT16_MAX) {
		w->overflow = true;
		return;
	}
	cursor_put_u16(w, (uint16_t)length);
	cursor_put(w, bytes, length);
}

void
cursor_put_string(struct cursor_writer *w, const char *text)
{
	cursor_put_block(w, text, strlen(text));
}

void
cursor_patch_u16(struct cursor_writer *w, size_t place, uint16_t value)
{
	if (w->overflow || w->used < 2 || place > w->used - 2) {
		w->overflow = true;
		return;
	}
	w->bytes[place] = (unsigned char)(value >> 8);
	w->bytes[place + 1] = (unsigned char)value;
}

bool
cursor_written(const struct cursor_writer *w)
{
	return !w->overflow;
}
