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

/* From '+' to 'z'; a table, for there are two hundred thousand of them. */
static const uint8_t meanings[] = { 62, DIGIT_NONE, DIGIT_NONE, DIGIT_NONE, 63,
	52, 53, 54, 55, 56, 57, 58, 59, 60, 61, DIGIT_NONE, DIGIT_NONE,
	DIGIT_NONE, DIGIT_PADDING, DIGIT_NONE, DIGIT_NONE, DIGIT_NONE, 0, 1, 2,
	3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
	23, 24, 25, DIGIT_NONE, DIGIT_NONE, DIGIT_NONE, DIGIT_NONE, DIGIT_NONE,
	DIGIT_NONE, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
	41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51 };

static uint8_t
digit_of(uint8_t byte)
{
	if (byte >= '+' && byte <= 'z')
		return meanings[byte - '+'];
	return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n'
		   ? DIGIT_BLANK
		   : DIGIT_NONE;
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
