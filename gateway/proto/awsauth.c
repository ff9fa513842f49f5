#include "gateway/proto/awsauth.h"

#include "gateway/proto/header.h"
#include "schema/status.h"

#include <stdint.h>

static bool
is_digit(uint8_t byte)
{
	return byte >= '0' && byte <= '9';
}

/* Lower-case letters, digits and '-': a region, a service. */
static bool
is_word(struct cursor text)
{
	uint8_t byte;

	if (text.left == 0)
		return false;
	while (cursor_u8(&text, &byte))
		if (!is_digit(byte) && (byte < 'a' || byte > 'z') &&
		    byte != '-')
			return false;
	return true;
}

static bool
is_decimal(struct cursor text, size_t length)
{
	uint8_t byte;

	if (text.left != length)
		return false;
	while (cursor_u8(&text, &byte))
		if (!is_digit(byte))
			return false;
	return true;
}

static bool
is_signature(struct cursor text)
{
	uint8_t byte;

	if (text.left != AWSAUTH_SIGNATURE)
		return false;
	while (cursor_u8(&text, &byte))
		if (!is_digit(byte) && (byte < 'a' || byte > 'f'))
			return false;
	return true;
}

/* Letters, digits, '=' and '_' are in key ids that AWS gives. */
static bool
is_key_id(struct cursor text)
{
	uint8_t byte;

	if (text.left == 0)
		return false;
	while (cursor_u8(&text, &byte))
		if (byte <= ' ' || byte >= 0x7f || byte == ',' || byte == '/')
			return false;
	return true;
}

static bool
comes_before(struct cursor a, struct cursor b)
{
	for (size_t i = 0; i < a.left && i < b.left; i++)
		if (a.at[i] != b.at[i])
			return a.at[i] < b.at[i];
	return a.left < b.left;
}

static bool
is_lower_token(struct cursor name)
{
	for (size_t i = 0; i < name.left; i++)
		if (name.at[i] >= 'A' && name.at[i] <= 'Z')
			return false;
	return header_is_token(name);
}

static bool
are_names(struct cursor names)
{
	struct cursor name, last = cursor_of(NULL, 0);
	bool more = true;

	while (more) {
		more = cursor_until(&names, ';', &name);
		if (!more)
			name = names;
		if (!is_lower_token(name) || !comes_before(last, name))
			return false;
		last = name;
	}
	return true;
}

static bool
read_credential(struct cursor value, struct awsauth *auth)
{
	struct cursor scope, end;

	if (!cursor_until(&value, '/', &auth->key_id))
		return false;
	scope = value;
	if (!cursor_until(&value, '/', &auth->date) ||
	    !cursor_until(&value, '/', &auth->region) ||
	    !cursor_until(&value, '/', &auth->service))
		return false;
	end = value;
	auth->scope = scope;
	return cursor_equals(end, "aws4_request") && is_key_id(auth->key_id) &&
	       is_decimal(auth->date, AWSAUTH_DATE) && is_word(auth->region) &&
	       is_word(auth->service);
}

/* One "Name=value"; false for one that is unknown or stood before. */
static bool
read_part(struct cursor part, struct awsauth *auth)
{
	if (cursor_literal(&part, "Credential="))
		return auth->key_id.left == 0 && read_credential(part, auth);
	if (cursor_literal(&part, "SignedHeaders=")) {
		if (auth->names.left > 0 || !are_names(part))
			return false;
		auth->names = part;
		return true;
	}
	if (cursor_literal(&part, "Signature=")) {
		if (auth->signature.left > 0 || !is_signature(part))
			return false;
		auth->signature = part;
		return true;
	}
	return false;
}

int
awsauth_parse(struct cursor value, struct awsauth *ret)
{
	struct awsauth auth = { .key_id = { .left = 0 } };
	struct cursor part;

	if (!cursor_literal(&value, "AWS4-"))
		return STATUS_NOT_FOUND;
	if (!cursor_literal(&value, "HMAC-SHA256 "))
		return STATUS_REFUSED;
	while (header_member(&value, &part))
		if (!read_part(part, &auth))
			return STATUS_MALFORMED;
	if (auth.key_id.left == 0 || auth.names.left == 0 ||
	    auth.signature.left == 0)
		return STATUS_MALFORMED;
	*ret = auth;
	return STATUS_OK;
}

bool
awsauth_is_time(struct cursor text)
{
	struct cursor date, hour;

	return cursor_take(&text, AWSAUTH_DATE, &date) &&
	       is_decimal(date, AWSAUTH_DATE) && cursor_literal(&text, "T") &&
	       cursor_take(&text, 6, &hour) && is_decimal(hour, 6) &&
	       cursor_equals(text, "Z");
}

/* Whether key, percent-decoded, is word without regard to case. */
static bool
key_is(struct cursor key, const char *word)
{
	struct cursor wanted = cursor_of_text(word), digits;
	uint64_t byte;
	uint8_t raw, want;

	while (cursor_u8(&key, &raw)) {
		byte = raw;
		if (raw == '%' &&
		    (!cursor_take(&key, 2, &digits) ||
			!cursor_hex(&digits, 255, &byte) || digits.left > 0))
			return false;
		if (byte >= 'A' && byte <= 'Z')
			byte += 'a' - 'A';
		if (!cursor_u8(&wanted, &want) || want != byte)
			return false;
	}
	return cursor_is_empty(&wanted);
}

bool
awsauth_query_is_signed(struct cursor query)
{
	/* The second is that of Signature Version 2. */
	static const char *const keys[] = { "x-amz-signature", "signature",
		"x-amz-credential", "x-amz-algorithm", "awsaccesskeyid" };
	struct cursor pair, key;
	bool more = true;

	while (more) {
		more = cursor_until(&query, '&', &pair);
		if (!more)
			pair = query;
		if (!cursor_until(&pair, '=', &key))
			key = pair;
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (key_is(key, keys[i]))
				return true;
	}
	return false;
}
