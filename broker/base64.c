#include "broker/base64.h"

#include "schema/secret.h"

#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "abcdefghijklmnopqrstuvwxyz"
			     "0123456789+/";

void
base64_write(struct cursor bytes, struct cursor_writer *out)
{
	struct cursor three;

	while (bytes.left > 0) {
		size_t have = bytes.left < 3 ? bytes.left : 3;
		uint32_t group = 0;

		if (!cursor_take(&bytes, have, &three))
			return;
		for (size_t i = 0; i < 3; i++)
			group = group << 8 | (i < have ? three.at[i] : 0u);
		for (size_t i = 0; i < 4; i++)
			cursor_put_u8(out,
			    i > have
				? '='
				: (uint8_t)digits[group >> (18 - 6 * i) & 63]);
	}
}

struct secret *
base64_encode(struct cursor bytes)
{
	struct secret *text = secret_room((bytes.left + 2) / 3 * 4);
	struct cursor_writer out;

	if (text == NULL)
		return NULL;
	out = cursor_writer_of(secret_fill(text), secret_bytes(text).left);
	base64_write(bytes, &out);
	return text;
}

/* Takes four digits; how many bytes they are, or 0 for what is none. */
static size_t
take_group(struct cursor *text, unsigned char out[3])
{
	struct cursor four;
	uint32_t group = 0;
	size_t padding = 0;

	if (!cursor_take(text, 4, &four))
		return 0;
	for (size_t i = 0; i < 4; i++) {
		const char *digit =
		    four.at[i] == 0 ? NULL : strchr(digits, four.at[i]);

		if (four.at[i] == '=' && i > 1 && text->left == 0)
			padding++;
		else if (digit == NULL || padding > 0)
			return 0;
		group = group << 6 |
			(digit == NULL ? 0u : (uint32_t)(digit - digits));
	}
	for (size_t i = 0; i < 3; i++)
		out[i] = (unsigned char)(group >> (16 - 8 * i));
	return 3 - padding;
}

struct secret *
base64_decode(struct cursor text)
{
	struct secret *bytes = secret_room(text.left / 4 * 3 + 3);
	size_t used = 0, more;

	while (bytes != NULL && text.left > 0) {
		more = take_group(&text, secret_fill(bytes) + used);
		if (more == 0) {
			secret_free(bytes);
			return NULL;
		}
		used += more;
	}
	if (bytes != NULL)
		secret_shorten(bytes, used);
	return bytes;
}
