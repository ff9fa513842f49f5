#include "gateway/proto/awsform.h"

#include "gateway/proto/header.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

static bool
is_unreserved(uint64_t byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' ||
	       byte == '_' || byte == '~';
}

static void
put_encoded(struct cursor_writer *out, uint64_t byte)
{
	static const char digits[] = "0123456789ABCDEF";

	if (is_unreserved(byte)) {
		cursor_put_u8(out, (uint8_t)byte);
		return;
	}
	cursor_put_u8(out, '%');
	cursor_put_u8(out, (uint8_t)digits[byte >> 4]);
	cursor_put_u8(out, (uint8_t)digits[byte & 15]);
}

/* Behind a '%': exactly two hexadecimal digits. */
static bool
take_encoded(struct cursor *in, uint64_t *ret)
{
	struct cursor at = *in, digits;

	if (!cursor_take(&at, 2, &digits) || !cursor_hex(&digits, 255, ret) ||
	    digits.left > 0)
		return false;
	*in = at;
	return true;
}

/* ---- the path ---- */

static void
put_path_once(struct cursor path, struct cursor_writer *out)
{
	static const char digits[] = "0123456789ABCDEF";
	uint64_t encoded;
	uint8_t byte;

	while (cursor_u8(&path, &byte)) {
		if (byte == '%' && take_encoded(&path, &encoded)) {
			cursor_put_u8(out, '%');
			cursor_put_u8(out, (uint8_t)digits[encoded >> 4]);
			cursor_put_u8(out, (uint8_t)digits[encoded & 15]);
		} else if (byte == '/') {
			cursor_put_u8(out, byte);
		} else {
			put_encoded(out, byte);
		}
	}
}

/* Takes back the last segment and the slash before it, down to a floor. */
static void
climb(struct cursor_writer *out, size_t floor)
{
	while (out->used > floor && out->bytes[out->used - 1] != '/')
		out->used--;
	if (out->used > floor)
		out->used--;
}

/* Cleans up dots and empty segments, and encodes what is left. */
static void
put_path_twice(struct cursor path, struct cursor_writer *out)
{
	size_t floor = out->used;
	struct cursor segment;
	bool more = true, directory = true;

	while (more) {
		more = cursor_until(&path, '/', &segment);
		if (!more)
			segment = path;
		directory = segment.left == 0 || cursor_equals(segment, ".") ||
			    cursor_equals(segment, "..");
		if (cursor_equals(segment, ".."))
			climb(out, floor);
		if (directory)
			continue;
		cursor_put_u8(out, '/');
		for (size_t i = 0; i < segment.left; i++)
			put_encoded(out, segment.at[i]);
	}
	if (directory || out->used == floor)
		cursor_put_u8(out, '/');
}

/* ---- the query ---- */

struct parameter {
	struct cursor key, value; /* as canonical text */
};

static int
compare_text(struct cursor a, struct cursor b)
{
	size_t both = a.left < b.left ? a.left : b.left;
	int order = both == 0 ? 0 : memcmp(a.at, b.at, both);

	if (order != 0)
		return order;
	return a.left < b.left ? -1 : a.left > b.left;
}

static int
compare_parameters(const void *left, const void *right)
{
	const struct parameter *a = left, *b = right;
	int order = compare_text(a->key, b->key);

	return order != 0 ? order : compare_text(a->value, b->value);
}

/* Writes text decoded and encoded anew; *ret is where it stands. */
static int
put_parameter(struct cursor text, struct cursor_writer *out, struct cursor *ret)
{
	size_t before = out->used;
	uint64_t encoded;
	uint8_t byte;

	while (cursor_u8(&text, &byte)) {
		encoded = byte;
		if (byte == '%' && !take_encoded(&text, &encoded))
			return STATUS_MALFORMED;
		put_encoded(out, encoded);
	}
	if (!cursor_written(out))
		return STATUS_TOO_LONG;
	*ret = cursor_of(out->bytes + before, out->used - before);
	return STATUS_OK;
}

static int
split_query(struct cursor query, struct cursor_writer *scratch,
    struct parameter *list, size_t *ret)
{
	struct cursor pair, key;
	size_t count = 0;
	bool more = true;
	int status;

	while (more) {
		more = cursor_until(&query, '&', &pair);
		if (!more)
			pair = query;
		if (pair.left == 0)
			continue;
		if (count == LIMIT_AWS_PARAMETERS)
			return STATUS_FULL;
		if (!cursor_until(&pair, '=', &key)) {
			key = pair;
			pair = cursor_of(pair.at, 0);
		}
		status = put_parameter(key, scratch, &list[count].key);
		if (status == STATUS_OK)
			status =
			    put_parameter(pair, scratch, &list[count].value);
		if (status != STATUS_OK)
			return status;
		count++;
	}
	*ret = count;
	return STATUS_OK;
}

/*
 * The parameters are encoded behind what is written already, sorted, and
 * written in order behind themselves; then the first copy is closed up.
 */
static int
put_query(struct cursor query, struct cursor_writer *out)
{
	struct parameter list[LIMIT_AWS_PARAMETERS];
	size_t count = 0, begin = out->used, middle;
	int status = split_query(query, out, list, &count);

	if (status != STATUS_OK || count == 0)
		return status;
	middle = out->used;
	qsort(list, count, sizeof(list[0]), compare_parameters);
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			cursor_put_u8(out, '&');
		cursor_put(out, list[i].key.at, list[i].key.left);
		cursor_put_u8(out, '=');
		cursor_put(out, list[i].value.at, list[i].value.left);
	}
	if (!cursor_written(out))
		return STATUS_TOO_LONG;
	memmove(out->bytes + begin, out->bytes + middle, out->used - middle);
	out->used -= middle - begin;
	return STATUS_OK;
}

