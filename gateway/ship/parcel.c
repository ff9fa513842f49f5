#include "gateway/ship/parcel.h"

#include "schema/status.h"
#include "schema/visible.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FIRST_ROOM = 65536,
	NUMBER = 24 /* the text of a number, and what stands behind it */
};

void
parcel_done(struct parcel *parcel)
{
	free(parcel->bytes);
	*parcel = (struct parcel){ .bytes = NULL };
}

void
parcel_empty(struct parcel *parcel)
{
	parcel->used = 0;
	parcel->rows = 0;
}

struct cursor
parcel_text(const struct parcel *parcel)
{
	return cursor_of(parcel->bytes, parcel->used);
}

static bool
make_room(struct parcel *parcel, size_t more)
{
	size_t room = parcel->room == 0 ? FIRST_ROOM : parcel->room;
	char *bytes;

	while (room - parcel->used < more)
		room *= 2;
	if (room == parcel->room)
		return true;
	bytes = reallocarray(parcel->bytes, room, 1);
	if (bytes == NULL)
		return false;
	parcel->bytes = bytes;
	parcel->room = room;
	return true;
}

static void
put(struct parcel *parcel, char byte)
{
	parcel->bytes[parcel->used++] = byte;
}

static void
put_escape(struct parcel *parcel, uint32_t character)
{
	put(parcel, '\\');
	switch (character) {
	case '\t':
		put(parcel, 't');
		return;
	case '\n':
		put(parcel, 'n');
		return;
	case '\r':
		put(parcel, 'r');
		return;
	default:
		put(parcel, '\\');
	}
}

/*
 * PostgreSQL takes no NUL and nothing that is not UTF-8: such bytes become
 * question marks, and verify will tell of the row.
 */
static void
put_text(struct parcel *parcel, struct cursor text)
{
	while (text.left > 0) {
		struct cursor before = text;
		uint32_t character;

		if (!visible_take(&text, &character) || character == 0) {
			text = before;
			text.at++;
			text.left--;
			put(parcel, '?');
			continue;
		}
		if (character == '\\' || character == '\t' ||
		    character == '\n' || character == '\r') {
			put_escape(parcel, character);
			continue;
		}
		for (; before.left > text.left; before.left--)
			put(parcel, (char)*before.at++);
	}
}

static void
put_bytes(struct parcel *parcel, struct cursor bytes)
{
	static const char hex[] = "0123456789abcdef";

	put(parcel, '\\');
	put(parcel, '\\');
	put(parcel, 'x');
	for (size_t i = 0; i < bytes.left; i++) {
		put(parcel, hex[bytes.at[i] >> 4]);
		put(parcel, hex[bytes.at[i] & 15]);
	}
}

static bool
put_value(struct parcel *parcel, sqlite3_stmt *row, int column)
{
	size_t length = (size_t)sqlite3_column_bytes(row, column);
	struct cursor value;

	if (!make_room(parcel, 2 * length + NUMBER))
		return false;
	switch (sqlite3_column_type(row, column)) {
	case SQLITE_INTEGER:
		parcel->used +=
		    (size_t)snprintf(parcel->bytes + parcel->used, NUMBER,
			"%" PRId64, (int64_t)sqlite3_column_int64(row, column));
		return true;
	case SQLITE_TEXT:
		value = cursor_of(sqlite3_column_text(row, column), length);
		put_text(parcel, value);
		return true;
	case SQLITE_BLOB:
		value = cursor_of(sqlite3_column_blob(row, column), length);
		put_bytes(parcel, value);
		return true;
	default:
		put(parcel, '\\');
		put(parcel, 'N');
		return true;
	}
}

int
parcel_put(struct parcel *parcel, struct sqlite3_stmt *row)
{
	int count = sqlite3_column_count(row);

	for (int i = 0; i < count; i++) {
		if (!put_value(parcel, row, i) || !make_room(parcel, 1))
			return STATUS_NO_MEMORY;
		put(parcel, i + 1 < count ? '\t' : '\n');
	}
	parcel->rows++;
	return STATUS_OK;
}
