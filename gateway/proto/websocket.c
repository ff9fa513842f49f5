#include "gateway/proto/websocket.h"

enum {
	HEAD_LEAST = 2,
	OPCODE_CONTROL = 0x08,
	MASKED = 0x80,
	LENGTH_16 = 126,
	LENGTH_64 = 127,
	MASK_BYTES = 4
};

static size_t
length_bytes(const struct websocket *websocket)
{
	unsigned code = websocket->head[1] & 0x7f;

	if (code == LENGTH_16)
		return 2;
	return code == LENGTH_64 ? 8 : 0;
}

/* How long this head is, as far as can be told. */
static size_t
head_length(const struct websocket *websocket)
{
	if (websocket->head_length < HEAD_LEAST)
		return HEAD_LEAST;
	return HEAD_LEAST + length_bytes(websocket) +
	       ((websocket->head[1] & MASKED) != 0 ? MASK_BYTES : 0);
}

static void
begin_payload(struct websocket *websocket)
{
	size_t bytes = length_bytes(websocket);
	uint64_t length = bytes == 0 ? websocket->head[1] & 0x7fu : 0;

	for (size_t i = 0; i < bytes; i++)
		length = length << 8 | websocket->head[HEAD_LEAST + i];
	websocket->left = length;
	websocket->in_payload = length > 0;
	websocket->phase = 0;
	if (length == 0)
		websocket->head_length = 0;
}

static void
take_head(struct websocket *websocket, struct cursor *in)
{
	uint8_t byte;

	while (!websocket->in_payload && cursor_u8(in, &byte)) {
		websocket->head[websocket->head_length++] = byte;
		if (websocket->head_length >= HEAD_LEAST &&
		    websocket->head_length == head_length(websocket))
			begin_payload(websocket);
	}
}

/* The payload's next byte as its reader will see it. */
static uint8_t
unmask(struct websocket *websocket, uint8_t byte)
{
	const uint8_t *mask =
	    websocket->head + HEAD_LEAST + length_bytes(websocket);

	if ((websocket->head[1] & MASKED) != 0)
		byte ^= mask[websocket->phase];
	websocket->phase = (websocket->phase + 1u) % MASK_BYTES;
	return byte;
}

size_t
websocket_read(struct websocket *websocket, struct cursor *in,
    unsigned char *out, size_t size)
{
	size_t used = 0;
	uint8_t byte;

	while (used < size) {
		take_head(websocket, in);
		if (!websocket->in_payload || !cursor_u8(in, &byte))
			break;
		byte = unmask(websocket, byte);
		if ((websocket->head[0] & OPCODE_CONTROL) == 0)
			out[used++] = byte;
		if (--websocket->left == 0) {
			websocket->in_payload = false;
			websocket->head_length = 0;
		}
	}
	return used;
}
