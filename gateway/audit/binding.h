/*
 * binding - values put into a prepared statement, and the statement run.
 *
 * Values go to the parameters in order.  What cannot be bound is remembered
 * and makes the run fail, so that it is asked once.  Bytes are borrowed until
 * the run; the statement is ready for its next use after it.
 */
#ifndef GATEWAY_AUDIT_BINDING_H
#define GATEWAY_AUDIT_BINDING_H

#include "schema/cursor.h"

#include <stdbool.h>

struct sqlite3_stmt;

/* Begins with the statement and zeroes. */
struct binding {
	struct sqlite3_stmt *statement;
	int at; /* the parameter bound last */
	bool failed;
};

void binding_id(struct binding *binding, int64_t id);

/* NULL for the number that stands for "not known". */
void binding_number(struct binding *binding, int64_t number, int64_t missing);
void binding_text(struct binding *binding, struct cursor text);

/* NULL for an empty text. */
void binding_optional(struct binding *binding, struct cursor text);

/* NULL for no bytes. */
void binding_blob(struct binding *binding, const void *bytes, size_t length);

/* Runs a statement that gives no rows; STATUS_SYSTEM when it fails. */
int binding_finish(struct binding *binding) MUST_CHECK;

/* Runs one whose first row is a number; STATUS_NOT_FOUND without a row. */
int binding_look_up(struct binding *binding, int64_t *ret) MUST_CHECK;

#endif
