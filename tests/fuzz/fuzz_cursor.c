/*
 * cursor: a read that fails leaves the cursor and its output alone, one that
 * works moves it by what it read.  Each first byte picks a read.
 */
#include "schema/cursor.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

struct output {
	uint64_t number;
	struct cursor part;
	char text[16];
};

/* Whether it worked. */
static bool
read_one(unsigned which, struct cursor *c, struct output *out)
{
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;

	switch (which) {
	case 0:
		return cursor_u8(c, &u8);
	case 1:
		return cursor_u16(c, &u16);
	case 2:
		return cursor_u24(c, &u32);
	case 3:
		return cursor_u32(c, &u32);
	case 4:
		return cursor_u64(c, &out->number);
	case 5:
		return cursor_skip(c, 5);
	case 6:
		return cursor_take(c, 6, &out->part);
	case 7:
		return cursor_until(c, ':', &out->part);
	case 8:
		return cursor_copy(c, 8, out->text);
	case 9:
		return cursor_literal(c, "literal");
	case 10:
		return cursor_decimal(c, 1000, &out->number);
	case 11:
		return cursor_hex(c, UINT64_MAX, &out->number);
	case 12:
		return cursor_block(c, &out->part);
	default:
		return cursor_string(c, out->text, sizeof(out->text));
	}
}

static void
check_failure(struct cursor before, struct cursor after, const struct output *a,
    const struct output *b)
{
	assert(after.at == before.at && after.left == before.left);
	assert(a->number == b->number);
	assert(a->part.at == b->part.at && a->part.left == b->part.left);
	assert(memcmp(a->text, b->text, sizeof(a->text)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const struct output untouched = { .number = 77, .text = "untouched" };
	struct cursor c = cursor_of(bytes, length);
	uint8_t which;

	while (cursor_u8(&c, &which)) {
		struct output out = untouched;
		struct cursor before = c;

		if (!read_one(which % 14, &c, &out))
			check_failure(before, c, &out, &untouched);
		assert(
		    c.left <= before.left && c.at + c.left == bytes + length);
	}
	return 0;
}
