#include "policy/pathmatch.h"

#include "policy/urlpath.h"
#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

#define WORDS ((LIMIT_PATTERN + 64) / 64)

/* The positions of a pattern up to which the text so far can have come. */
struct places {
	uint64_t words[WORDS];
};

static bool
is_wildcard(uint16_t token)
{
	return token >= PATHMATCH_STAR;
}

/* Encoded or not, these lead to the same place only if one is mistaken. */
static bool
differs_encoded(uint64_t byte)
{
	return byte == '/' || byte == '?' || byte == '#' || byte == '%' ||
	       byte >= 0x80;
}

/* In a path an encoded byte is one token; elsewhere nothing is encoded. */
static bool
next_token(struct cursor *in, bool path, uint16_t *ret)
{
	struct cursor at, digits;
	uint64_t encoded;
	uint8_t byte;

	if (!cursor_u8(in, &byte))
		return false;
	at = *in;
	*ret = byte;
	if (!path || byte != '%' || !cursor_take(&at, 2, &digits) ||
	    !cursor_hex(&digits, 255, &encoded) || !cursor_is_empty(&digits))
		return true;
	*in = at;
	*ret = (uint16_t)encoded;
	if (differs_encoded(encoded))
		*ret |= PATHMATCH_ENCODED;
	return true;
}

bool
pathmatch_next(struct cursor *path, uint16_t *ret)
{
	return next_token(path, true, ret);
}

static void
count_tokens(struct pathmatch *match)
{
	match->prefix = match->length;
	match->literal = 0;
	for (size_t i = match->length; i-- > 0;) {
		if (is_wildcard(match->tokens[i]))
			match->prefix = i;
		else
			match->literal++;
	}
}

static uint16_t
wildcard(struct cursor *in, bool segments)
{
	bool second = cursor_literal(in, "*");

	while (cursor_literal(in, "*"))
		second = true;
	return second || !segments ? PATHMATCH_STARS : PATHMATCH_STAR;
}

static void
fill_tokens(struct pathmatch *match, struct cursor in, bool segments)
{
	while (!cursor_is_empty(&in)) {
		uint16_t token;

		if (cursor_literal(&in, "*"))
			token = wildcard(&in, segments);
		else if (!next_token(&in, match->path, &token))
			break;
		match->tokens[match->length++] = token;
	}
	count_tokens(match);
	match->parent = match->path && match->length >= 2 &&
			match->tokens[match->length - 1] == PATHMATCH_STARS &&
			match->tokens[match->length - 2] == '/';
}

/* What a pattern is for. */
enum purpose {
	FOR_PATHS, /* of URLs: encoded, in segments */
	FOR_FILES, /* in segments */
	FOR_TEXTS
};

static int
init(struct pathmatch *match, struct cursor canonical, struct cursor text,
    enum purpose purpose)
{
	struct pathmatch made = { 0 };

	made.path = purpose == FOR_PATHS;
	made.text = strndup((const char *)text.at, text.left);
	made.tokens = calloc(canonical.left + 1, sizeof(*made.tokens));
	if (made.text == NULL || made.tokens == NULL) {
		pathmatch_done(&made);
		return STATUS_NO_MEMORY;
	}
	fill_tokens(&made, canonical, purpose != FOR_TEXTS);
	*match = made;
	return STATUS_OK;
}

int
pathmatch_init_path(struct pathmatch *match, const char *text, size_t length)
{
	struct urlpath path;
	struct cursor query;
	size_t slashes = 0;

	if (length > LIMIT_PATTERN)
		return STATUS_TOO_LONG;
	if (memchr(text, '?', length) != NULL ||
	    urlpath_parse(cursor_of(text, length), &path, &query) != STATUS_OK)
		return STATUS_MALFORMED;
	/* A pattern with dot segments does not say what it looks like. */
	for (size_t i = 0; i < length; i++)
		slashes += text[i] == '/';
	for (size_t i = 0; i < path.length; i++)
		slashes -= path.text[i] == '/';
	if (slashes != 0)
		return STATUS_MALFORMED;
	return init(match, cursor_of(path.text, path.length),
	    cursor_of(text, length), FOR_PATHS);
}

