/*
 * cursor: a read that fails leaves the cursor and its output alone, one that
 * works moves it by what it read.  Each first byte picks a read.
 */
#include "schema/cursor.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

union output {
	uint64_t number;
	struct cursor part;
	char text[16];
};

/* Whether it worked. */
static bool
read_one(unsigned which, struct cursor *c, union output *out)
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

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cursor c = cursor_of(bytes, length);
	uint8_t which;

	while (cursor_u8(&c, &which)) {
		struct cursor before = c;
		union output out = { .text = "untouched" }, same = out;

		if (read_one(which % 14, &c, &out)) {
			assert(c.left <= before.left);
			assert(c.at + c.left == bytes + length);
			continue;
		}
		assert(c.at == before.at && c.left == before.left);
		assert(memcmp(&out, &same, sizeof(out)) == 0);
	}
	return 0;
}