/* ---- the headers ---- */

/* Trimmed already; blanks inside become one, quoted or not. */
static void
put_value(struct cursor value, struct cursor_writer *out)
{
	bool blank = false;
	uint8_t byte;

	while (cursor_u8(&value, &byte)) {
		bool is_blank = byte == ' ' || byte == '\t';

		if (!is_blank)
			cursor_put_u8(out, byte);
		else if (!blank)
			cursor_put_u8(out, ' ');
		blank = is_blank;
	}
}

static bool
put_fields(
    const struct awsform *form, struct cursor name, struct cursor_writer *out)
{
	const struct header *header = form->header;
	bool found = false;

	if (cursor_equals(name, "host")) {
		put_value(form->host, out);
		return form->host.left > 0;
	}
	if (cursor_equals(name, "content-length")) {
		put_value(form->length, out);
		return form->length.left > 0;
	}
	for (size_t i = 0; i < header->count; i++) {
		if (!header_same(header->fields[i].name, name))
			continue;
		if (found)
			cursor_put_u8(out, ',');
		put_value(header->fields[i].value, out);
		found = true;
	}
	return found;
}

static int
put_headers(const struct awsform *form, struct cursor_writer *out)
{
	struct cursor names = form->names, name;
	bool more = true;

	while (more) {
		more = cursor_until(&names, ';', &name);
		if (!more)
			name = names;
		cursor_put(out, name.at, name.left);
		cursor_put_u8(out, ':');
		if (!put_fields(form, name, out))
			return STATUS_NOT_FOUND;
		cursor_put_u8(out, '\n');
	}
	return STATUS_OK;
}

int
awsform_write(const struct awsform *form, struct cursor_writer *out)
{
	int status;

	cursor_put(out, form->method.at, form->method.left);
	cursor_put_u8(out, '\n');
	if (form->rule == AWSFORM_ONCE)
		put_path_once(form->path, out);
	else
		put_path_twice(form->path, out);
	cursor_put_u8(out, '\n');
	status = put_query(form->query, out);
	if (status != STATUS_OK)
		return status;
	cursor_put_u8(out, '\n');
	status = put_headers(form, out);
	if (status != STATUS_OK)
		return status;
	cursor_put_u8(out, '\n');
	cursor_put(out, form->names.at, form->names.left);
	cursor_put_u8(out, '\n');
	cursor_put(out, form->payload.at, form->payload.left);
	return cursor_written(out) ? STATUS_OK : STATUS_TOO_LONG;
}

/* ---- which to sign ---- */

/* What a proxy or a server on the way may change, or that we do. */
static bool
may_change(struct cursor name)
{
	static const char *const names[] = { "authorization", "connection",
		"content-length", "expect", "host", "keep-alive",
		"proxy-authenticate", "proxy-authorization", "te", "trailer",
		"transfer-encoding", "upgrade", "user-agent",
		"x-amzn-trace-id" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (header_is(name, names[i]))
			return true;
	return false;
}

static bool
is_named(struct cursor names, struct cursor wanted)
{
	struct cursor name;

	while (cursor_until(&names, ';', &name))
		if (header_same(name, wanted))
			return true;
	return header_same(names, wanted);
}

static bool
is_to_sign(struct cursor name, struct cursor also)
{
	struct cursor rest = name;
	struct cursor prefix;

	if (may_change(name))
		return false;
	if (header_is(name, "content-type") || is_named(also, name))
		return true;
	return cursor_take(&rest, 6, &prefix) && header_is(prefix, "x-amz-");
}

/* Without regard to case, as they will be written in lower case. */
static int
compare_names(const void *left, const void *right)
{
	const struct cursor *a = left, *b = right;
	size_t both = a->left < b->left ? a->left : b->left;

	for (size_t i = 0; i < both; i++) {
		unsigned x = a->at[i], y = b->at[i];

		if (x >= 'A' && x <= 'Z')
			x += 'a' - 'A';
		if (y >= 'A' && y <= 'Z')
			y += 'a' - 'A';
		if (x != y)
			return x < y ? -1 : 1;
	}
	return a->left < b->left ? -1 : a->left > b->left;
}

static void
put_lower(struct cursor name, struct cursor_writer *out)
{
	uint8_t byte;

	while (cursor_u8(&name, &byte)) {
		if (byte >= 'A' && byte <= 'Z')
			byte = (uint8_t)(byte + ('a' - 'A'));
		cursor_put_u8(out, byte);
	}
}

int
awsform_names(
    const struct header *header, struct cursor also, struct cursor_writer *out)
{
	struct cursor list[LIMIT_HTTP_FIELDS + 1];
	size_t count = 0;

	list[count++] = cursor_of_text("host");
	for (size_t i = 0; i < header->count; i++)
		if (is_to_sign(header->fields[i].name, also))
			list[count++] = header->fields[i].name;
	qsort(list, count, sizeof(list[0]), compare_names);
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && header_same(list[i - 1], list[i]))
			continue;
		if (i > 0)
			cursor_put_u8(out, ';');
		put_lower(list[i], out);
	}
	return cursor_written(out) ? STATUS_OK : STATUS_TOO_LONG;
}
