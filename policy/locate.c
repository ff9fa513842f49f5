#include "policy/locate.h"

#include "schema/limits.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void
skip_blank(struct cursor *in)
{
	uint8_t byte;

	while (cursor_peek(in, &byte) &&
	       (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r') &&
	       cursor_skip(in, 1))
		;
}

/* A string with its quotes; raw is what stands between them. */
static bool
take_string(struct cursor *in, struct cursor *raw)
{
	struct cursor at = *in;
	const unsigned char *start;
	uint8_t byte;

	if (!cursor_literal(&at, "\""))
		return false;
	start = at.at;
	while (cursor_u8(&at, &byte)) {
		if (byte == '"') {
			*raw = cursor_of(start, (size_t)(at.at - start) - 1);
			*in = at;
			return true;
		}
		if (byte == '\\' && !cursor_skip(&at, 1))
			return false;
	}
	return false;
}

/* Passes one value of any kind, with all that is in it. */
static bool
skip_value(struct cursor *in)
{
	struct cursor raw;
	size_t depth = 0;
	uint8_t byte;

	do {
		skip_blank(in);
		if (!cursor_peek(in, &byte))
			return false;
		if (byte == '"') {
			if (!take_string(in, &raw))
				return false;
			continue;
		}
		if (!cursor_skip(in, 1))
			return false;
		if (byte == '{' || byte == '[')
			depth++;
		else if ((byte == '}' || byte == ']') && depth > 0)
			depth--;
		else if (depth == 0)
			/* A number or a word goes on to what may follow it. */
			while (cursor_peek(in, &byte) &&
			       strchr(",]} \t\r\n", byte) == NULL &&
			       cursor_skip(in, 1))
				;
	} while (depth > 0);
	return true;
}

/* Goes to the value of a member; *ret_key is where its key stands. */
static bool
enter_member(struct cursor *in, const char *key, struct cursor *ret_key)
{
	struct cursor raw;

	if (!cursor_literal(in, "{"))
		return false;
	do {
		skip_blank(in);
		*ret_key = *in;
		if (!take_string(in, &raw))
			return false;
		skip_blank(in);
		if (!cursor_literal(in, ":"))
			return false;
		skip_blank(in);
		/* A key written with escapes is not found, and has no place. */
		if (cursor_equals(raw, key))
			return true;
		if (!skip_value(in))
			return false;
		skip_blank(in);
	} while (cursor_literal(in, ","));
	return false;
}

static bool
enter_element(struct cursor *in, size_t index)
{
	if (!cursor_literal(in, "["))
		return false;
	for (size_t i = 0; i < index; i++) {
		if (!skip_value(in))
			return false;
		skip_blank(in);
		if (!cursor_literal(in, ","))
			return false;
	}
	skip_blank(in);
	return true;
}

/* The steps from the top down; how many, or 0 when there are too many. */
static size_t
list_steps(
    const struct place *place, const struct place *steps[LIMIT_JSON_DEPTH])
{
	size_t count = 0;

	for (const struct place *at = place; at != NULL; at = at->above)
		if (++count > LIMIT_JSON_DEPTH)
			return 0;
	for (size_t i = count; i-- > 0; place = place->above)
		steps[i] = place;
	return count;
}

static struct located
place_in(
    struct cursor text, const unsigned char *start, const unsigned char *end)
{
	struct located located = { .start = (size_t)(start - text.at),
		.end = (size_t)(end - text.at),
		.line = 1,
		.column = 1 };

	for (size_t i = 0; i < located.start; i++) {
		/* Only the first byte of a character counts. */
		if ((text.at[i] & 0xc0) != 0x80)
			located.column++;
		if (text.at[i] != '\n')
			continue;
		located.line++;
		located.column = 1;
	}
	return located;
}

static bool
walk(struct cursor text, const struct place *place, struct cursor *ret_value,
    struct cursor *ret_key)
{
	const struct place *steps[LIMIT_JSON_DEPTH] = { NULL };
	size_t count = list_steps(place, steps);
	struct cursor at = text, key = text;

	if (place != NULL && count == 0)
		return false;
	skip_blank(&at);
	for (size_t i = 0; i < count; i++) {
		assert(steps[i] != NULL);
		key = at;
		if (steps[i]->key == NULL
			? !enter_element(&at, steps[i]->index)
			: !enter_member(&at, steps[i]->key, &key))
			return false;
	}
	*ret_value = at;
	*ret_key = key;
	return true;
}

bool
locate(struct cursor text, const struct place *place, struct located *ret)
{
	struct cursor value, key, end;

	if (!walk(text, place, &value, &key))
		return false;
	end = value;
	if (!skip_value(&end))
		return false;
	*ret = place_in(text, value.at, end.at);
	return true;
}

bool
locate_key(struct cursor text, const struct place *place, struct located *ret)
{
	struct cursor value, key, end, raw;

	if (place == NULL || place->key == NULL ||
	    !walk(text, place, &value, &key))
		return false;
	end = key;
	if (!take_string(&end, &raw))
		return false;
	*ret = place_in(text, key.at, end.at);
	return true;
}

size_t
locate_depth(struct cursor text)
{
	size_t depth = 0, deepest = 0;
	struct cursor raw;
	uint8_t byte;

	while (cursor_peek(&text, &byte)) {
		if (byte == '"' && take_string(&text, &raw))
			continue;
		if (!cursor_skip(&text, 1))
			break;
		if (byte == '{' || byte == '[')
			deepest = ++depth > deepest ? depth : deepest;
		else if ((byte == '}' || byte == ']') && depth > 0)
			depth--;
	}
	return deepest;
}

static bool
is_word(const char *key)
{
	for (size_t i = 0; key[i] != '\0'; i++)
		if (strchr("abcdefghijklmnopqrstuvwxyz"
			   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$",
			key[i]) == NULL)
			return false;
	return key[0] != '\0';
}

void
place_print(const struct place *place, char *out, size_t size)
{
	const struct place *steps[LIMIT_JSON_DEPTH] = { NULL };
	size_t count = list_steps(place, steps);
	size_t used = 0;

	for (size_t i = 0; i <= count; i++) {
		const struct place *step = i == 0 ? NULL : steps[i - 1];
		int length;

		if (step == NULL)
			length = snprintf(out + used, size - used, "$");
		else if (step->key == NULL)
			length = snprintf(
			    out + used, size - used, "[%zu]", step->index);
		else if (is_word(step->key))
			length =
			    snprintf(out + used, size - used, ".%s", step->key);
		else
			length = snprintf(
			    out + used, size - used, "[\"%s\"]", step->key);
		if (length < 0 || (size_t)length >= size - used)
			break;
		used += (size_t)length;
	}
	out[used] = '\0';
}
