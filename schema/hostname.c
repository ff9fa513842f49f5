#include "schema/hostname.h"

#include "schema/status.h"

#include <string.h>

static char
lower(char c)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";

	if (c < 'A' || c > 'Z')
		return c;
	return letters[c - 'A'];
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_hex(char c)
{
	c = lower(c);
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool
is_label_byte(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
}

bool
hostname_ends_in_number(const char *text, size_t length)
{
	size_t start, end = length;
	bool decimal = true;

	if (end > 0 && text[end - 1] == '.')
		end--;
	for (start = end; start > 0 && text[start - 1] != '.'; start--)
		decimal = decimal && is_digit(text[start - 1]);
	if (start == end)
		return false;
	if (decimal)
		return true;
	if (end - start < 2 || text[start] != '0' ||
	    lower(text[start + 1]) != 'x')
		return false;
	for (size_t i = start + 2; i < end; i++)
		if (!is_hex(text[i]))
			return false;
	return true;
}

/* One label from text[start] on; its length, or 0 when it is none. */
static size_t
label_length(const char *text, size_t start, size_t length)
{
	size_t end = start;

	while (end < length && text[end] != '.') {
		if (!is_label_byte(lower(text[end])))
			return 0;
		end++;
	}
	if (end - start > LIMIT_LABEL)
		return 0;
	if (end == start || text[start] == '-' || text[end - 1] == '-')
		return 0;
	return end - start;
}

int
hostname_parse(const char *text, size_t length, struct hostname *ret)
{
	struct hostname name = { 0 };
	size_t start = 0;

	if (length > 0 && text[length - 1] == '.')
		length--;
	if (length == 0)
		return STATUS_MALFORMED;
	if (length > LIMIT_HOST)
		return STATUS_TOO_LONG;
	if (hostname_ends_in_number(text, length))
		return STATUS_MALFORMED;
	while (start <= length) {
		size_t label = label_length(text, start, length);

		if (label == 0)
			return STATUS_MALFORMED;
		start += label + 1;
	}
	for (size_t i = 0; i < length; i++)
		name.text[i] = lower(text[i]);
	name.length = (uint8_t)length;
	*ret = name;
	return STATUS_OK;
}

bool
hostname_is_set(const struct hostname *name)
{
	return name->length > 0;
}

bool
hostname_equals(const struct hostname *a, const struct hostname *b)
{
	return a->length == b->length &&
	       memcmp(a->text, b->text, a->length) == 0;
}

bool
hostname_is_below(const struct hostname *name, const struct hostname *zone)
{
	size_t at;

	if (zone->length == 0 || name->length < zone->length + 2)
		return false;
	at = (size_t)(name->length - zone->length);
	return name->text[at - 1] == '.' &&
	       memcmp(name->text + at, zone->text, zone->length) == 0;
}
