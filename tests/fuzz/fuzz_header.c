/*
 * header: whatever is added, each written line is one field, and lists end.
 * The input is names and values, each ended by a line feed in turn.
 */
#include "gateway/proto/header.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>

static unsigned char written[1 << 20];

static void
check_lines(const struct header *header)
{
	struct cursor_writer out = cursor_writer_of(written, sizeof(written));
	struct cursor rest, line;
	size_t lines = 0;

	header_write(header, &out);
	if (!cursor_written(&out))
		return;
	rest = cursor_of(written, out.used);
	while (cursor_until(&rest, '\n', &line)) {
		assert(line.left > 0 && line.at[line.left - 1] == '\r');
		line.left--;
		assert(header_is_value(line));
		lines++;
	}
	assert(cursor_is_empty(&rest) && lines == header->count);
}

/* Adds one field, and gives how many members its value has as a list. */
static size_t
add_field(struct header *header, struct cursor name, struct cursor value)
{
	struct cursor member;
	size_t members = 0;
	bool added = header_add(header, name, value) == STATUS_OK;

	assert(!added ||
	       header_same(header->fields[header->count - 1].name, name));
	for (; header_member(&value, &member); members++)
		assert(!cursor_is_empty(&member));
	return members;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cursor rest = cursor_of(bytes, length), name, value;
	struct header header = { .count = 0 };
	size_t members = 0;

	while (cursor_until(&rest, '\n', &name) &&
	       cursor_until(&rest, '\n', &value))
		members += add_field(&header, name, value);
	assert(members <= length);
	check_lines(&header);
	if (header_set(&header, "x", cursor_of_text("y")) == STATUS_OK)
		assert(header_count(&header, "X") == 1);
	check_lines(&header);
	(void)header_drop(&header, "x");
	assert(header_count(&header, "X") == 0);
	check_lines(&header);
	return 0;
}
