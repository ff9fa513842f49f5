#include "gateway/proto/header.h"

#include "schema/status.h"

#include <string.h>
#include <strings.h>

/*
 * The bytes of a token, one bit each: letters, digits and the marks
 * "!#$%&'*+-.^_`|~" (RFC 9110 section 5.6.2).
 */
static const uint64_t token_bits[2] = { 0x03ff6cfa00000000,
	0x57ffffffc7fffffe };

static bool
is_token_byte(unsigned char byte)
{
	return byte < 128 && (token_bits[byte / 64] >> byte % 64 & 1) != 0;
}

bool
header_is_token(struct cursor text)
{
	for (size_t i = 0; i < text.left; i++)
		if (!is_token_byte(text.at[i]))
			return false;
	return text.left > 0;
}

bool
header_is_value(struct cursor text)
{
	for (size_t i = 0; i < text.left; i++)
		if ((text.at[i] < 0x20 && text.at[i] != '\t') ||
		    text.at[i] == 0x7f)
			return false;
	return true;
}

bool
header_is(struct cursor text, const char *word)
{
	if (text.left == 0)
		return word[0] == '\0';
	/* Most names differ in their first letter; the bit is its case. */
	if ((text.at[0] | 0x20) != ((unsigned char)word[0] | 0x20))
		return false;
	return text.left == strlen(word) &&
	       strncasecmp((const char *)text.at, word, text.left) == 0;
}

bool
header_same(struct cursor a, struct cursor b)
{
	if (a.left != b.left)
		return false;
	return a.left == 0 ||
	       strncasecmp((const char *)a.at, (const char *)b.at, a.left) == 0;
}

static bool
is_blank(unsigned char byte)
{
	return byte == ' ' || byte == '\t';
}

static struct cursor
trimmed(struct cursor text)
{
	while (text.left > 0 && is_blank(text.at[0])) {
		text.at++;
		text.left--;
	}
	while (text.left > 0 && is_blank(text.at[text.left - 1]))
		text.left--;
	return text;
}

int
header_add(struct header *header, struct cursor name, struct cursor value)
{
	if (!header_is_token(name) || !header_is_value(value))
		return STATUS_MALFORMED;
	if (header->count >= LIMIT_HTTP_FIELDS)
		return STATUS_FULL;
	header->fields[header->count++] =
	    (struct header_field){ .name = name, .value = trimmed(value) };
	return STATUS_OK;
}

/* The place of the first field of that name from a place on, or count. */
static size_t
place_of(const struct header *header, const char *name, size_t from)
{
	while (
	    from < header->count && !header_is(header->fields[from].name, name))
		from++;
	return from;
}

static size_t
drop_from(struct header *header, const char *name, size_t from)
{
	size_t kept = from;

	for (size_t i = from; i < header->count; i++)
		if (!header_is(header->fields[i].name, name))
			header->fields[kept++] = header->fields[i];
	from = header->count - kept;
	header->count = kept;
	return from;
}

int
header_set(struct header *header, const char *name, struct cursor value)
{
	size_t place = place_of(header, name, 0);

	if (place == header->count)
		return header_add(header, cursor_of_text(name), value);
	if (!header_is_value(value))
		return STATUS_MALFORMED;
	header->fields[place].value = trimmed(value);
	(void)drop_from(header, name, place + 1);
	return STATUS_OK;
}

size_t
header_drop(struct header *header, const char *name)
{
	return drop_from(header, name, 0);
}

size_t
header_count(const struct header *header, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < header->count; i++)
		if (header_is(header->fields[i].name, name))
			count++;
	return count;
}

bool
header_find(const struct header *header, const char *name, struct cursor *ret)
{
	size_t place = place_of(header, name, 0);

	if (place == header->count)
		return false;
	*ret = header->fields[place].value;
	return true;
}

bool
header_member(struct cursor *list, struct cursor *ret)
{
	struct cursor member;

	while (!cursor_is_empty(list)) {
		if (!cursor_until(list, ',', &member) &&
		    !cursor_take(list, list->left, &member))
			return false;
		member = trimmed(member);
		if (cursor_is_empty(&member))
			continue;
		*ret = member;
		return true;
	}
	return false;
}

bool
header_lists(const struct header *header, const char *name, const char *token)
{
	struct cursor list, member;
	size_t place = place_of(header, name, 0);

	while (place < header->count) {
		list = header->fields[place].value;
		while (header_member(&list, &member))
			if (header_is(member, token))
				return true;
		place = place_of(header, name, place + 1);
	}
	return false;
}

void
header_write(const struct header *header, struct cursor_writer *out)
{
	for (size_t i = 0; i < header->count; i++) {
		const struct header_field *field = &header->fields[i];

		cursor_put(out, field->name.at, field->name.left);
		cursor_put_text(out, ": ");
		cursor_put(out, field->value.at, field->value.left);
		cursor_put_text(out, "\r\n");
	}
}
