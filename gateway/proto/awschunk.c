#include "gateway/proto/awschunk.h"

#include "gateway/proto/awsauth.h"
#include "gateway/proto/header.h"
#include "schema/limits.h"

#include <string.h>

/* Takes a line without its end; *ret_more says that it is not all there. */
static bool
take_line(struct cursor *in, struct cursor *ret, bool *ret_more)
{
	const unsigned char *end =
	    in->left == 0 ? NULL : memchr(in->at, '\n', in->left);
	size_t length;

	*ret_more = end == NULL && in->left <= LIMIT_AWS_LINE;
	if (end == NULL)
		return false;
	length = (size_t)(end - in->at);
	if (length == 0 || length > LIMIT_AWS_LINE || end[-1] != '\r')
		return false;
	return cursor_take(in, length - 1, ret) && cursor_skip(in, 2);
}

static bool
is_lower_hex(struct cursor text)
{
	uint8_t byte;

	while (cursor_u8(&text, &byte))
		if ((byte < '0' || byte > '9') && (byte < 'a' || byte > 'f'))
			return false;
	return true;
}

static bool
read_line(struct cursor line, struct awschunk_part *ret)
{
	struct cursor number = line;

	/* 16 digits would fit; no chunk of ours is longer than 8 of them. */
	if (!cursor_hex(&line, UINT32_MAX, &ret->size))
		return false;
	ret->digits = cursor_of(number.at, number.left - line.left);
	if (ret->digits.left > 8 ||
	    !cursor_literal(&line, ";chunk-signature=") ||
	    line.left != AWSAUTH_SIGNATURE || !is_lower_hex(line))
		return false;
	ret->signature = line;
	return true;
}

static enum awschunk_what
step_line(struct awschunk *chunk, struct cursor *in, struct awschunk_part *ret)
{
	struct cursor line;
	bool more;

	if (!take_line(in, &line, &more))
		return more ? AWSCHUNK_MORE : AWSCHUNK_BAD;
	if (!read_line(line, ret))
		return AWSCHUNK_BAD;
	chunk->left = ret->size;
	chunk->state = ret->size == 0 ? AWSCHUNK_AT_TRAILER : AWSCHUNK_IN_DATA;
	return AWSCHUNK_LINE;
}

static enum awschunk_what
step_data(struct awschunk *chunk, struct cursor *in, struct awschunk_part *ret)
{
	size_t length = in->left;

	if (length > chunk->left)
		length = (size_t)chunk->left;
	if (length == 0 || !cursor_take(in, length, &ret->bytes))
		return AWSCHUNK_MORE;
	chunk->left -= length;
	if (chunk->left == 0)
		chunk->state = AWSCHUNK_AT_DATA_END;
	return AWSCHUNK_DATA;
}

static enum awschunk_what
step_trailer(
    struct awschunk *chunk, struct cursor *in, struct awschunk_part *ret)
{
	struct cursor line;
	bool more;

	if (!take_line(in, &line, &more))
		return more ? AWSCHUNK_MORE : AWSCHUNK_BAD;
	if (line.left == 0) {
		chunk->state = AWSCHUNK_OVER;
		return AWSCHUNK_END;
	}
	if (!cursor_until(&line, ':', &ret->name) ||
	    !header_is_token(ret->name) || !header_is_value(line))
		return AWSCHUNK_BAD;
	ret->value = line;
	return AWSCHUNK_TRAILER;
}

enum awschunk_what
awschunk_step(
    struct awschunk *chunk, struct cursor *in, struct awschunk_part *ret)
{
	switch (chunk->state) {
	case AWSCHUNK_AT_LINE:
		return step_line(chunk, in, ret);
	case AWSCHUNK_IN_DATA:
		return step_data(chunk, in, ret);
	case AWSCHUNK_AT_DATA_END:
		if (in->left < 2)
			return AWSCHUNK_MORE;
		if (!cursor_literal(in, "\r\n"))
			return AWSCHUNK_BAD;
		chunk->state = AWSCHUNK_AT_LINE;
		return AWSCHUNK_DATA_END;
	case AWSCHUNK_AT_TRAILER:
		return step_trailer(chunk, in, ret);
	case AWSCHUNK_OVER:
		return in->left == 0 ? AWSCHUNK_MORE : AWSCHUNK_BAD;
	}
	return AWSCHUNK_BAD;
}
