#include "policy/automaton.h"

#include "schema/status.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The place behind the last token of a pattern. */
#define TOKEN_END (PATHMATCH_STARS + 1)
#define TOKENS (PATHMATCH_STAR)

/* A place before a token of one of the patterns. */
struct place {
	uint16_t token;
	uint16_t list;
	bool accepts; /* the pattern holds when the word ends here */
	bool stays; /* and holds for whatever comes behind */
};

/* What is known once some word has been read: the places it has reached. */
struct state {
	size_t first; /* in the pool */
	uint32_t count;
	uint32_t grammar; /* how far the word is one of its kind */
	uint32_t from; /* the state before the last token */
	uint16_t token;
};

struct search {
	enum automaton_words words;
	const struct automaton_list *lists;
	size_t list_count;
	bool measured; /* labels are counted, too */
	struct place *places;
	size_t place_count;
	uint16_t letters[TOKENS];
	size_t letter_count;
	struct state *states;
	size_t state_count;
	uint32_t *pool;
	size_t pool_used;
	uint32_t *slots; /* number of a state and one, or 0 */
	uint32_t *seen; /* by place: the last state that it was put into */
	uint32_t turn;
};

#define SLOTS 65536
#define NO_STATE UINT32_MAX

static_assert(LIMIT_AUTOMATON_STATES * 2 <= SLOTS, "the table stays sparse");

/* ---- the words there are ---- */

/* A name is read label by label: what the current one looks like so far. */
enum {
	LABEL_EMPTY,
	LABEL_ZERO, /* "0" */
	LABEL_DECIMAL,
	LABEL_HEX, /* "0x" and digits */
	LABEL_NAME,
	LABEL_BITS = 3,
	LABEL_HYPHEN = 1 << LABEL_BITS, /* ends in "-" */
	LABEL_COUNT_SHIFT = LABEL_BITS + 1
};

static bool
is_digit(uint16_t token)
{
	return token >= '0' && token <= '9';
}

static bool
is_label_token(uint16_t token)
{
	return is_digit(token) || (token >= 'a' && token <= 'z') ||
	       token == '-' || token == '_';
}

static uint32_t
label_kind(uint32_t kind, uint16_t token)
{
	switch (kind) {
	case LABEL_EMPTY:
		if (token == '0')
			return LABEL_ZERO;
		return is_digit(token) ? LABEL_DECIMAL : LABEL_NAME;
	case LABEL_ZERO:
		if (token == 'x')
			return LABEL_HEX;
		return is_digit(token) ? LABEL_DECIMAL : LABEL_NAME;
	case LABEL_DECIMAL:
		return is_digit(token) ? LABEL_DECIMAL : LABEL_NAME;
	case LABEL_HEX:
		return is_digit(token) || (token >= 'a' && token <= 'f')
			   ? LABEL_HEX
			   : LABEL_NAME;
	default:
		return LABEL_NAME;
	}
}

/* schema/hostname, one letter at a time; NO_STATE when it is no name. */
static uint32_t
step_name(const struct search *s, uint32_t grammar, uint16_t token)
{
	uint32_t kind = grammar & ((1U << LABEL_BITS) - 1);
	uint32_t length = grammar >> LABEL_COUNT_SHIFT;

	if (token == '.')
		return kind == LABEL_EMPTY || (grammar & LABEL_HYPHEN) != 0
			   ? NO_STATE
			   : LABEL_EMPTY;
	if (!is_label_token(token) || (kind == LABEL_EMPTY && token == '-') ||
	    length == LIMIT_LABEL)
		return NO_STATE;
	kind = label_kind(kind, token);
	if (token == '-')
		kind |= LABEL_HYPHEN;
	return kind | (s->measured ? (length + 1) << LABEL_COUNT_SHIFT : 0);
}

/* A path is read segment by segment, and "%2F" begins a piece of one. */
enum {
	PATH_START,
	PATH_SLASH, /* behind a slash */
	PATH_PIECE, /* behind "%2F" */
	PATH_DOT,
	PATH_DOTS,
	PATH_OTHER
};

static bool
is_path_token(uint16_t token)
{
	uint16_t byte = token & 0xff;

	if ((token & PATHMATCH_ENCODED) != 0)
		return byte == '/' || byte == '?' || byte == '#' ||
		       byte == '%' ||
		       (byte >= 0x80 && byte != 0xc0 && byte != 0xc1);
	return byte >= ' ' && byte < 0x7f && strchr("\\#?%", byte) == NULL;
}

