/*
 * http1_body_read: the payload, the end and the verdict of a chunked body are
 * the same whether it comes whole or in pieces.  The first byte says how
 * large the pieces are.
 */
#include "gateway/proto/http1_body.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

#define ROOM (1 << 17)

struct outcome {
	unsigned char payload[ROOM];
	size_t length, used;
	enum parse_result result;
};

static struct outcome whole, pieces;

static void
read_in_pieces(struct cursor bytes, size_t piece, struct outcome *outcome)
{
	struct message_body chunked = { .framing = MESSAGE_CHUNKED };
	struct http1_body body = http1_body_of(chunked);
	struct cursor_writer out =
	    cursor_writer_of(outcome->payload, sizeof(outcome->payload));
	struct cursor rest, slice;
	size_t end = 0;

	outcome->used = 0;
	do {
		end = bytes.left - end < piece ? bytes.left : end + piece;
		rest = cursor_of(bytes.at + outcome->used, end - outcome->used);
		do {
			slice.left = 0;
			outcome->result =
			    http1_body_read(&body, &rest, &slice, NULL);
			cursor_put(&out, slice.at, slice.left);
		} while (outcome->result == PARSE_MORE && slice.left > 0);
		outcome->used = end - rest.left;
	} while (outcome->result == PARSE_MORE && end < bytes.left);
	assert(cursor_written(&out));
	assert(http1_body_may_end(&body) == (outcome->result == PARSE_OK));
	outcome->length = out.used;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cursor rest = cursor_of(bytes, length);
	uint8_t piece;

	if (!cursor_u8(&rest, &piece) || length > ROOM)
		return 0;
	read_in_pieces(rest, ROOM, &whole);
	read_in_pieces(rest, piece + 1U, &pieces);
	assert(whole.result == pieces.result);
	assert(whole.length == pieces.length &&
	       memcmp(whole.payload, pieces.payload, whole.length) == 0);
	if (whole.result == PARSE_OK)
		assert(whole.used == pieces.used);
	return 0;
}
