#include "schema/json.h"

#include <string.h>

struct json
json_to(struct cursor_writer *out)
{
	return (struct json){ .out = out };
}

/*
 * How many bytes the UTF-8 sequence at the cursor has (RFC 3629), or 0 when
 * there is none: overlong forms, surrogates and stray bytes.
 */
static size_t
sequence_length(struct cursor c)
{
	static const struct {
		unsigned char first_low, first_high, second_low, second_high;
		size_t length;
	} forms[] = {
		{ 0x00, 0x7f, 0x00, 0xff, 1 },
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	const unsigned char *b = c.at;
	size_t form = 0;

	while (form < sizeof(forms) / sizeof(forms[0]) &&
	       (b[0] < forms[form].first_low || b[0] > forms[form].first_high))
		form++;
	if (form == sizeof(forms) / sizeof(forms[0]) ||
	    c.left < forms[form].length)
		return 0;
	if (forms[form].length > 1 &&
	    (b[1] < forms[form].second_low || b[1] > forms[form].second_high))
		return 0;
	for (size_t i = 2; i < forms[form].length; i++)
		if ((b[i] & 0xc0) != 0x80)
			return 0;
	return forms[form].length;
}

static void
escape_control(struct json *j, unsigned char byte)
{
	static const char hex[] = "0123456789abcdef";
	char text[] = "\\u0000";

	text[4] = hex[byte >> 4];
	text[5] = hex[byte & 15];
	cursor_put_text(j->out, text);
}

static void
quote(struct json *j, struct cursor value)
{
	cursor_put_u8(j->out, '"');
	while (value.left > 0) {
		unsigned char byte = value.at[0];
		size_t length = sequence_length(value);

		if (length == 0)
			cursor_put_text(j->out, "\xef\xbf\xbd");
		else if (byte == '"' || byte == '\\') {
			cursor_put_u8(j->out, '\\');
			cursor_put_u8(j->out, byte);
		} else if (byte < 0x20 || byte == 0x7f)
			escape_control(j, byte);
		else
			cursor_put(j->out, value.at, length);
		length = length == 0 ? 1 : length;
		value.at += length;
		value.left -= length;
	}
	cursor_put_u8(j->out, '"');
}

/* Everything that stands before a value. */
static void
begin(struct json *j, const char *key)
{
	if (j->comma)
		cursor_put_u8(j->out, ',');
	j->comma = true;
	if (key == NULL)
		return;
	quote(j, cursor_of_text(key));
	cursor_put_u8(j->out, ':');
}

void
json_open(struct json *j, const char *key, char bracket)
{
	begin(j, key);
	cursor_put_u8(j->out, (uint8_t)bracket);
	j->comma = false;
}

void
json_close(struct json *j, char bracket)
{
	cursor_put_u8(j->out, (uint8_t)bracket);
	j->comma = true;
}

void
json_text(struct json *j, const char *key, const char *value)
{
	json_bytes(j, key, cursor_of_text(value));
}

void
json_bytes(struct json *j, const char *key, struct cursor value)
{
	begin(j, key);
	quote(j, value);
}

void
json_number(struct json *j, const char *key, int64_t value)
{
	begin(j, key);
	if (value < 0) {
		cursor_put_u8(j->out, '-');
		cursor_put_decimal(j->out, -(uint64_t)value);
		return;
	}
	cursor_put_decimal(j->out, (uint64_t)value);
}

void
json_bool(struct json *j, const char *key, bool value)
{
	begin(j, key);
	cursor_put_text(j->out, value ? "true" : "false");
}

void
json_none(struct json *j, const char *key)
{
	begin(j, key);
	cursor_put_text(j->out, "null");
}

void
json_verbatim(struct json *j, const char *key, const char *value)
{
	begin(j, key);
	cursor_put_text(j->out, value);
}
