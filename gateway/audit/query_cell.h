/*
 * query_cell - what goes into a question, and what comes out of it.
 *
 * Plain records: gateway/audit/query and what it is made of share them.
 */
#ifndef GATEWAY_AUDIT_QUERY_CELL_H
#define GATEWAY_AUDIT_QUERY_CELL_H

#include "schema/cursor.h"

#include <stdbool.h>
#include <stdint.h>

/* Columns of one answer: v_event has 25. */
#define QUERY_COLUMNS_MAX 64

enum query_type {
	QUERY_NULL,
	QUERY_INTEGER, /* number */
	QUERY_REAL, /* as text */
	QUERY_TEXT,
	QUERY_BLOB
};

/* One value; text borrows from the database until the row callback returns. */
struct query_cell {
	enum query_type type;
	int64_t number;
	struct cursor text;
};

/* One value for a parameter of the SQL, by its name without the colon. */
struct query_value {
	const char *name;
	bool is_number;
	int64_t number;
	struct cursor text;
};

struct query_values {
	const struct query_value *list;
	size_t count;
};

struct query_reader {
	/* Once, before the rows; may be NULL.  Names as text cells. */
	void (*on_columns)(
	    const struct query_cell *names, size_t count, void *arg);
	/* False ends the answer. */
	bool (*on_row)(const struct query_cell *cells, size_t count, void *arg);
	void *arg;
};

#endif
