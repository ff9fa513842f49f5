#include "gateway/proto/http1_body.h"

#include "gateway/proto/head.h"

/* Sixteen digits hold every size up to INT64_MAX. */
#define CHUNK_DIGITS 16

struct http1_body
http1_body_of(struct message_body body)
{
	struct http1_body reader = { .state = HTTP1_BODY_DONE };

	switch (body.framing) {
	case MESSAGE_NO_BODY:
		break;
	case MESSAGE_LENGTH:
		reader.left = body.length;
		if (body.length > 0)
			reader.state = HTTP1_BODY_DATA;
		break;
	case MESSAGE_CHUNKED:
		reader.chunked = true;
		reader.state = HTTP1_BODY_CHUNK_SIZE;
		break;
	case MESSAGE_UNTIL_CLOSE:
		reader.state = HTTP1_BODY_TO_CLOSE;
		break;
	}
	return reader;
}

/*
 * Takes a line of at most max bytes, its CR LF included, and gives it
 * without.  It has no control character in it but the tab.
 */
static enum parse_result
take_line(struct cursor *bytes, size_t max, struct cursor *ret)
{
	struct cursor rest = *bytes, line;

	if (!cursor_until(&rest, '\n', &line))
		return bytes->left < max ? PARSE_MORE : PARSE_BAD;
	if (line.left >= max || line.left == 0 ||
	    line.at[line.left - 1] != '\r')
		return PARSE_BAD;
	line.left--;
	if (!header_is_value(line))
		return PARSE_BAD;
	*bytes = rest;
	*ret = line;
	return PARSE_OK;
}

static enum parse_result
read_chunk_size(struct http1_body *body, struct cursor *bytes)
{
	struct cursor line;
	enum parse_result result = take_line(bytes, LIMIT_CHUNK_LINE, &line);
	size_t length;

	if (result != PARSE_OK)
		return result;
	length = line.left;
	if (!cursor_hex(&line, INT64_MAX, &body->left) ||
	    length - line.left > CHUNK_DIGITS)
		return PARSE_BAD;
	if (!cursor_is_empty(&line) && !cursor_literal(&line, ";"))
		return PARSE_BAD;
	body->state = body->left > 0 ? HTTP1_BODY_DATA : HTTP1_BODY_TRAILERS;
	return PARSE_OK;
}

static enum parse_result
read_chunk_end(struct http1_body *body, struct cursor *bytes)
{
	uint8_t first;

	if (cursor_literal(bytes, "\r\n")) {
		body->state = HTTP1_BODY_CHUNK_SIZE;
		return PARSE_OK;
	}
	if (cursor_peek(bytes, &first) && (first != '\r' || bytes->left > 1))
		return PARSE_BAD;
	return PARSE_MORE;
}

/*
 * Reads the whole trailer section, or nothing of it: its fields are borrowed
 * from one piece of memory.
 */
static enum parse_result
read_trailers(struct cursor *bytes, struct header *trailers)
{
	struct cursor rest = *bytes, line, name;
	enum parse_result result;

	trailers->count = 0;
	for (;;) {
		size_t max = LIMIT_HTTP_TRAILERS - (bytes->left - rest.left);

		result = take_line(&rest, max, &line);
		if (result != PARSE_OK)
			return result;
		if (cursor_is_empty(&line))
			break;
		if (!cursor_until(&line, ':', &name) ||
		    header_add(trailers, name, line) != STATUS_OK)
			return PARSE_BAD;
		if (!head_may_trail(name))
			trailers->count--;
	}
	*bytes = rest;
	return PARSE_OK;
}

/* Gives what is there of the payload; bytes has some. */
static void
take_data(struct http1_body *body, struct cursor *bytes, struct cursor *ret)
{
	size_t length = bytes->left;

	if (body->left < length)
		length = (size_t)body->left;
	if (!cursor_take(bytes, length, ret))
		return;
	body->left -= length;
	if (body->left == 0)
		body->state =
		    body->chunked ? HTTP1_BODY_CHUNK_END : HTTP1_BODY_DONE;
}

/* One step; PARSE_OK means that the next one may go on. */
static enum parse_result
read_step(struct http1_body *body, struct cursor *bytes, struct cursor *ret,
    struct header *trailers)
{
	enum parse_result result;

	switch (body->state) {
	case HTTP1_BODY_DATA:
		if (cursor_is_empty(bytes))
			return PARSE_MORE;
		take_data(body, bytes, ret);
		return PARSE_OK;
	case HTTP1_BODY_TO_CLOSE:
		if (cursor_take(bytes, bytes->left, ret))
			return PARSE_MORE;
		return PARSE_BAD;
	case HTTP1_BODY_CHUNK_SIZE:
		return read_chunk_size(body, bytes);
	case HTTP1_BODY_CHUNK_END:
		return read_chunk_end(body, bytes);
	case HTTP1_BODY_TRAILERS:
		result = read_trailers(bytes, trailers);
		if (result == PARSE_OK)
			body->state = HTTP1_BODY_DONE;
		return result;
	case HTTP1_BODY_DONE:
		return PARSE_OK;
	case HTTP1_BODY_BROKEN:
		return PARSE_BAD;
	}
	return PARSE_BAD;
}

enum parse_result
http1_body_read(struct http1_body *body, struct cursor *bytes,
    struct cursor *ret, struct header *ret_trailers)
{
	struct header trailers;
	struct cursor rest = *bytes, slice = { 0 };
	enum parse_result result = PARSE_OK;

	trailers.count = 0;
	/* Every step moves on in rest or in state, so this ends. */
	while (result == PARSE_OK && slice.left == 0 &&
	       body->state != HTTP1_BODY_DONE)
		result = read_step(body, &rest, &slice, &trailers);
	if (result == PARSE_BAD) {
		body->state = HTTP1_BODY_BROKEN;
		return PARSE_BAD;
	}
	*bytes = rest;
	*ret = slice;
	if (slice.left > 0 || result == PARSE_MORE)
		return PARSE_MORE;
	if (ret_trailers != NULL)
		*ret_trailers = trailers;
	return PARSE_OK;
}

bool
http1_body_may_end(const struct http1_body *body)
{
	return body->state == HTTP1_BODY_DONE ||
	       body->state == HTTP1_BODY_TO_CLOSE;
}

void
http1_body_chunk_begin(uint64_t length, struct cursor_writer *out)
{
	static const char digits[] = "0123456789abcdef";
	unsigned shift = 60;

	while (shift > 0 && length >> shift == 0)
		shift -= 4;
	for (;; shift -= 4) {
		cursor_put_u8(out, (uint8_t)digits[length >> shift & 15]);
		if (shift == 0)
			break;
	}
	cursor_put_text(out, "\r\n");
}

void
http1_body_chunk_end(struct cursor_writer *out)
{
	cursor_put_text(out, "\r\n");
}

void
http1_body_finish(const struct header *trailers, struct cursor_writer *out)
{
	cursor_put_text(out, "0\r\n");
	if (trailers != NULL)
		header_write(trailers, out);
	cursor_put_text(out, "\r\n");
}
