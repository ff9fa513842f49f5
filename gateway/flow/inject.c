#include "gateway/flow/inject.h"

#include "schema/status.h"

#include <string.h>

/*
 * What programs carry keys in, by the names that are in use.  A rule with a
 * credential means that request goes out with that one and no other.
 */
static const char *const others[] = {
	"authorization", /* RFC 9110 section 11.6.2 */
	"x-api-key", /* Anthropic, AWS's API gateway */
	"api-key", /* Azure */
	"x-goog-api-key",
	"private-token", /* GitLab */
	"job-token",
	"x-auth-token", /* OpenStack */
	"x-vault-token",
	"x-amz-security-token",
};

static int
hex_value(unsigned char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	digit |= 0x20;
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* The next byte that is meant, with "%41" for 'A'. */
static bool
next_byte(struct cursor *in, unsigned char *ret)
{
	struct cursor at;
	uint8_t byte, high, low;

	if (!cursor_u8(in, &byte))
		return false;
	at = *in;
	if (byte == '%' && cursor_u8(&at, &high) && cursor_u8(&at, &low) &&
	    hex_value(high) >= 0 && hex_value(low) >= 0) {
		byte = (uint8_t)(hex_value(high) * 16 + hex_value(low));
		*in = at;
	}
	*ret = byte;
	return true;
}

/* However it is spelled: servers differ in what they undo. */
static bool
is_key(struct cursor pair, const char *name)
{
	struct cursor key = pair;
	unsigned char byte;
	size_t i = 0;

	if (!cursor_until(&pair, '=', &key))
		key = pair;
	while (next_byte(&key, &byte)) {
		if (name[i] == '\0' || (unsigned char)name[i] != byte)
			return false;
		i++;
	}
	return name[i] == '\0';
}

/* RFC 3986 section 2.3; everything else is escaped. */
static void
put_escaped(struct cursor text, struct cursor_writer *out)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
	static const char digits[] = "0123456789ABCDEF";
	uint8_t byte;

	while (cursor_u8(&text, &byte)) {
		if (byte != 0 && strchr(plain, byte) != NULL) {
			cursor_put_u8(out, byte);
			continue;
		}
		cursor_put_u8(out, '%');
		cursor_put_u8(out, (uint8_t)digits[byte >> 4]);
		cursor_put_u8(out, (uint8_t)digits[byte & 15]);
	}
}

/* Without the pairs of that key, and with ours behind the others. */
static int
set_query(const struct grant_field *field, struct inject_room *room,
    struct request *request)
{
	struct cursor_writer out =
	    cursor_writer_of(room->query, sizeof(room->query));
	struct cursor rest = request->query, pair;

	while (!cursor_is_empty(&rest)) {
		if (!cursor_until(&rest, '&', &pair)) {
			pair = rest;
			rest.left = 0;
		}
		if (is_key(pair, field->name))
			continue;
		if (out.used > 0)
			cursor_put_u8(&out, '&');
		cursor_put(&out, pair.at, pair.left);
	}
	if (out.used > 0)
		cursor_put_u8(&out, '&');
	put_escaped(cursor_of_text(field->name), &out);
	cursor_put_u8(&out, '=');
	put_escaped(secret_bytes(field->value), &out);
	if (!cursor_written(&out))
		return STATUS_TOO_LONG;
	request->query = cursor_of(out.bytes, out.used);
	request->has_query = true;
	return STATUS_OK;
}

int
inject_request(const struct request *head, const struct grant *grant,
    struct inject_room *room, struct request *ret)
{
	int status = STATUS_OK;
	bool queried = false;

	*ret = *head;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		(void)header_drop(&ret->header, others[i]);
	for (size_t i = 0; status == STATUS_OK && i < grant->count; i++) {
		const struct grant_field *field = &grant->fields[i];

		switch (field->place) {
		case GRANT_HEADER:
			status = header_set(&ret->header, field->name,
			    secret_bytes(field->value));
			break;
		case GRANT_QUERY:
			/* One room: one key. */
			status =
			    queried ? STATUS_FULL : set_query(field, room, ret);
			queried = true;
			break;
		case GRANT_STEAD:
		case GRANT_CERTIFICATE:
			/* The connection has presented it. */
			break;
		case GRANT_SIGNING:
		case GRANT_PLACE_COUNT:
			status = STATUS_REFUSED;
			break;
		}
	}
	return status;
}
