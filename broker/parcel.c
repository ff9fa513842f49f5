#include "broker/parcel.h"

#include "broker/base64.h"
#include "schema/secret.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * The body grows from the middle, so that fields may still be added while it
 * does.  Assertions and secrets stand in one or the other, never in both.
 */
enum {
	PARCEL_ROOM = LIMIT_SECRET,
	PARCEL_HEAD = PARCEL_ROOM / 2
};

struct parcel {
	struct errand errand;
	struct secret *room;
	struct cursor_writer head, body;
	struct json json;
	bool full;
};

struct parcel *
parcel_new(uint16_t endpoint, enum errand_method method)
{
	struct parcel *parcel = calloc(1, sizeof(*parcel));
	unsigned char *bytes;

	if (parcel == NULL)
		return NULL;
	parcel->room = secret_room(PARCEL_ROOM);
	if (parcel->room == NULL) {
		free(parcel);
		return NULL;
	}
	bytes = secret_fill(parcel->room);
	parcel->head = cursor_writer_of(bytes, PARCEL_HEAD);
	parcel->body =
	    cursor_writer_of(bytes + PARCEL_HEAD, PARCEL_ROOM - PARCEL_HEAD);
	parcel->errand.endpoint = endpoint;
	parcel->errand.method = method;
	return parcel;
}

void
parcel_free(struct parcel *parcel)
{
	if (parcel == NULL)
		return;
	secret_free(parcel->room);
	free(parcel);
}

/* Adds a field whose value is what was written to the head since before. */
static void
add_field(struct parcel *parcel, const char *name, size_t before)
{
	struct errand *errand = &parcel->errand;

	if (errand->field_count == LIMIT_ERRAND_FIELDS) {
		parcel->full = true;
		return;
	}
	errand->fields[errand->field_count++] =
	    (struct errand_field){ .name = cursor_of_text(name),
		    .value = cursor_of(parcel->head.bytes + before,
			parcel->head.used - before) };
}

void
parcel_field(struct parcel *parcel, const char *name, const char *first,
    struct cursor second)
{
	size_t before;

	if (parcel == NULL)
		return;
	before = parcel->head.used;
	cursor_put_text(&parcel->head, first);
	cursor_put(&parcel->head, second.at, second.left);
	add_field(parcel, name, before);
}

/* application/x-www-form-urlencoded, with %20 for a blank. */
static void
put_encoded(struct cursor_writer *out, struct cursor text)
{
	static const char digits[] = "0123456789ABCDEF";
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~";
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

void
parcel_basic(struct parcel *parcel, const char *user, struct cursor key)
{
	size_t begin, middle;

	if (parcel == NULL)
		return;
	begin = parcel->head.used;
	put_encoded(&parcel->head, cursor_of_text(user));
	cursor_put_u8(&parcel->head, ':');
	put_encoded(&parcel->head, key);
	middle = parcel->head.used;
	cursor_put_text(&parcel->head, "Basic ");
	base64_write(cursor_of(parcel->head.bytes + begin, middle - begin),
	    &parcel->head);
	add_field(parcel, "authorization", middle);
}

void
parcel_want(struct parcel *parcel, const char *name, const char *path)
{
	struct errand *errand;

	if (parcel == NULL)
		return;
	errand = &parcel->errand;
	assert(errand->want_count < LIMIT_ERRAND_WANTS);
	errand->wants[errand->want_count++] =
	    (struct errand_want){ .name = cursor_of_text(name),
		    .path = cursor_of_text(path) };
}

void
parcel_pair(struct parcel *parcel, const char *key, struct cursor value)
{
	if (parcel == NULL || value.at == NULL)
		return;
	if (parcel->body.used == 0)
		parcel_field(parcel, "content-type",
		    "application/x-www-form-urlencoded", cursor_of(NULL, 0));
	else
		cursor_put_u8(&parcel->body, '&');
	put_encoded(&parcel->body, cursor_of_text(key));
	cursor_put_u8(&parcel->body, '=');
	put_encoded(&parcel->body, value);
}

struct json *
parcel_json(struct parcel *parcel)
{
	if (parcel == NULL)
		return NULL;
	parcel_field(
	    parcel, "content-type", "application/json", cursor_of(NULL, 0));
	parcel->json = json_to(&parcel->body);
	return &parcel->json;
}

struct errand *
parcel_errand(struct parcel *parcel)
{
	if (parcel == NULL || parcel->full || !cursor_written(&parcel->head) ||
	    !cursor_written(&parcel->body))
		return NULL;
	parcel->errand.body = cursor_of(parcel->body.bytes, parcel->body.used);
	return &parcel->errand;
}
