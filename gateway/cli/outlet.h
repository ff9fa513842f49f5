/*
 * outlet - JSON text to stdout, piece by piece, however long it gets.
 *
 * Large: keep one on the heap, not on the stack.
 */
#ifndef GATEWAY_CLI_OUTLET_H
#define GATEWAY_CLI_OUTLET_H

#include "schema/cursor.h"
#include "schema/json.h"

/* What one piece has room for: flush before it is full. */
#define OUTLET_PIECE 65536

struct outlet {
	struct json json;
	struct cursor_writer out;
	char bytes[OUTLET_PIECE];
};

/* NULL when there is no memory; to be freed with free(). */
struct outlet *outlet_new(void) MUST_CHECK;

/* Writes what has gathered; a bracket may still be open. */
void outlet_flush(struct outlet *outlet);

/* The last piece and the end of the line; NULL is fine. */
void outlet_end(struct outlet *outlet);

#endif
