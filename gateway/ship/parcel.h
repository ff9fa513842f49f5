/*
 * parcel - rows of SQLite as the text that PostgreSQL's COPY reads.
 *
 * It grows as it must; what it holds is bounded by who fills it.
 */
#ifndef GATEWAY_SHIP_PARCEL_H
#define GATEWAY_SHIP_PARCEL_H

#include "schema/cursor.h"

#include <stddef.h>

struct sqlite3_stmt;

struct parcel {
	char *bytes;
	size_t used, room;
	size_t rows;
};

void parcel_done(struct parcel *parcel);
void parcel_empty(struct parcel *parcel);

/* The row that the statement stands on.  STATUS_NO_MEMORY. */
int parcel_put(struct parcel *parcel, struct sqlite3_stmt *row) MUST_CHECK;

struct cursor parcel_text(const struct parcel *parcel);

#endif
