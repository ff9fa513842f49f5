#include "schema/jsontext.h"

#include "schema/limits.h"

#include <assert.h>

/* What may stand next. */
enum expectation {
	EXPECT_VALUE,
	EXPECT_VALUE_OR_END, /* behind [ */
	EXPECT_KEY,
	EXPECT_KEY_OR_END, /* behind { */
	EXPECT_COMMA_OR_END
};

struct state {
	struct cursor text;
	enum expectation next;
	unsigned depth;
	uint32_t objects; /* a bit for each level that is no array */
};

static_assert(LIMIT_JSON_DEPTH < 32, "each level has its bit");

static void
skip_blanks(struct cursor *text)
{
	uint8_t byte;

	while (cursor_peek(text, &byte) && byte == ' ' && cursor_skip(text, 1))
		continue;
}

/* Behind a backslash. */
static bool
take_escape(struct cursor *text)
{
	struct cursor digits;
	uint64_t unit;
	uint8_t byte;

	if (!cursor_u8(text, &byte))
		return false;
	if (byte != 'u')
		return byte == '"' || byte == '\\' || byte == '/' ||
		       byte == 'b' || byte == 'f' || byte == 'n' ||
		       byte == 'r' || byte == 't';
	return cursor_take(text, 4, &digits) &&
	       cursor_hex(&digits, 0xffff, &unit) && cursor_is_empty(&digits) &&
	       (unit < 0xd800 || unit > 0xdfff);
}

/* Behind the first quote. */
static bool
take_string(struct cursor *text)
{
	uint8_t byte;

	while (cursor_u8(text, &byte)) {
		if (byte == '"')
			return true;
		if (byte < 0x20 || (byte == '\\' && !take_escape(text)))
			return false;
	}
	return false;
}

static bool
take_digits(struct cursor *text)
{
	size_t before = text->left;
	uint8_t byte;

	while (cursor_peek(text, &byte) && byte >= '0' && byte <= '9' &&
	       cursor_skip(text, 1))
		continue;
	return text->left < before;
}

static bool
take_number(struct cursor *text)
{
	uint8_t byte;

	(void)!cursor_literal(text, "-");
	/* A zero stands alone. */
	if (!cursor_literal(text, "0") && !take_digits(text))
		return false;
	if (cursor_literal(text, ".") && !take_digits(text))
		return false;
	if (!cursor_peek(text, &byte) || (byte != 'e' && byte != 'E'))
		return true;
	if (!cursor_skip(text, 1))
		return false;
	if (!cursor_literal(text, "+"))
		(void)!cursor_literal(text, "-");
	return take_digits(text);
}

static bool
open_level(struct state *state, bool is_object)
{
	if (++state->depth > LIMIT_JSON_DEPTH)
		return false;
	state->objects &= ~(UINT32_C(1) << state->depth);
	if (is_object)
		state->objects |= UINT32_C(1) << state->depth;
	state->next = is_object ? EXPECT_KEY_OR_END : EXPECT_VALUE_OR_END;
	return true;
}

static bool
in_object(const struct state *state)
{
	return (state->objects >> state->depth & 1) != 0;
}

static bool
close_level(struct state *state, uint8_t bracket)
{
	if (bracket != (in_object(state) ? '}' : ']'))
		return false;
	state->depth--;
	state->next = EXPECT_COMMA_OR_END;
	return true;
}

static bool
take_value(struct state *state)
{
	struct cursor *text = &state->text;

	if (cursor_literal(text, "{"))
		return open_level(state, true);
	if (cursor_literal(text, "["))
		return open_level(state, false);
	state->next = EXPECT_COMMA_OR_END;
	if (cursor_literal(text, "\""))
		return take_string(text);
	return cursor_literal(text, "true") || cursor_literal(text, "false") ||
	       cursor_literal(text, "null") || take_number(text);
}

static bool
take_key(struct state *state)
{
	if (!cursor_literal(&state->text, "\"") || !take_string(&state->text))
		return false;
	skip_blanks(&state->text);
	state->next = EXPECT_VALUE;
	return cursor_literal(&state->text, ":");
}

static bool
take_comma(struct state *state)
{
	state->next = in_object(state) ? EXPECT_KEY : EXPECT_VALUE;
	return cursor_literal(&state->text, ",");
}

/* One step: a value's beginning, a key, a comma or the end of a level. */
static bool
step(struct state *state)
{
	bool may_end = state->next == EXPECT_VALUE_OR_END ||
		       state->next == EXPECT_KEY_OR_END ||
		       state->next == EXPECT_COMMA_OR_END;
	uint8_t byte;

	skip_blanks(&state->text);
	if (!cursor_peek(&state->text, &byte))
		return false;
	if (may_end && (byte == '}' || byte == ']'))
		return close_level(state, byte) && cursor_skip(&state->text, 1);
	switch (state->next) {
	case EXPECT_VALUE:
	case EXPECT_VALUE_OR_END:
		return take_value(state);
	case EXPECT_KEY:
	case EXPECT_KEY_OR_END:
		return take_key(state);
	case EXPECT_COMMA_OR_END:
		return take_comma(state);
	}
	return false;
}

bool
jsontext_is_object(struct cursor text)
{
	struct state state = { .text = text };

	if (!cursor_literal(&state.text, "{") || !open_level(&state, true))
		return false;
	while (state.depth > 0)
		if (!step(&state))
			return false;
	return cursor_is_empty(&state.text);
}