int
pathmatch_init_file(struct pathmatch *match, const char *text, size_t length)
{
	if (length > LIMIT_PATTERN)
		return STATUS_TOO_LONG;
	return init(
	    match, cursor_of(text, length), cursor_of(text, length), FOR_FILES);
}

int
pathmatch_init_text(struct pathmatch *match, const char *text, size_t length)
{
	if (length > LIMIT_PATTERN)
		return STATUS_TOO_LONG;
	return init(
	    match, cursor_of(text, length), cursor_of(text, length), FOR_TEXTS);
}

void
pathmatch_done(struct pathmatch *match)
{
	if (match == NULL)
		return;
	free(match->text);
	free(match->tokens);
	memset(match, 0, sizeof(*match));
}

/* A wildcard may also stand for nothing. */
static void
add_place(const struct pathmatch *match, struct places *places, size_t at)
{
	places->words[at / 64] |= UINT64_C(1) << at % 64;
	while (at < match->length && is_wildcard(match->tokens[at])) {
		at++;
		places->words[at / 64] |= UINT64_C(1) << at % 64;
	}
}

static bool
has_place(const struct places *places, size_t at)
{
	return (places->words[at / 64] >> at % 64 & 1) != 0;
}

static bool
accepts(const struct pathmatch *match, const struct places *places)
{
	return has_place(places, match->length) ||
	       (match->parent && has_place(places, match->length - 2));
}

/*
 * The places behind one more token.  A wildcard among the tokens, from
 * another pattern, is taken only by one that stands for at least as much.
 */
static bool
step(const struct pathmatch *match, const struct places *from, uint16_t token,
    struct places *ret)
{
	size_t words = match->length / 64 + 1;
	bool any = false;

	memset(ret->words, 0, words * sizeof(ret->words[0]));
	for (size_t at = 0; at < match->length; at++) {
		uint16_t own = match->tokens[at];
		bool stays = own == PATHMATCH_STARS ||
			     (own == PATHMATCH_STAR && token != '/' &&
				 token != PATHMATCH_STARS);

		if (at % 64 == 0 && from->words[at / 64] == 0) {
			at += 63;
			continue;
		}
		if (!has_place(from, at))
			continue;
		if (stays)
			add_place(match, ret, at);
		else if (!is_wildcard(own) && own == token)
			add_place(match, ret, at + 1);
		else
			continue;
		any = true;
	}
	return any;
}

bool
pathmatch_holds(const struct pathmatch *match, struct cursor text)
{
	struct places places = { 0 }, next;
	uint16_t token;

	for (size_t i = 0; i < match->prefix; i++) {
		if (!next_token(&text, match->path, &token))
			return match->parent && i == match->length - 2;
		if (token != match->tokens[i])
			return false;
	}
	if (match->prefix == match->length)
		return cursor_is_empty(&text);
	if (match->prefix + 1 == match->length &&
	    match->tokens[match->prefix] == PATHMATCH_STARS)
		return true;
	add_place(match, &places, match->prefix);
	while (next_token(&text, match->path, &token)) {
		if (!step(match, &places, token, &next))
			return false;
		places = next;
	}
	return accepts(match, &places);
}

/* Whether match holds for the first count tokens of another pattern. */
static bool
holds_tokens(
    const struct pathmatch *match, const uint16_t *tokens, size_t count)
{
	struct places places = { 0 }, next;

	add_place(match, &places, 0);
	for (size_t i = 0; i < count; i++) {
		if (!step(match, &places, tokens[i], &next))
			return false;
		places = next;
	}
	return accepts(match, &places);
}

bool
pathmatch_covers(const struct pathmatch *wide, const struct pathmatch *narrow)
{
	if (narrow->parent &&
	    !holds_tokens(wide, narrow->tokens, narrow->length - 2))
		return false;
	return holds_tokens(wide, narrow->tokens, narrow->length);
}

bool
pathmatch_may_meet(const struct pathmatch *a, const struct pathmatch *b)
{
	size_t both = a->prefix < b->prefix ? a->prefix : b->prefix;

	if (a->prefix == a->length)
		return holds_tokens(b, a->tokens, a->length);
	if (b->prefix == b->length)
		return holds_tokens(a, b->tokens, b->length);
	return memcmp(a->tokens, b->tokens, both * sizeof(a->tokens[0])) == 0;
}
