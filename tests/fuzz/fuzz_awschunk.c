/*
 * awschunk: how a body is cut makes no difference to what is read, but for
 * the slices of a chunk; the bytes of a chunk are as many as its line says.
 */
#include "gateway/proto/awschunk.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdbool.h>

struct tally {
	size_t lines, trailers;
	uint64_t bytes, promised;
	bool bad, over;
};

static struct tally
read_all(const uint8_t *bytes, size_t length, size_t piece)
{
	struct awschunk chunk = { .left = 0 };
	struct tally tally = { .lines = 0 };
	struct cursor in = cursor_of(bytes, 0);
	size_t given = 0;

	while (!tally.bad) {
		struct awschunk_part part;

		switch (awschunk_step(&chunk, &in, &part)) {
		case AWSCHUNK_BAD:
			tally.bad = true;
			break;
		case AWSCHUNK_LINE:
			tally.lines++;
			tally.promised += part.size;
			break;
		case AWSCHUNK_DATA:
			tally.bytes += part.bytes.left;
			break;
		case AWSCHUNK_DATA_END:
			assert(tally.bytes == tally.promised);
			break;
		case AWSCHUNK_TRAILER:
			tally.trailers++;
			break;
		case AWSCHUNK_END:
			tally.over = true;
			break;
		case AWSCHUNK_MORE:
			if (given == length)
				return tally;
			if (length - given < piece)
				piece = length - given;
			in.left += piece;
			given += piece;
			break;
		}
	}
	return tally;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct tally whole = read_all(bytes, length, length);
	struct tally cut = read_all(bytes, length, 1);

	assert(whole.bad == cut.bad && whole.over == cut.over);
	assert(whole.lines == cut.lines && whole.trailers == cut.trailers);
	assert(whole.bytes == cut.bytes && whole.promised == cut.promised);
	return 0;
}
