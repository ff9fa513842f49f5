#include "gateway/proto/authority.h"

#include "schema/status.h"

/* Digits without a leading zero, 1 to 65535, and nothing behind. */
static bool
read_port(struct cursor text, uint16_t *ret)
{
	uint64_t port;
	uint8_t first;

	if (!cursor_peek(&text, &first) || first == '0' ||
	    !cursor_decimal(&text, UINT16_MAX, &port) ||
	    !cursor_is_empty(&text))
		return false;
	*ret = (uint16_t)port;
	return true;
}

/* "[v6]"; what stands behind the bracket is left. */
static bool
read_bracketed(struct cursor *text, struct address *ret)
{
	struct cursor inside;
	struct address address;

	if (!cursor_literal(text, "[") || !cursor_until(text, ']', &inside))
		return false;
	/* Dotted decimal needs no brackets, so it may have none. */
	if (inside.left == 0 || address_parse((const char *)inside.at,
				    inside.left, &address) != STATUS_OK)
		return false;
	for (size_t i = 0; i < inside.left; i++) {
		if (inside.at[i] != ':')
			continue;
		*ret = address;
		return true;
	}
	return false;
}

/* A name or a dotted address, which is all of text. */
static bool
read_host(struct cursor text, struct authority *host)
{
	const char *bytes = (const char *)text.at;

	if (hostname_parse(bytes, text.left, &host->name) == STATUS_OK)
		return true;
	return address_parse(bytes, text.left, &host->literal) == STATUS_OK &&
	       host->literal.length == 4;
}

int
authority_parse(struct cursor text, struct authority *ret)
{
	struct authority authority = { 0 };
	struct cursor host;
	uint8_t first;

	if (!cursor_peek(&text, &first))
		return STATUS_MALFORMED;
	if (first == '[') {
		if (!read_bracketed(&text, &authority.literal))
			return STATUS_MALFORMED;
		if (!cursor_is_empty(&text) &&
		    (!cursor_literal(&text, ":") ||
			!read_port(text, &authority.port)))
			return STATUS_MALFORMED;
		*ret = authority;
		return STATUS_OK;
	}
	if (!cursor_until(&text, ':', &host))
		host = text;
	else if (!read_port(text, &authority.port))
		return STATUS_MALFORMED;
	if (!read_host(host, &authority))
		return STATUS_MALFORMED;
	*ret = authority;
	return STATUS_OK;
}

bool
authority_is_set(const struct authority *authority)
{
	return hostname_is_set(&authority->name) ||
	       address_is_set(&authority->literal);
}

bool
authority_equals(
    const struct authority *a, const struct authority *b, uint16_t default_port)
{
	uint16_t a_port = a->port == 0 ? default_port : a->port;
	uint16_t b_port = b->port == 0 ? default_port : b->port;

	return a_port == b_port && hostname_equals(&a->name, &b->name) &&
	       address_equals(&a->literal, &b->literal);
}

void
authority_write(const struct authority *authority, struct cursor_writer *out)
{
	char text[ADDRESS_TEXT_MAX];
	bool v6 = authority->literal.length == 16;

	if (hostname_is_set(&authority->name)) {
		cursor_put(out, authority->name.text, authority->name.length);
	} else {
		address_print(&authority->literal, text);
		cursor_put_text(out, v6 ? "[" : "");
		cursor_put_text(out, text);
		cursor_put_text(out, v6 ? "]" : "");
	}
	if (authority->port == 0)
		return;
	cursor_put_u8(out, ':');
	cursor_put_decimal(out, authority->port);
}
