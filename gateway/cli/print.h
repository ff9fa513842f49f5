/*
 * print - rows of an answer, for people or for programs.
 *
 * For people: a table that fits the terminal, or one line a value where it
 * cannot.  What stands in a row may have come from a sandbox, so control
 * bytes, bytes that are not UTF-8 and characters that turn the direction of
 * text are shown as \xNN or \uNNNN and never sent to the terminal.  Moments in
 * columns whose names end with _us are shown as dates.  For programs: JSON,
 * with every value as it is.
 */
#ifndef GATEWAY_CLI_PRINT_H
#define GATEWAY_CLI_PRINT_H

#include "schema/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct query_cell;
struct print;

enum print_form {
	PRINT_TABLE, /* held back until the end, to know the widths */
	PRINT_RECORD, /* a line for each value that is there */
	PRINT_LINES, /* values side by side, at once: for what goes on */
	PRINT_JSON_LINES, /* one object a row */
	PRINT_JSON_ARRAY /* one array of objects */
};

/* out is borrowed; NULL when there is no memory. */
struct print *print_new(FILE *out, enum print_form form) MUST_CHECK;
void print_free(struct print *print);

/* Names of the columns, as text; before the rows. */
void print_columns(
    struct print *print, const struct query_cell *names, size_t count);

/* False when nothing more can be written: no reader, or no memory. */
bool print_row(
    struct print *print, const struct query_cell *cells, size_t count);

/* Writes what is held back; false when it could not be written. */
bool print_end(struct print *print) MUST_CHECK;

size_t print_count(const struct print *print);

#endif
