#include "broker/remit.h"

#include <string.h>

/* The next word; false behind the last. */
static bool
next(struct cursor *words, struct cursor *ret)
{
	struct cursor all = *words;

	if (all.left == 0)
		return false;
	if (cursor_until(words, ' ', ret))
		return true;
	*ret = all;
	*words = cursor_of(all.at + all.left, 0);
	return true;
}

static bool
is_same(struct cursor a, struct cursor b)
{
	return a.left == b.left && memcmp(a.at, b.at, a.left) == 0;
}

/* RFC 6749 appendix A.4: printable, no blank, quote or backslash. */
static bool
is_word(struct cursor word)
{
	uint8_t byte;

	if (word.left == 0)
		return false;
	while (cursor_u8(&word, &byte))
		if (byte <= ' ' || byte > '~' || byte == '"' || byte == '\\')
			return false;
	return true;
}

bool
remit_has(const char *remit, struct cursor word)
{
	struct cursor words = cursor_of_text(remit), one;

	while (next(&words, &one))
		if (is_same(one, word))
			return true;
	return false;
}

bool
remit_is_sound(const char *remit)
{
	struct cursor words = cursor_of_text(remit), one;
	size_t count = 0, length = words.left;

	/* A blank at the end is followed by no word. */
	if (length == 0 || length > LIMIT_SCOPE || remit[length - 1] == ' ')
		return false;
	while (next(&words, &one))
		if (!is_word(one) || ++count > LIMIT_SCOPES ||
		    remit_has((const char *)words.at, one))
			return false;
	return true;
}

bool
remit_is_within(const char *remit, const char *within)
{
	struct cursor words = cursor_of_text(remit), one;

	while (next(&words, &one))
		if (!remit_has(within, one))
			return false;
	return true;
}

static void
append(struct cursor_writer *out, struct cursor word)
{
	if (out->used > 0)
		cursor_put_u8(out, ' ');
	cursor_put(out, word.at, word.left);
}

static void
finish(const struct cursor_writer *out, char *ret)
{
	memcpy(ret, out->bytes, out->used);
	ret[out->used] = '\0';
}

void
remit_cut(const char *remit, const char *other, char ret[LIMIT_SCOPE + 1],
    char ret_dropped[LIMIT_SCOPE + 1])
{
	unsigned char kept[LIMIT_SCOPE], dropped[LIMIT_SCOPE];
	struct cursor_writer in = cursor_writer_of(kept, sizeof(kept));
	struct cursor_writer not_in =
	    cursor_writer_of(dropped, sizeof(dropped));
	struct cursor words = cursor_of_text(remit), one;

	while (next(&words, &one))
		append(remit_has(other, one) ? &in : &not_in, one);
	/* Both are parts of a list that fits; ret may be that list. */
	finish(&in, ret);
	if (ret_dropped != NULL)
		finish(&not_in, ret_dropped);
}
