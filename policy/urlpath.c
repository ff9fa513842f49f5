#include "policy/urlpath.h"

#include "schema/status.h"

#include <string.h>

static bool
is_unreserved(uint64_t byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' ||
	       byte == '_' || byte == '~';
}

/* What no request target holds as it is (RFC 3986 section 3.3), and '\'. */
static bool
is_refused_raw(uint8_t byte)
{
	return byte <= ' ' || byte >= 0x7f || byte == '\\' || byte == '#';
}

/*
 * Encoded bytes that make readers disagree: controls, a backslash, and the
 * two that only begin overlong UTF-8, so "%C0%AF" is nobody's slash.
 */
static bool
is_refused_encoded(uint64_t byte)
{
	return byte < 0x20 || byte == 0x7f || byte == '\\' || byte == 0xc0 ||
	       byte == 0xc1;
}

/* Behind a '%': exactly two hexadecimal digits. */
static bool
read_encoded(struct cursor *in, uint64_t *ret)
{
	struct cursor at = *in, digits;

	if (!cursor_take(&at, 2, &digits) || !cursor_hex(&digits, 255, ret) ||
	    !cursor_is_empty(&digits))
		return false;
	*in = at;
	return true;
}

static void
put_encoded(struct cursor_writer *out, uint64_t byte)
{
	static const char digits[] = "0123456789ABCDEF";

	cursor_put_u8(out, '%');
	cursor_put_u8(out, (uint8_t)digits[byte >> 4]);
	cursor_put_u8(out, (uint8_t)digits[byte & 15]);
}

/* Appends one segment; *ret_dots tells whether a dot of it was encoded. */
static int
put_segment(struct cursor in, struct cursor_writer *out, bool *ret_dots)
{
	bool dots = false;
	uint64_t encoded;
	uint8_t byte;

	while (cursor_u8(&in, &byte)) {
		if (byte != '%') {
			if (is_refused_raw(byte))
				return STATUS_MALFORMED;
			cursor_put_u8(out, byte);
			continue;
		}
		if (!read_encoded(&in, &encoded) || is_refused_encoded(encoded))
			return STATUS_MALFORMED;
		if (!is_unreserved(encoded)) {
			put_encoded(out, encoded);
			continue;
		}
		dots = dots || encoded == '.';
		cursor_put_u8(out, (uint8_t)encoded);
	}
	if (!cursor_written(out))
		return STATUS_TOO_LONG;
	*ret_dots = dots;
	return STATUS_OK;
}

static bool
is_dot_segment(struct cursor segment)
{
	return cursor_equals(segment, ".") || cursor_equals(segment, "..");
}

/*
 * Whether a reader that decodes "%2F", or drops what follows ";", would find
 * a dot segment in this one.
 */
static bool
hides_dot_segment(struct cursor segment)
{
	struct cursor piece = cursor_of(segment.at, 0);
	bool begins = true;

	while (!cursor_is_empty(&segment)) {
		bool slash = cursor_literal(&segment, "%2F");
		bool ends = slash || cursor_literal(&segment, ";") ||
			    cursor_literal(&segment, "%3B");

		if (!ends && cursor_skip(&segment, 1)) {
			piece.left++;
			continue;
		}
		if (begins && is_dot_segment(piece))
			return true;
		begins = slash;
		piece = cursor_of(segment.at, 0);
	}
	return begins && is_dot_segment(piece);
}

/* Takes back the last segment of out and the slash before it. */
static bool
climb(struct cursor_writer *out)
{
	if (out->used == 0)
		return false;
	while (out->bytes[out->used - 1] != '/')
		out->used--;
	out->used--;
	return true;
}

/* Appends "/" and a segment, or does what its dots say (RFC 3986 5.2.4). */
static int
add_segment(struct cursor in, bool last, struct cursor_writer *out)
{
	size_t before = out->used;
	struct cursor segment;
	bool dots = false;
	int status;

	if (cursor_is_empty(&in) && !last)
		return STATUS_MALFORMED; /* "//" */
	cursor_put_u8(out, '/');
	status = put_segment(in, out, &dots);
	if (status != STATUS_OK)
		return status;
	segment = cursor_of(out->bytes + before + 1, out->used - before - 1);
	if (cursor_equals(segment, ".")) {
		out->used = before;
	} else if (cursor_equals(segment, "..")) {
		out->used = before;
		if (dots || !climb(out))
			return STATUS_MALFORMED;
	} else {
		return hides_dot_segment(segment) ? STATUS_MALFORMED
						  : STATUS_OK;
	}
	if (last)
		cursor_put_u8(out, '/');
	return STATUS_OK;
}

static int
check_query(struct cursor query)
{
	uint8_t byte;

	while (cursor_u8(&query, &byte))
		if (byte <= ' ' || byte >= 0x7f || byte == '#')
			return STATUS_MALFORMED;
	return STATUS_OK;
}

int
urlpath_parse(
    struct cursor target, struct urlpath *ret, struct cursor *ret_query)
{
	char text[LIMIT_HTTP_URI];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	struct cursor path, segment;
	bool last = false;

	if (!cursor_until(&target, '?', &path)) {
		path = target;
		target = cursor_of(target.at, 0);
	}
	if (!cursor_literal(&path, "/") || check_query(target) != STATUS_OK)
		return STATUS_MALFORMED;
	while (!last) {
		int status;

		last = !cursor_until(&path, '/', &segment);
		if (last)
			segment = path;
		status = add_segment(segment, last, &out);
		if (status != STATUS_OK)
			return status;
	}
	if (!cursor_written(&out))
		return STATUS_TOO_LONG;
	memcpy(ret->text, text, out.used);
	ret->text[out.used] = '\0';
	ret->length = out.used;
	*ret_query = target;
	return STATUS_OK;
}
