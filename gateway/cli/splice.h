/*
 * splice - pieces of one line put into a text, and back from the places of
 * the new text to those of the old.
 */
#ifndef GATEWAY_CLI_SPLICE_H
#define GATEWAY_CLI_SPLICE_H

#include "policy/locate.h"
#include "schema/cursor.h"

struct splice {
	struct located at; /* what it stands instead of */
	char *text; /* ASCII, without a line's end; owned */
	size_t length;
	size_t replaced; /* characters of the old text */
};

struct splices {
	struct splice *list;
	size_t count;
};

void splices_done(struct splices *splices);

/*
 * Copies text, to stand instead of what was located.  False when there is no
 * memory.
 */
bool splices_add(struct splices *splices, const struct located *at,
    const char *text) MUST_CHECK;

/* Makes of a located object the empty place before its closing bracket. */
void splices_before_end(struct cursor text, struct located *at);

/* Gives the new text, to be freed; false when there is no memory. */
bool splices_apply(struct splices *splices, struct cursor text, char **ret,
    size_t *ret_length) MUST_CHECK;

/* Where a column of the new text stood in the old one. */
unsigned splices_column(
    const struct splices *splices, unsigned line, unsigned column);

#endif
