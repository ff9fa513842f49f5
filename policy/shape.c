#include "policy/shape.h"

#include <stdlib.h>
#include <string.h>

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* A number, a hash, a UUID, or a long mix of letters and digits. */
static bool
is_id(const char *segment, size_t length)
{
	size_t digits = 0, hex = 0, hyphens = 0;

	for (size_t i = 0; i < length; i++) {
		digits += is_digit(segment[i]);
		hex += is_hex(segment[i]);
		hyphens += segment[i] == '-';
	}
	if (digits == 0)
		return false;
	if (digits == length || (hex == length && length >= 8))
		return true;
	if (length == 36 && hyphens == 4 && hex == 32)
		return true;
	return length >= 24 && digits >= 4 && digits < length &&
	       memchr(segment, '.', length) == NULL;
}

char *
shape_of(const struct urlpath *path)
{
	char *shape = calloc(1, LIMIT_PATTERN + 1);
	struct cursor_writer out = cursor_writer_of(shape, LIMIT_PATTERN - 3);
	struct cursor in = cursor_of(path->text, path->length), segment;
	bool more = cursor_literal(&in, "/");

	while (shape != NULL && more) {
		size_t before = out.used;

		more = cursor_until(&in, '/', &segment);
		if (!more)
			segment = in;
		cursor_put_u8(&out, '/');
		if (is_id((const char *)segment.at, segment.left))
			cursor_put_u8(&out, '*');
		else
			cursor_put(&out, segment.at, segment.left);
		if (!cursor_written(&out)) {
			memcpy(shape + before, "/**", 4);
			return shape;
		}
	}
	return shape;
}

char *
shape_fold(const char *shape)
{
	size_t length = 1 + strcspn(shape + 1, "/");
	char *folded = calloc(1, length + 4);

	if (folded == NULL)
		return NULL;
	memcpy(folded, shape, length);
	memcpy(folded + length, "/**", 4);
	return folded;
}