static uint32_t
step_path(uint32_t grammar, uint16_t token)
{
	bool dots = grammar == PATH_DOT || grammar == PATH_DOTS;
	bool ends =
	    token == '/' || token == ';' || token == (PATHMATCH_ENCODED | '/');

	if (!is_path_token(token) || (dots && ends))
		return NO_STATE;
	if (grammar == PATH_START)
		return token == '/' ? PATH_SLASH : NO_STATE;
	if (token == '/')
		return grammar == PATH_SLASH ? NO_STATE : PATH_SLASH;
	if (token == (PATHMATCH_ENCODED | '/'))
		return PATH_PIECE;
	if (token != '.')
		return PATH_OTHER;
	if (grammar == PATH_SLASH || grammar == PATH_PIECE)
		return PATH_DOT;
	return grammar == PATH_DOT ? PATH_DOTS : PATH_OTHER;
}

static uint32_t
step_grammar(const struct search *s, uint32_t grammar, uint16_t token)
{
	switch (s->words) {
	case AUTOMATON_NAMES:
		return step_name(s, grammar, token);
	case AUTOMATON_PATHS:
		return step_path(grammar, token);
	case AUTOMATON_TEXTS:
		break;
	}
	return token > 0 && token <= 0xff ? 0 : NO_STATE;
}

static bool
is_word(const struct search *s, uint32_t grammar)
{
	switch (s->words) {
	case AUTOMATON_NAMES:
		/* Not even a label that ends in "-" is all digits. */
		return (grammar & ((2U << LABEL_BITS) - 1)) == LABEL_NAME;
	case AUTOMATON_PATHS:
		return grammar == PATH_SLASH || grammar == PATH_PIECE ||
		       grammar == PATH_OTHER;
	case AUTOMATON_TEXTS:
		break;
	}
	return true;
}

/* ---- the patterns ---- */

static size_t
host_tokens(const struct hostmatch *host)
{
	/* "*." may stand before the text, and an end behind it. */
	return (size_t)host->length + 3;
}

static size_t
count_places(const struct automaton_list *lists, size_t count)
{
	size_t places = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < lists[i].count; k++)
			places += lists[i].hosts != NULL
				      ? host_tokens(&lists[i].hosts[k])
				      : lists[i].paths[k].length + 1;
	return places;
}

static void
put_place(struct search *s, size_t list, unsigned token)
{
	s->places[s->place_count++] = (struct place){ .token = (uint16_t)token,
		.list = (uint16_t)list,
		.accepts = token == TOKEN_END };
}

/* A name's first label is never empty, so "*." needs no other token. */
static void
put_host(struct search *s, size_t list, const struct hostmatch *host)
{
	if (host->kind == HOSTMATCH_SUFFIX) {
		put_place(s, list, PATHMATCH_STARS);
		if (host->length > 0)
			put_place(s, list, '.');
	}
	for (size_t i = 0; i < host->length; i++)
		put_place(s, list,
		    host->text[i] == '*' ? (unsigned)PATHMATCH_STAR
					 : (unsigned char)host->text[i]);
	put_place(s, list, TOKEN_END);
}

static void
put_path(struct search *s, size_t list, const struct pathmatch *path)
{
	size_t first = s->place_count;

	for (size_t i = 0; i < path->length; i++)
		put_place(s, list, path->tokens[i]);
	put_place(s, list, TOKEN_END);
	if (path->parent)
		s->places[first + path->length - 2].accepts = true;
}

static void
put_patterns(struct search *s)
{
	for (size_t i = 0; i < s->list_count; i++) {
		const struct automaton_list *list = &s->lists[i];

		for (size_t k = 0; k < list->count; k++)
			if (list->hosts != NULL)
				put_host(s, i, &list->hosts[k]);
			else
				put_path(s, i, &list->paths[k]);
	}
	for (size_t i = 0; i + 1 < s->place_count; i++)
		s->places[i].stays = s->places[i].token == PATHMATCH_STARS &&
				     s->places[i + 1].token == TOKEN_END;
}

/* The first of some letters that no pattern names, if there is one. */
static void
add_stand_in(struct search *s, bool *used, const char *letters)
{
	for (; *letters != '\0'; letters++) {
		unsigned char letter = (unsigned char)*letters;

		if (used[letter])
			continue;
		used[letter] = true;
		s->letters[s->letter_count++] = letter;
		return;
	}
}

static void
add_letter(struct search *s, bool *used, uint16_t letter)
{
	if (used[letter])
		return;
	used[letter] = true;
	s->letters[s->letter_count++] = letter;
}

