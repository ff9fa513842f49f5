#include "gateway/proto/needle.h"

#include "schema/limits.h"

#include <stdlib.h>
#include <string.h>

/*
 * The automaton of Aho and Corasick: a trie of all patterns, where each node
 * knows the longest other node that ends as it does.  A step that finds no
 * child goes there; each byte adds one to the depth and each such step takes
 * at least one off it, so all of them together are no more than the bytes.
 */
struct node {
	uint32_t child, sibling; /* 0: none; nobody is the root's parent */
	uint32_t back;
	uint32_t hit; /* itself or the nearest behind it that ends one, or 0 */
	uint32_t depth;
	uint16_t pattern; /* that ends here, from 1; 0: none */
	uint8_t byte;
};

struct pattern {
	size_t which, length;
	bool plain;
};

struct needles {
	bool fold;
	struct node *nodes;
	size_t node_count, node_room;
	struct pattern *patterns;
	size_t pattern_count, pattern_room;
	size_t longest;
	uint32_t first[256]; /* children of the root */
};

enum {
	FORMS = 7 /* as it is, and base64 thrice in two alphabets */
};

/* ---- building ---- */

static uint8_t
folded(const struct needles *needles, uint8_t byte)
{
	if (needles->fold && byte >= 'A' && byte <= 'Z')
		return (uint8_t)(byte + ('a' - 'A'));
	return byte;
}

static uint32_t
child_of(const struct needles *needles, uint32_t node, uint8_t byte)
{
	uint32_t child;

	if (node == 0)
		return needles->first[byte];
	child = needles->nodes[node].child;
	while (child != 0 && needles->nodes[child].byte != byte)
		child = needles->nodes[child].sibling;
	return child;
}

static uint32_t
add_child(struct needles *needles, uint32_t node, uint8_t byte)
{
	uint32_t child = (uint32_t)needles->node_count++;
	struct node *nodes = needles->nodes;

	nodes[child].byte = byte;
	nodes[child].depth = nodes[node].depth + 1;
	nodes[child].sibling = nodes[node].child;
	nodes[node].child = child;
	if (node == 0)
		needles->first[byte] = child;
	return child;
}

/* A pattern that is there already stays what it was first. */
static void
add_pattern(
    struct needles *needles, struct cursor text, size_t which, bool plain)
{
	uint32_t node = 0, child;
	struct pattern *pattern;
	uint8_t byte;

	if (text.left < LIMIT_NEEDLE_LEAST)
		return;
	for (size_t i = 0; i < text.left; i++) {
		byte = folded(needles, text.at[i]);
		child = child_of(needles, node, byte);
		node = child != 0 ? child : add_child(needles, node, byte);
	}
	if (needles->nodes[node].pattern != 0)
		return;
	pattern = &needles->patterns[needles->pattern_count++];
	*pattern = (struct pattern){
		.which = which, .length = text.left, .plain = plain
	};
	needles->nodes[node].pattern = (uint16_t)needles->pattern_count;
	if (text.left > needles->longest)
		needles->longest = text.left;
}

/*
 * The digits of base64 that text alone decides when skip bytes of something
 * else stand before it in its group.
 */
static size_t
encode(struct cursor text, size_t skip, bool url, unsigned char *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz"
				     "0123456789";
	size_t count = 0, first = (skip * 8 + 5) / 6;
	size_t last = (skip + text.left) * 8 / 6;

	for (size_t digit = first; digit < last; digit++) {
		unsigned value = 0;

		for (size_t bit = digit * 6; bit < digit * 6 + 6; bit++) {
			size_t place = bit - skip * 8;

			value = value << 1 | ((unsigned)text.at[place / 8] >>
						     (7 - place % 8) &
						 1U);
		}
		if (value < 62)
			out[count++] = (unsigned char)digits[value];
		else if (value == 62)
			out[count++] = url ? '-' : '+';
		else
			out[count++] = url ? '_' : '/';
	}
	return count;
}

static void
add_forms(struct needles *needles, struct cursor text, size_t which)
{
	unsigned char encoded[LIMIT_NEEDLE * 2];

	add_pattern(needles, text, which, true);
	for (size_t skip = 0; skip < 3; skip++) {
		for (int url = 0; url < 2; url++) {
			size_t length = encode(text, skip, url == 1, encoded);

			add_pattern(
			    needles, cursor_of(encoded, length), which, false);
		}
	}
	explicit_bzero(encoded, sizeof(encoded));
}

static uint32_t
step(const struct needles *needles, uint32_t node, uint8_t byte)
{
	uint32_t child = child_of(needles, node, byte);

	while (child == 0 && node != 0) {
		node = needles->nodes[node].back;
		child = child_of(needles, node, byte);
	}
	return child;
}

static void
link_child(struct needles *needles, uint32_t parent, uint32_t child)
{
	struct node *nodes = needles->nodes;
	uint32_t back = 0;

	if (parent != 0)
		back = step(needles, nodes[parent].back, nodes[child].byte);
	nodes[child].back = back;
	nodes[child].hit = nodes[child].pattern != 0 ? child : nodes[back].hit;
}

