#include "schema/argv.h"

#include <string.h>
#include <strings.h>

#define MASK "***"
#define CUT "..."

/* A name that has one of these in it holds a secret. */
static const char *const telling[] = { "token", "secret", "passw", "pwd",
	"passphrase", "apikey", "api-key", "api_key", "accesskey", "access-key",
	"access_key", "private-key", "private_key", "auth", "credential",
	"cookie", "signature", "session" };

/* Options whose next word is "user:password". */
static const char *const users[] = { "-u", "-U", "--user", "--proxy-user" };

/* What the next piece of the line is, because of the one before. */
enum expected {
	EXPECT_ANYTHING,
	EXPECT_SECRET,
	EXPECT_USER
};

struct line {
	struct cursor_writer *out;
	enum expected expected;
	uint8_t hidden_until; /* a quote, or 0: the end of the word */
	bool hiding; /* the value of a header field goes over blanks */
	bool full;
};

static void
put(struct line *line, const void *bytes, size_t length)
{
	struct cursor_writer *out = line->out;
	size_t room = out->size - out->used;

	if (line->full)
		return;
	if (room < length + strlen(CUT)) {
		line->full = true;
		cursor_put_text(out, CUT);
		return;
	}
	cursor_put(out, bytes, length);
}

static void
put_text(struct line *line, const char *text)
{
	put(line, text, strlen(text));
}

static bool
is_blank(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static bool
is_quote(uint8_t byte)
{
	return byte == '\'' || byte == '"';
}

static bool
is_of_name(uint8_t byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || byte == '_' || byte == '-';
}

static bool
has_inside(struct cursor name, const char *word)
{
	size_t length = strlen(word);

	for (; name.left >= length; name.at++, name.left--)
		if (strncasecmp((const char *)name.at, word, length) == 0)
			return true;
	return false;
}

static bool
is_telling(struct cursor name)
{
	for (size_t i = 0; i < sizeof(telling) / sizeof(telling[0]); i++)
		if (has_inside(name, telling[i]))
			return true;
	return false;
}

/* What stands right before place and could be a name. */
static struct cursor
name_before(struct cursor piece, size_t place)
{
	size_t begin = place;

	while (begin > 0 && is_of_name(piece.at[begin - 1]))
		begin--;
	return cursor_of(piece.at + begin, place - begin);
}

/* How much of a value stands from place on. */
static size_t
value_length(struct cursor piece, size_t place)
{
	size_t end = place;

	if (end < piece.left && is_quote(piece.at[end])) {
		do
			end++;
		while (end < piece.left && piece.at[end] != piece.at[place]);
		return end - place;
	}
	while (end < piece.left && !is_quote(piece.at[end]) &&
	       piece.at[end] != '&' && piece.at[end] != ';')
		end++;
	return end - place;
}

/* Where the user part of the URL whose "://" ends at place ends; or 0. */
static size_t
user_end(struct cursor piece, size_t place)
{
	size_t end = 0;

	for (size_t i = place; i < piece.left; i++) {
		uint8_t byte = piece.at[i];

		if (byte == '/' || byte == '?' || byte == '#' || is_quote(byte))
			break;
		if (byte == '@')
			end = i;
	}
	return end;
}

static bool
ends_scheme(struct cursor piece, size_t place)
{
	return place + 3 <= piece.left &&
	       memcmp(piece.at + place, "://", 3) == 0;
}

/* The quote that was open where a header field begins, or 0. */
static uint8_t
quote_before(struct cursor piece, size_t place)
{
	while (place > 0)
		if (is_quote(piece.at[--place]))
			return piece.at[place];
	return 0;
}

/* A ':' or '=' at place: writes what goes with it; how much was eaten. */
static size_t
put_mark(struct line *line, struct cursor piece, size_t place)
{
	size_t end, length = 1;

	put(line, piece.at + place, 1);
	if (ends_scheme(piece, place)) {
		put_text(line, "//");
		length = 3;
		end = user_end(piece, place + 3);
		if (end == 0)
			return length;
		put_text(line, MASK);
		return end - place;
	}
	if (!is_telling(name_before(piece, place)))
		return length;
	put_text(line, MASK);
	if (piece.at[place] == '=')
		return length + value_length(piece, place + 1);
	/* A header field's value: to the end of its quotes, or of the word. */
	line->hiding = true;
	line->hidden_until = quote_before(piece, place);
	return length;
}

static bool
is_user_option(struct cursor piece)
{
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
		if (cursor_equals(piece, users[i]))
			return true;
	return false;
}

/* What stands behind the first ':' of a user is its password. */
static void
put_user(struct line *line, struct cursor piece)
{
	struct cursor user;

	if (!cursor_until(&piece, ':', &user)) {
		put(line, piece.at, piece.left);
		return;
	}
	put(line, user.at, user.left);
	put_text(line, ":" MASK);
}

/* Passes what is hidden; how much of the piece that is. */
static size_t
skip_hidden(struct line *line, struct cursor piece, size_t place)
{
	size_t i = place;

	while (i < piece.left &&
	       (line->hidden_until == 0 || piece.at[i] != line->hidden_until))
		i++;
	if (i < piece.left)
		line->hiding = false;
	return i - place;
}

static void
put_plain(struct line *line, struct cursor piece)
{
	for (size_t i = 0; i < piece.left;) {
		uint8_t byte = piece.at[i];

		if (line->hiding) {
			i += skip_hidden(line, piece, i);
		} else if (byte == ':' || byte == '=') {
			i += put_mark(line, piece, i);
		} else {
			put(line, &byte, 1);
			i++;
		}
	}
}

/* One piece without blanks. */
static void
put_piece(struct line *line, struct cursor piece)
{
	enum expected expected = line->expected;

	line->expected = EXPECT_ANYTHING;
	if (!line->hiding && expected == EXPECT_SECRET) {
		put_text(line, MASK);
		return;
	}
	if (!line->hiding && expected == EXPECT_USER) {
		put_user(line, piece);
		return;
	}
	put_plain(line, piece);
	if (line->hiding || piece.left == 0 || piece.at[0] != '-')
		return;
	if (is_user_option(piece))
		line->expected = EXPECT_USER;
	else if (memchr(piece.at, '=', piece.left) == NULL && is_telling(piece))
		line->expected = EXPECT_SECRET;
}

static void
put_word(struct line *line, struct cursor word)
{
	line->hiding = false;
	while (word.left > 0) {
		size_t length = 0;

		while (length < word.left && !is_blank(word.at[length]))
			length++;
		put_piece(line, cursor_of(word.at, length));
		word.at += length;
		word.left -= length;
		if (word.left == 0)
			break;
		if (!line->hiding)
			put_text(line, " ");
		word.at++;
		word.left--;
	}
}

void
argv_redact(struct cursor words, struct cursor_writer *out)
{
	struct line line = { .out = out };
	struct cursor word;
	bool first = true;

	while (words.left > 0) {
		if (!cursor_until(&words, '\0', &word)) {
			word = words;
			words.left = 0;
		}
		if (!first)
			put_text(&line, " ");
		first = false;
		put_word(&line, word);
	}
}
