#include "schema/visible.h"

bool
visible_take(struct cursor *from, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	struct cursor at = *from;
	uint32_t character;
	uint8_t first, next;
	size_t more;

	if (!cursor_u8(&at, &first) || (first >= 0x80 && first < 0xc2) ||
	    first > 0xf4)
		return false;
	more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
	character = more == 0 ? first : first & (0x3fU >> more);
	for (size_t i = 0; i < more; i++) {
		if (!cursor_u8(&at, &next) || (next & 0xc0) != 0x80)
			return false;
		character = character << 6 | (next & 0x3fU);
	}
	if (character < least[more] || character > 0x10ffff ||
	    (character >= 0xd800 && character < 0xe000))
		return false;
	*from = at;
	*ret = character;
	return true;
}

/*
 * Controls of both kinds, line separators, and what turns the direction of
 * text (Unicode bidirectional formatting) or has no width.
 */
static bool
is_plain(uint32_t character)
{
	static const struct {
		uint32_t low, high;
	} hidden[] = {
		{ 0x00, 0x1f },
		{ 0x7f, 0x9f },
		{ 0xad, 0xad },
		{ 0x61c, 0x61c },
		{ 0x200b, 0x200f },
		{ 0x2028, 0x202e },
		{ 0x2060, 0x206f },
		{ 0xfeff, 0xfeff },
		{ 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (character >= hidden[i].low && character <= hidden[i].high)
			return false;
	return true;
}

static void
put_hex(struct cursor_writer *out, uint32_t value, int digits)
{
	static const char hex[] = "0123456789abcdef";

	while (digits-- > 0)
		cursor_put_u8(out, (uint8_t)hex[(value >> (4 * digits)) & 15]);
}

static void
put_escape(struct cursor_writer *out, uint32_t character)
{
	cursor_put_text(out, character > 0xffff ? "\\U" : "\\u");
	put_hex(out, character, character > 0xffff ? 6 : 4);
}

size_t
visible_put(struct cursor_writer *out, struct cursor text)
{
	size_t start = out->used, inside = 0;

	while (!cursor_is_empty(&text)) {
		struct cursor before = text;
		uint32_t character;
		uint8_t byte;
		bool known = visible_take(&text, &character);

		if (known && is_plain(character)) {
			cursor_put(out, before.at, before.left - text.left);
			inside += before.left - text.left - 1;
		} else if (known && character > 0xff) {
			put_escape(out, character);
		} else {
			/* Byte by byte, however many it has. */
			text = before;
			if (!cursor_u8(&text, &byte))
				break;
			cursor_put_text(out, "\\x");
			put_hex(out, byte, 2);
		}
	}
	return out->used - start - inside;
}