/* Breadth first, so that what a node goes back to is linked before it. */
static bool
link_nodes(struct needles *needles)
{
	uint32_t *queue = calloc(needles->node_count, sizeof(*queue));
	size_t head = 0, tail = 1;

	if (queue == NULL)
		return false;
	while (head < tail) {
		uint32_t node = queue[head++];
		uint32_t child = needles->nodes[node].child;

		for (; child != 0; child = needles->nodes[child].sibling) {
			link_child(needles, node, child);
			queue[tail++] = child;
		}
	}
	free(queue);
	return true;
}

static bool
make_room(struct needles *needles, const struct cursor *list, size_t count)
{
	size_t bytes = 0;

	if (count == 0 || count > LIMIT_NEEDLES)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (list[i].left < LIMIT_NEEDLE_LEAST ||
		    list[i].left > LIMIT_NEEDLE)
			return false;
		bytes += list[i].left;
	}
	/* Base64 is longer by a third; twice is more than enough. */
	needles->node_room = 1 + bytes * 2 * FORMS;
	needles->nodes = calloc(needles->node_room, sizeof(struct node));
	needles->pattern_room = count * FORMS;
	needles->patterns =
	    calloc(needles->pattern_room, sizeof(struct pattern));
	needles->node_count = 1;
	return needles->nodes != NULL && needles->patterns != NULL;
}

struct needles *
needles_new(const struct cursor *list, size_t count, bool fold)
{
	struct needles *needles = calloc(1, sizeof(*needles));

	if (needles == NULL)
		return NULL;
	needles->fold = fold;
	if (!make_room(needles, list, count)) {
		needles_free(needles);
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		add_forms(needles, list[i], i);
	if (!link_nodes(needles)) {
		needles_free(needles);
		return NULL;
	}
	return needles;
}

void
needles_free(struct needles *needles)
{
	if (needles == NULL)
		return;
	if (needles->nodes != NULL)
		explicit_bzero(
		    needles->nodes, needles->node_room * sizeof(struct node));
	free(needles->nodes);
	free(needles->patterns);
	free(needles);
}

/* ---- searching ---- */

enum reading {
	READING_AS_IS,
	READING_PERCENT,
	READING_JSON,
	READING_COUNT
};

/* The stream as one reader sees it: where it is, and what it waits for. */
struct lane {
	uint32_t node;
	uint64_t at; /* bytes of the stream behind what was read */
	/* An escape that has begun, "%4" or "\u00". */
	uint8_t pending[6];
	size_t pending_count;
	/* How many bytes each of the last things read took; a ring. */
	uint8_t *taken;
	size_t place;
};

struct needle {
	const struct needles *needles;
	struct lane lanes[READING_COUNT];
	uint64_t offset; /* bytes taken */
	uint64_t floor; /* the end of the last hit */
	struct needle_hit hit; /* the best of this byte */
	bool has_hit;
};

struct needle *
needle_new(const struct needles *needles)
{
	struct needle *needle = calloc(1, sizeof(*needle));

	if (needle == NULL)
		return NULL;
	needle->needles = needles;
	for (int i = READING_PERCENT; i < READING_COUNT; i++) {
		needle->lanes[i].taken = calloc(needles->longest, 1);
		if (needle->lanes[i].taken == NULL) {
			needle_free(needle);
			return NULL;
		}
	}
	return needle;
}

void
needle_free(struct needle *needle)
{
	if (needle == NULL)
		return;
	for (int i = READING_PERCENT; i < READING_COUNT; i++)
		free(needle->lanes[i].taken);
	free(needle);
}

void
needle_reset(struct needle *needle)
{
	for (int i = 0; i < READING_COUNT; i++) {
		struct lane *lane = &needle->lanes[i];

		lane->node = 0;
		lane->at = 0;
		lane->pending_count = 0;
		lane->place = 0;
	}
	needle->offset = 0;
	needle->floor = 0;
	needle->has_hit = false;
}

/* How many bytes of the stream the last count things read were. */
static uint64_t
taken_by(const struct needle *needle, const struct lane *lane, size_t count)
{
	size_t longest = needle->needles->longest, place = lane->place;
	uint64_t sum = 0;

	if (lane->taken == NULL)
		return count;
	for (size_t i = 0; i < count; i++) {
		place = place == 0 ? longest - 1 : place - 1;
		sum += lane->taken[place];
	}
	return sum;
}

static void
note_hit(struct needle *needle, struct lane *lane, uint32_t node)
{
	const struct needles *needles = needle->needles;
	const struct pattern *pattern =
	    &needles->patterns[needles->nodes[node].pattern - 1];
	uint64_t length = taken_by(needle, lane, pattern->length);
	uint64_t begin = lane->at - length;

	lane->node = 0;
	if (begin < needle->floor ||
	    (needle->has_hit && needle->hit.begin <= begin))
		return;
	needle->has_hit = true;
	needle->hit = (struct needle_hit){ .which = pattern->which,
		.plain = pattern->plain && length == pattern->length,
		.begin = begin,
		.end = lane->at };
}

/* The lane has read one thing, byte, from taken bytes of the stream. */
static void
read_one(struct needle *needle, struct lane *lane, uint8_t byte, uint8_t taken)
{
	const struct needles *needles = needle->needles;
	uint32_t hit;

	lane->at += taken;
	if (lane->taken != NULL) {
		lane->taken[lane->place] = taken;
		lane->place = (lane->place + 1) % needles->longest;
	}
	lane->node = step(needles, lane->node, folded(needles, byte));
	hit = needles->nodes[lane->node].hit;
	if (hit != 0)
		note_hit(needle, lane, hit);
}

/* What looked like an escape is none: its bytes are what they are. */
static void
give_up(struct needle *needle, struct lane *lane)
{
	size_t count = lane->pending_count;

	lane->pending_count = 0;
	for (size_t i = 0; i < count; i++)
		read_one(needle, lane, lane->pending[i], 1);
}

static void
finish_escape(struct needle *needle, struct lane *lane, uint8_t byte)
{
	uint8_t taken = (uint8_t)(lane->pending_count + 1);

	lane->pending_count = 0;
	read_one(needle, lane, byte, taken);
}

static bool
is_hex(uint8_t byte)
{
	return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') ||
	       (byte >= 'A' && byte <= 'F');
}

static unsigned
hex_value(uint8_t byte)
{
	if (byte <= '9')
		return byte - (unsigned)'0';
	return (byte | 0x20u) - 'a' + 10;
}

static void
read_percent(struct needle *needle, struct lane *lane, uint8_t byte)
{
	if (lane->pending_count > 0 && !is_hex(byte))
		give_up(needle, lane);
	if (lane->pending_count == 2) {
		finish_escape(needle, lane,
		    (uint8_t)(hex_value(lane->pending[1]) << 4 |
			      hex_value(byte)));
		return;
	}
	if (lane->pending_count > 0 || byte == '%')
		lane->pending[lane->pending_count++] = byte;
	else
		read_one(needle, lane, byte, 1);
}

/* RFC 8259 section 7; 0 for what is no escape. */
static uint8_t
unescaped(uint8_t byte)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found = byte == 0 ? NULL : strchr(from, byte);

	return found == NULL ? 0 : (uint8_t)to[found - from];
}

