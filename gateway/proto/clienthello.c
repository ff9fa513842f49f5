#include "gateway/proto/clienthello.h"

#include <string.h>

enum {
	RECORD_HANDSHAKE = 22,
	RECORD_MAX = 16384, /* RFC 8446 section 5.1 */
	MESSAGE_CLIENT_HELLO = 1,
	MESSAGE_HEADER = 4, /* its type and its length */
	RANDOM_LENGTH = 32,
	SESSION_ID_MAX = 32,
	SERVER_NAME_HOST = 0, /* the only type there is */
	TLS_1_0 = 0x0301,
	TLS_1_2 = 0x0303,
	TLS_1_3 = 0x0304
};

/* An 8 bit length and as many bytes. */
static bool
take_block8(struct cursor *c, struct cursor *ret)
{
	uint8_t length;

	return cursor_u8(c, &length) && cursor_take(c, length, ret);
}

/* ---- extensions: each is given its whole body ---- */

/* RFC 6066 section 3. */
static bool
read_server_name(struct cursor body, struct clienthello *hello)
{
	struct cursor list, name;
	uint8_t type;

	if (!cursor_block(&body, &list) || !cursor_is_empty(&body) ||
	    !cursor_u8(&list, &type) || type != SERVER_NAME_HOST ||
	    !cursor_block(&list, &name) || !cursor_is_empty(&list))
		return false;
	/* hostname_parse would drop a dot that must not be there. */
	if (name.left == 0 || name.at[name.left - 1] == '.')
		return false;
	return hostname_parse((const char *)name.at, name.left, &hello->sni) ==
	       STATUS_OK;
}

static void
keep_alpn(struct cursor name, struct clienthello *hello)
{
	struct clienthello_alpn *kept;

	if (cursor_equals(name, "h2"))
		hello->alpn_h2 = true;
	if (cursor_equals(name, "http/1.1"))
		hello->alpn_http1 = true;
	if (hello->alpn_count == LIMIT_ALPN)
		return;
	kept = &hello->alpn[hello->alpn_count++];
	if (name.left > CLIENTHELLO_ALPN_NAME)
		name.left = CLIENTHELLO_ALPN_NAME;
	kept->length = (uint8_t)name.left;
	memcpy(kept->text, name.at, name.left);
}

/* RFC 7301 section 3.1. */
static bool
read_alpn(struct cursor body, struct clienthello *hello)
{
	struct cursor list, name;

	if (!cursor_block(&body, &list) || !cursor_is_empty(&body) ||
	    cursor_is_empty(&list))
		return false;
	while (!cursor_is_empty(&list)) {
		if (!take_block8(&list, &name) || cursor_is_empty(&name))
			return false;
		keep_alpn(name, hello);
	}
	return true;
}

/* RFC 8446 section 4.2.1; it stands for the version in the hello itself. */
static bool
read_versions(struct cursor body, struct clienthello *hello)
{
	struct cursor list;
	uint16_t version;

	if (!take_block8(&body, &list) || !cursor_is_empty(&body) ||
	    cursor_is_empty(&list))
		return false;
	hello->version = 0;
	while (!cursor_is_empty(&list)) {
		if (!cursor_u16(&list, &version))
			return false;
		/* Others are made up on purpose (RFC 8701). */
		if (version >= TLS_1_0 && version <= TLS_1_3 &&
		    version > hello->version)
			hello->version = version;
	}
	return true;
}

/* RFC 9849, and the draft before it, which hid the name as well. */
static bool
read_ech(struct cursor body, struct clienthello *hello)
{
	(void)body;
	hello->ech = true;
	return true;
}

static const struct {
	uint16_t type;
	bool (*read)(struct cursor body, struct clienthello *hello);
} extensions[] = {
	{ 0, read_server_name },
	{ 16, read_alpn },
	{ 43, read_versions },
	{ 0xfe0d, read_ech },
	{ 0xffce, read_ech },
};

/* A second one of a kind is refused (RFC 8446 section 4.2). */
static bool
read_extension(uint16_t type, struct cursor body, unsigned *seen,
    struct clienthello *hello)
{
	for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]);
	     i++) {
		if (extensions[i].type != type)
			continue;
		if ((*seen & 1U << i) != 0)
			return false;
		*seen |= 1U << i;
		return extensions[i].read(body, hello);
	}
	return true;
}

static bool
read_extensions(struct cursor list, struct clienthello *hello)
{
	struct cursor body;
	unsigned seen = 0;
	uint16_t type;

	while (!cursor_is_empty(&list))
		if (!cursor_u16(&list, &type) || !cursor_block(&list, &body) ||
		    !read_extension(type, body, &seen, hello))
			return false;
	return true;
}

