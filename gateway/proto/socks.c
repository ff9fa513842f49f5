#include "gateway/proto/socks.h"

enum {
	METHOD_NONE = 0,
	METHOD_UNACCEPTABLE = 0xff,
	COMMAND_CONNECT = 1,
	ADDRESS_V4 = 1,
	ADDRESS_NAME = 3,
	ADDRESS_V6 = 4
};

enum parse_result
socks_greeting_take(struct cursor *bytes, bool *ret_anonymous)
{
	struct cursor rest = *bytes, methods;
	uint8_t version, count, method;
	bool anonymous = false;

	if (!cursor_u8(&rest, &version))
		return PARSE_MORE;
	if (version != SOCKS_VERSION)
		return PARSE_BAD;
	if (!cursor_u8(&rest, &count))
		return PARSE_MORE;
	if (count == 0)
		return PARSE_BAD;
	if (!cursor_take(&rest, count, &methods))
		return PARSE_MORE;
	while (cursor_u8(&methods, &method))
		anonymous = anonymous || method == METHOD_NONE;
	*bytes = rest;
	*ret_anonymous = anonymous;
	return PARSE_OK;
}

/* A name that is written as an address is one. */
static bool
read_name(struct cursor name, struct authority *ret)
{
	const char *text = (const char *)name.at;

	return address_parse(text, name.left, &ret->literal) == STATUS_OK ||
	       hostname_parse(text, name.left, &ret->name) == STATUS_OK;
}

/* The address of this type; false while it is not all there. */
static bool
take_address(struct cursor *rest, uint8_t type, struct cursor *ret)
{
	uint8_t length = type == ADDRESS_V4 ? 4 : 16;

	if (type == ADDRESS_NAME && !cursor_u8(rest, &length))
		return false;
	return cursor_take(rest, length, ret);
}

static bool
read_address(struct cursor address, uint8_t type, struct authority *ret)
{
	if (type == ADDRESS_NAME)
		return read_name(address, ret);
	ret->literal = type == ADDRESS_V4 ? address_v4(address.at)
					  : address_v6(address.at);
	return true;
}

enum parse_result
socks_request_take(
    struct cursor *bytes, struct authority *ret, enum socks_reply *ret_reply)
{
	struct cursor rest = *bytes, address;
	struct authority authority = { .port = 0 };
	enum socks_reply reply = SOCKS_SUCCEEDED;
	uint8_t version, command, zero, type;

	if (!cursor_u8(&rest, &version))
		return PARSE_MORE;
	if (version != SOCKS_VERSION)
		return PARSE_BAD;
	if (!cursor_u8(&rest, &command) || !cursor_u8(&rest, &zero) ||
	    !cursor_u8(&rest, &type))
		return PARSE_MORE;
	if (zero != 0 ||
	    (type != ADDRESS_V4 && type != ADDRESS_NAME && type != ADDRESS_V6))
		return PARSE_BAD;
	if (!take_address(&rest, type, &address) ||
	    !cursor_u16(&rest, &authority.port))
		return PARSE_MORE;
	if (command != COMMAND_CONNECT)
		reply = SOCKS_NO_COMMAND;
	else if (authority.port == 0 ||
		 !read_address(address, type, &authority))
		reply = SOCKS_NO_ADDRESS;
	*bytes = rest;
	*ret = reply == SOCKS_SUCCEEDED ? authority
					: (struct authority){ .port = 0 };
	*ret_reply = reply;
	return PARSE_OK;
}

void
socks_greeting_answer(bool anonymous, struct cursor_writer *out)
{
	cursor_put_u8(out, SOCKS_VERSION);
	cursor_put_u8(out, anonymous ? METHOD_NONE : METHOD_UNACCEPTABLE);
}

void
socks_reply_write(enum socks_reply reply, struct cursor_writer *out)
{
	cursor_put_u8(out, SOCKS_VERSION);
	cursor_put_u8(out, (uint8_t)reply);
	cursor_put_u8(out, 0);
	/* Which address of ours leads there is nobody's business. */
	cursor_put_u8(out, ADDRESS_V4);
	cursor_put_u32(out, 0);
	cursor_put_u16(out, 0);
}