/* Inside "\u": three digits are there and this is the fourth. */
static void
finish_unicode(struct needle *needle, struct lane *lane, uint8_t byte)
{
	unsigned high =
	    hex_value(lane->pending[2]) << 4 | hex_value(lane->pending[3]);
	unsigned low = hex_value(lane->pending[4]) << 4 | hex_value(byte);

	/* What is beyond Latin-1 is in nothing that we look for. */
	finish_escape(needle, lane, high == 0 ? (uint8_t)low : 0);
}

static void
read_json(struct needle *needle, struct lane *lane, uint8_t byte)
{
	size_t count = lane->pending_count;

	if ((count == 1 && byte != 'u' && unescaped(byte) == 0) ||
	    (count > 1 && !is_hex(byte)))
		give_up(needle, lane);
	count = lane->pending_count;
	if (count == 5)
		finish_unicode(needle, lane, byte);
	else if (count == 1 && byte != 'u')
		finish_escape(needle, lane, unescaped(byte));
	else if (count > 0 || byte == '\\')
		lane->pending[lane->pending_count++] = byte;
	else
		read_one(needle, lane, byte, 1);
}

bool
needle_find(struct needle *needle, struct cursor *in, struct needle_hit *ret)
{
	uint8_t byte;

	while (cursor_u8(in, &byte)) {
		needle->offset++;
		read_one(needle, &needle->lanes[READING_AS_IS], byte, 1);
		read_percent(needle, &needle->lanes[READING_PERCENT], byte);
		read_json(needle, &needle->lanes[READING_JSON], byte);
		if (needle->has_hit) {
			needle->has_hit = false;
			needle->floor = needle->hit.end;
			*ret = needle->hit;
			return true;
		}
	}
	return false;
}

size_t
needle_held(const struct needle *needle)
{
	const struct node *nodes = needle->needles->nodes;
	uint64_t most = 0;

	for (int i = 0; i < READING_COUNT; i++) {
		const struct lane *lane = &needle->lanes[i];
		uint64_t held = lane->pending_count +
				taken_by(needle, lane, nodes[lane->node].depth);

		if (held > most)
			most = held;
	}
	if (most > needle->offset - needle->floor)
		most = needle->offset - needle->floor;
	return (size_t)most;
}

bool
needle_is_in(struct needle *needle, struct cursor text, struct needle_hit *ret)
{
	bool found;

	needle_reset(needle);
	found = needle_find(needle, &text, ret);
	needle_reset(needle);
	return found;
}