/* Letters that no pattern and no grammar tells apart have one stand-in. */
static void
choose_letters(struct search *s)
{
	bool used[TOKENS] = { false }, named[TOKENS] = { false };

	for (size_t i = 0; i < s->place_count; i++)
		if (s->places[i].token < TOKENS)
			named[s->places[i].token] = true;
	memcpy(used, named, sizeof(used));
	switch (s->words) {
	case AUTOMATON_NAMES:
		add_stand_in(s, used, "wvutsrqponmlkjihgzy_");
		add_stand_in(s, used, "abcdef");
		add_stand_in(s, used, "123456789");
		for (const char *c = "0x-."; *c != '\0'; c++)
			add_letter(s, used, (unsigned char)*c);
		break;
	case AUTOMATON_PATHS:
		add_letter(s, used, '/');
		add_stand_in(s, used,
		    "xyzabcdefghijklmnopqrstuvwABCDEFGHIJKLMNOPQRSTUVWXYZ"
		    "0123456789-_~!$&'()*+,=:@\"<>[]^`{|}");
		for (const char *c = ".;"; *c != '\0'; c++)
			add_letter(s, used, (unsigned char)*c);
		add_letter(s, used, PATHMATCH_ENCODED | '/');
		break;
	case AUTOMATON_TEXTS:
		for (unsigned byte = 'a';
		     s->letter_count == 0 && byte != 'a' - 1;
		     byte = byte % 255 + 1)
			if (!used[byte])
				add_letter(s, used, (uint16_t)byte);
		break;
	}
	for (unsigned i = 0; i < TOKENS; i++)
		if (named[i])
			s->letters[s->letter_count++] = (uint16_t)i;
}

/* ---- the walk ---- */

/* Puts a place, and those that its wildcards lead to without a letter. */
static void
reach(struct search *s, size_t at)
{
	size_t room = LIMIT_AUTOMATON_PLACES;

	while (s->seen[at] != s->turn) {
		s->seen[at] = s->turn;
		if (s->pool_used == room)
			return;
		s->pool[s->pool_used++] = (uint32_t)at;
		if (s->places[at].token < PATHMATCH_STAR ||
		    s->places[at].token == TOKEN_END)
			return;
		at++;
	}
}

static void
step_place(struct search *s, size_t at, uint16_t token)
{
	uint16_t own = s->places[at].token;
	uint16_t fence = s->words == AUTOMATON_NAMES ? '.' : '/';

	if (own == PATHMATCH_STARS || (own == PATHMATCH_STAR && token != fence))
		reach(s, at);
	else if (own == token)
		reach(s, at + 1);
}

static uint64_t
hash_state(const struct search *s, const struct state *state)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ state->grammar;

	for (size_t i = 0; i < state->count; i++)
		hash = (hash ^ s->pool[state->first + i]) *
		       UINT64_C(0x100000001b3);
	return hash ^ hash >> 29;
}

static bool
is_same(const struct search *s, const struct state *a, const struct state *b)
{
	return a->grammar == b->grammar && a->count == b->count &&
	       memcmp(s->pool + a->first, s->pool + b->first,
		   a->count * sizeof(*s->pool)) == 0;
}

/* What one list says of a state. */
struct standing {
	bool alive, accepts, stays;
};

/* *ret_accepts: whether a word may end here.  False: none ever can. */
static bool
is_hopeful(const struct search *s, const struct state *state, bool *ret_accepts)
{
	struct standing lists[LIMIT_REGION_CONDITIONS] = { 0 };
	bool accepts = is_word(s, state->grammar);

	for (size_t i = 0; i < state->count; i++) {
		const struct place *place =
		    &s->places[s->pool[state->first + i]];

		lists[place->list].alive = true;
		lists[place->list].accepts |= place->accepts;
		lists[place->list].stays |= place->stays;
	}
	for (size_t i = 0; i < s->list_count; i++) {
		bool negated = s->lists[i].negated;

		if (negated ? lists[i].stays : !lists[i].alive)
			return false;
		accepts = accepts && lists[i].accepts != negated;
	}
	*ret_accepts = accepts;
	return true;
}

/*
 * Keeps the state whose places stand last in the pool, if it is a new one.
 * STATUS_OK when it ends a word, STATUS_AGAIN when not, STATUS_FULL.
 */
static int
keep(struct search *s, struct state state)
{
	bool accepts = false;
	uint64_t slot;

	state.count = (uint32_t)(s->pool_used - state.first);
	if (s->pool_used == LIMIT_AUTOMATON_PLACES)
		return STATUS_FULL;
	if (!is_hopeful(s, &state, &accepts)) {
		s->pool_used = state.first;
		return STATUS_AGAIN;
	}
	slot = hash_state(s, &state) % SLOTS;
	while (s->slots[slot] != 0) {
		if (is_same(s, &state, &s->states[s->slots[slot] - 1])) {
			s->pool_used = state.first;
			return STATUS_AGAIN;
		}
		slot = (slot + 1) % SLOTS;
	}
	if (s->state_count == LIMIT_AUTOMATON_STATES)
		return STATUS_FULL;
	s->states[s->state_count++] = state;
	s->slots[slot] = (uint32_t)s->state_count;
	return accepts ? STATUS_OK : STATUS_AGAIN;
}

