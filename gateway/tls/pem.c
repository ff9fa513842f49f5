#include "gateway/tls/pem.h"

#include <stdint.h>
#include <string.h>

static const char begin[] = "-----BEGIN CERTIFICATE-----";
static const char end[] = "-----END CERTIFICATE-----";

enum {
	DIGIT_COUNT = 64,
	DIGIT_PADDING = DIGIT_COUNT,
	DIGIT_BLANK,
	DIGIT_NONE
};

static uint8_t
digit_of(uint8_t byte)
{
	if (byte >= 'A' && byte <= 'Z')
		return (uint8_t)(byte - 'A');
	if (byte >= 'a' && byte <= 'z')
		return (uint8_t)(byte - 'a' + 26);
	if (byte >= '0' && byte <= '9')
		return (uint8_t)(byte - '0' + 52);
	switch (byte) {
	case '+':
		return 62;
	case '/':
		return 63;
	case '=':
		return DIGIT_PADDING;
	case ' ':
	case '\t':
	case '\r':
	case '\n':
		return DIGIT_BLANK;
	default:
		return DIGIT_NONE;
	}
}

/* Four digits, of which the last ones may be padding. */
static bool
put_group(struct cursor_writer *out, uint32_t group, unsigned padding)
{
	const uint8_t bytes[3] = { (uint8_t)(group >> 16),
		(uint8_t)(group >> 8), (uint8_t)group };

	if (padding > 2)
		return false;
	cursor_put(out, bytes, sizeof(bytes) - padding);
	return true;
}

static bool
decode(struct cursor text, struct cursor_writer *out)
{
	uint32_t group = 0;
	unsigned digits = 0, padding = 0;

	for (size_t i = 0; i < text.left; i++) {
		uint8_t digit = digit_of(text.at[i]);

		if (digit == DIGIT_BLANK)
			continue;
		/* Behind padding there is only padding. */
		if (digit == DIGIT_NONE ||
		    (padding > 0 && digit != DIGIT_PADDING))
			return false;
		padding += digit == DIGIT_PADDING;
		group = group << 6 | (digit < DIGIT_COUNT ? digit : 0u);
		if (++digits % 4 == 0 && !put_group(out, group, padding))
			return false;
	}
	return digits > 0 && digits % 4 == 0 && padding <= 2;
}

/* Moves text behind the words; *ret_before is what stood before them. */
static bool
find(struct cursor *text, const char *words, struct cursor *ret_before)
{
	const unsigned char *at = text->left == 0 ? NULL
						  : memmem(text->at, text->left,
							words, strlen(words));

	return at != NULL &&
	       cursor_take(text, (size_t)(at - text->at), ret_before) &&
	       cursor_skip(text, strlen(words));
}

bool
pem_next(struct cursor *text, struct cursor_writer *out)
{
	struct cursor before, body, rest;

	while (find(text, begin, &before)) {
		struct cursor_writer written = *out;

		rest = *text;
		if (!find(&rest, end, &body))
			return false;
		/* A block that is none may be the start of another one. */
		if (!decode(body, &written))
			continue;
		*out = written;
		*text = rest;
		return true;
	}
	return false;
}