/* ---- the message ---- */

/* RFC 8446 section 4.1.2, without the message's header. */
static bool
read_hello(struct cursor body, struct clienthello *hello)
{
	struct cursor session, ciphers, compression, list;

	if (!cursor_u16(&body, &hello->version) || hello->version < TLS_1_0)
		return false;
	if (hello->version > TLS_1_2)
		hello->version = TLS_1_2;
	if (!cursor_skip(&body, RANDOM_LENGTH) ||
	    !take_block8(&body, &session) || session.left > SESSION_ID_MAX ||
	    !cursor_block(&body, &ciphers) || ciphers.left == 0 ||
	    ciphers.left % 2 != 0 || !take_block8(&body, &compression) ||
	    cursor_is_empty(&compression))
		return false;
	/* Before TLS 1.3 a hello need not have extensions. */
	if (cursor_is_empty(&body))
		return true;
	return cursor_block(&body, &list) && cursor_is_empty(&body) &&
	       read_extensions(list, hello);
}

/*
 * The length of the message whose first bytes these are, with its header; 0
 * when too few are there.  Another message than a hello is PARSE_BAD.
 */
static enum parse_result
message_length(struct cursor bytes, size_t *ret)
{
	uint8_t type;
	uint32_t length;

	*ret = 0;
	if (!cursor_u8(&bytes, &type))
		return PARSE_MORE;
	if (type != MESSAGE_CLIENT_HELLO)
		return PARSE_BAD;
	if (!cursor_u24(&bytes, &length))
		return PARSE_MORE;
	if (length > LIMIT_HELLO)
		return PARSE_BAD;
	*ret = MESSAGE_HEADER + length;
	return PARSE_OK;
}

static enum parse_result
read_message(struct cursor message, size_t length, struct clienthello *ret)
{
	struct clienthello hello = { .length = length };

	if (!cursor_skip(&message, MESSAGE_HEADER) ||
	    !read_hello(message, &hello))
		return PARSE_BAD;
	*ret = hello;
	return PARSE_OK;
}

/* ---- records ---- */

/* Takes one record, looking at each byte of its head as soon as it is here. */
static enum parse_result
take_record(struct cursor *bytes, struct cursor *ret)
{
	struct cursor rest = *bytes;
	uint8_t type, major, minor;
	uint16_t length;

	if (!cursor_u8(&rest, &type))
		return PARSE_MORE;
	if (type != RECORD_HANDSHAKE)
		return PARSE_BAD;
	if (!cursor_u8(&rest, &major))
		return PARSE_MORE;
	if (major != 3)
		return PARSE_BAD;
	if (!cursor_u8(&rest, &minor) || !cursor_u16(&rest, &length))
		return PARSE_MORE;
	if (length == 0 || length > RECORD_MAX)
		return PARSE_BAD;
	if (!cursor_take(&rest, length, ret))
		return PARSE_MORE;
	*bytes = rest;
	return PARSE_OK;
}

/* Puts the pieces of a message that lies in several records together. */
static enum parse_result
read_pieces(struct cursor bytes, struct clienthello *ret)
{
	unsigned char room[LIMIT_HELLO];
	struct cursor_writer message = cursor_writer_of(room, sizeof(room));
	struct cursor rest = bytes, piece;
	size_t wanted = 0;
	enum parse_result result;

	while (wanted == 0 || message.used < wanted) {
		result = take_record(&rest, &piece);
		if (result == PARSE_MORE && bytes.left >= LIMIT_HELLO)
			return PARSE_BAD;
		if (result != PARSE_OK)
			return result;
		cursor_put(&message, piece.at, piece.left);
		if (!cursor_written(&message))
			return PARSE_BAD;
		if (message_length(cursor_of(room, message.used), &wanted) ==
		    PARSE_BAD)
			return PARSE_BAD;
	}
	if (message.used > wanted)
		return PARSE_BAD;
	return read_message(
	    cursor_of(room, message.used), bytes.left - rest.left, ret);
}

enum parse_result
clienthello_parse(struct cursor bytes, struct clienthello *ret)
{
	struct cursor rest = bytes, piece;
	enum parse_result result = take_record(&rest, &piece);
	size_t wanted;

	if (result != PARSE_OK)
		return result;
	if (message_length(piece, &wanted) == PARSE_BAD)
		return PARSE_BAD;
	if (wanted == 0 || wanted > piece.left)
		return read_pieces(bytes, ret);
	if (wanted < piece.left)
		return PARSE_BAD;
	return read_message(piece, bytes.left - rest.left, ret);
}
