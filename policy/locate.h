/*
 * locate - where in a JSON text a value stands: the library that reads JSON
 * forgets it.
 *
 * The text has been read once and is valid JSON; for any other the answer
 * may be wrong, but is within the text.
 */
#ifndef POLICY_LOCATE_H
#define POLICY_LOCATE_H

#include "schema/cursor.h"

/* A step down into the value at above (NULL: the whole text). */
struct place {
	const struct place *above;
	const char *key; /* of an object's member; NULL: an array's element */
	size_t index;
};

struct located {
	size_t start, end; /* in bytes; end is behind it */
	unsigned line, column; /* of the start, from 1; in characters */
};

/* False when there is no such value. */
bool locate(struct cursor text, const struct place *place, struct located *ret)
    MUST_CHECK;

/* The key of the member that the last step names. */
bool locate_key(struct cursor text, const struct place *place,
    struct located *ret) MUST_CHECK;

/* How deep arrays and objects stand in each other. */
size_t locate_depth(struct cursor text);

/* "$.rules[3].host[0]"; what does not fit is left out at the end. */
void place_print(const struct place *place, char *out, size_t size);

#endif
