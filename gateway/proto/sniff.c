#include "gateway/proto/sniff.h"

#include "schema/limits.h"

#include <assert.h>

static const char *const names[] = {
	[SNIFF_TLS] = "tls",
	[SNIFF_HTTP1] = "http1",
	[SNIFF_HTTP2] = "http2",
	[SNIFF_SSH] = "ssh",
	[SNIFF_OTHER] = "other",
};

static_assert(sizeof(names) / sizeof(names[0]) == SNIFF_COUNT,
    "every protocol has a name");

const char *
sniff_name(enum sniff_protocol protocol)
{
	return names[protocol];
}

/* Whether the bytes begin with text, or may still come to. */
static enum parse_result
begins_with(struct cursor bytes, const char *text)
{
	uint8_t byte;

	for (; *text != '\0'; text++) {
		if (!cursor_u8(&bytes, &byte))
			return PARSE_MORE;
		if (byte != (unsigned char)*text)
			return PARSE_BAD;
	}
	return PARSE_OK;
}

/*
 * A handshake record that begins with a ClientHello: type 22, a version 3.x,
 * a length that holds something, message type 1.
 */
static enum parse_result
begins_tls(struct cursor bytes)
{
	uint8_t type, major, minor, message;
	uint16_t length;

	if (!cursor_u8(&bytes, &type))
		return PARSE_MORE;
	if (type != 22)
		return PARSE_BAD;
	if (!cursor_u8(&bytes, &major))
		return PARSE_MORE;
	if (major != 3)
		return PARSE_BAD;
	if (!cursor_u8(&bytes, &minor) || !cursor_u16(&bytes, &length))
		return PARSE_MORE;
	if (minor > 4 || length == 0)
		return PARSE_BAD;
	if (!cursor_u8(&bytes, &message))
		return PARSE_MORE;
	return message == 1 ? PARSE_OK : PARSE_BAD;
}

/* Letters only: other tokens are methods nobody has registered. */
static bool
is_method_byte(uint8_t byte)
{
	return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
	       byte == '-';
}

/*
 * A word, one space, and the first byte of a target: '/', '*', or the 'h' of
 * http://.  CONNECT is HTTP whatever follows, so that it is refused as HTTP.
 */
static enum parse_result
begins_http1(struct cursor bytes)
{
	enum parse_result connect = begins_with(bytes, "CONNECT ");
	uint8_t byte;
	size_t length = 0;

	if (connect == PARSE_OK)
		return PARSE_OK;
	for (;;) {
		if (!cursor_u8(&bytes, &byte))
			return PARSE_MORE;
		if (!is_method_byte(byte))
			break;
		if (++length > LIMIT_HTTP_METHOD)
			return PARSE_BAD;
	}
	if (byte != ' ' || length == 0)
		return PARSE_BAD;
	if (!cursor_u8(&bytes, &byte))
		return PARSE_MORE;
	return byte == '/' || byte == '*' || byte == 'h' || byte == 'H'
		   ? PARSE_OK
		   : PARSE_BAD;
}

enum parse_result
sniff_bytes(struct cursor first, enum sniff_protocol *ret)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	const struct {
		enum sniff_protocol protocol;
		enum parse_result result;
	} tried[] = {
		{ SNIFF_TLS, begins_tls(first) },
		{ SNIFF_SSH, begins_with(first, "SSH-") },
		/* Before HTTP/1, which the preface was made to look like. */
		{ SNIFF_HTTP2, begins_with(first, preface) },
		{ SNIFF_HTTP1, begins_http1(first) },
	};

	for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++) {
		if (tried[i].result == PARSE_MORE)
			return PARSE_MORE;
		if (tried[i].result == PARSE_BAD)
			continue;
		*ret = tried[i].protocol;
		return PARSE_OK;
	}
	*ret = SNIFF_OTHER;
	return PARSE_OK;
}