static int
step(struct search *s, uint32_t from, uint16_t token)
{
	const struct state *old = &s->states[from];
	struct state state = { .first = s->pool_used,
		.grammar = step_grammar(s, old->grammar, token),
		.from = from,
		.token = token };

	if (state.grammar == NO_STATE)
		return STATUS_AGAIN;
	s->turn++;
	for (size_t i = 0; i < old->count; i++)
		step_place(s, s->pool[old->first + i], token);
	return keep(s, state);
}

static int
begin(struct search *s)
{
	struct state state = { .from = NO_STATE };

	s->turn++;
	for (size_t i = 0; i < s->place_count; i++)
		if (i == 0 || s->places[i - 1].token == TOKEN_END)
			reach(s, i);
	return keep(s, state);
}

/* All states in the order of their words' lengths, until one ends a word. */
static int
walk(struct search *s)
{
	int status = begin(s);

	for (uint32_t at = 0; status == STATUS_AGAIN && at < s->state_count;
	     at++)
		for (size_t i = 0;
		     status == STATUS_AGAIN && i < s->letter_count; i++)
			status = step(s, at, s->letters[i]);
	return status == STATUS_AGAIN ? STATUS_NOT_FOUND : status;
}

static void
put_token(struct cursor_writer *out, bool path, uint16_t token)
{
	static const char digits[] = "0123456789ABCDEF";
	uint8_t byte = (uint8_t)token;

	if (!path || ((token & PATHMATCH_ENCODED) == 0 && byte > ' ')) {
		cursor_put_u8(out, byte);
		return;
	}
	cursor_put_u8(out, '%');
	cursor_put_u8(out, (uint8_t)digits[byte >> 4]);
	cursor_put_u8(out, (uint8_t)digits[byte & 15]);
}

/* The word that ends in the last state; a longer one than there may be is
 * none. */
static int
spell(struct search *s, struct automaton_word *ret)
{
	size_t most = s->words == AUTOMATON_NAMES ? LIMIT_HOST : LIMIT_HTTP_URI;
	struct cursor_writer out = cursor_writer_of(ret->text, most);
	uint32_t at = (uint32_t)s->state_count - 1, behind = NO_STATE;

	/* Turned round on the way back, to be read on the way forth. */
	while (at != NO_STATE) {
		uint32_t before = s->states[at].from;

		s->states[at].from = behind;
		behind = at;
		at = before;
	}
	for (at = s->states[behind].from; at != NO_STATE;
	     at = s->states[at].from)
		put_token(
		    &out, s->words == AUTOMATON_PATHS, s->states[at].token);
	if (!cursor_written(&out))
		return STATUS_NOT_FOUND;
	ret->length = out.used;
	ret->text[out.used] = '\0';
	return STATUS_OK;
}

static bool
has_long_label(const struct automaton_word *word)
{
	struct hostname name;

	return hostname_parse(word->text, word->length, &name) != STATUS_OK;
}

static int
find_word(struct search *s, struct automaton_word *ret)
{
	int status = walk(s);

	return status == STATUS_OK ? spell(s, ret) : status;
}

static void
restart(struct search *s)
{
	memset(s->slots, 0, SLOTS * sizeof(*s->slots));
	s->state_count = 0;
	s->pool_used = 0;
	s->measured = true;
}

static void
search_done(struct search *s)
{
	free(s->places);
	free(s->states);
	free(s->pool);
	free(s->slots);
	free(s->seen);
}

static bool
search_init(struct search *s)
{
	size_t places = count_places(s->lists, s->list_count) + 1;

	s->places = calloc(places, sizeof(*s->places));
	s->seen = calloc(places, sizeof(*s->seen));
	s->states = calloc(LIMIT_AUTOMATON_STATES, sizeof(*s->states));
	s->pool = calloc(LIMIT_AUTOMATON_PLACES, sizeof(*s->pool));
	s->slots = calloc(SLOTS, sizeof(*s->slots));
	if (s->places == NULL || s->seen == NULL || s->states == NULL ||
	    s->pool == NULL || s->slots == NULL)
		return false;
	put_patterns(s);
	choose_letters(s);
	return true;
}

int
automaton_find(enum automaton_words words, const struct automaton_list *lists,
    size_t count, struct automaton_word *ret)
{
	struct search s = {
		.words = words, .lists = lists, .list_count = count
	};
	struct automaton_word word;
	int status = STATUS_NO_MEMORY;

	assert(count <= LIMIT_REGION_CONDITIONS);
	if (search_init(&s))
		status = find_word(&s, &word);
	/* Only a label too long can make it no name. */
	if (status == STATUS_OK && words == AUTOMATON_NAMES &&
	    has_long_label(&word)) {
		restart(&s);
		status = find_word(&s, &word);
	}
	if (status == STATUS_OK) {
		ret->length = word.length;
		memcpy(ret->text, word.text, word.length + 1);
	}
	search_done(&s);
	return status;
}
