#include "schema/base64url.h"

#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "abcdefghijklmnopqrstuvwxyz"
			     "0123456789-_";

void
base64url_write(struct cursor bytes, struct cursor_writer *out)
{
	struct cursor three;

	while (bytes.left > 0) {
		size_t have = bytes.left < 3 ? bytes.left : 3;
		uint32_t group = 0;

		if (!cursor_take(&bytes, have, &three))
			return;
		for (size_t i = 0; i < 3; i++)
			group = group << 8 | (i < have ? three.at[i] : 0u);
		for (size_t i = 0; i <= have; i++)
			cursor_put_u8(
			    out, (uint8_t)digits[group >> (18 - 6 * i) & 63]);
	}
}

static bool
digit_value(unsigned char digit, uint32_t *ret)
{
	const char *at = digit == '\0' ? NULL : strchr(digits, digit);

	if (at == NULL)
		return false;
	*ret = (uint32_t)(at - digits);
	return true;
}

bool
base64url_read(struct cursor text, struct cursor_writer *out)
{
	uint32_t group = 0, value;
	unsigned bits = 0;
	uint8_t digit;

	while (cursor_u8(&text, &digit)) {
		if (!digit_value(digit, &value))
			return false;
		group = (group << 6 | value) & 0xffffff;
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		cursor_put_u8(out, (uint8_t)(group >> bits & 0xff));
	}
	/* Six bits are a digit too many; others that remain must be zero. */
	return bits < 6 && (group & ((1u << bits) - 1)) == 0 &&
	       cursor_written(out);
}
