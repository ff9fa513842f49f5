/*
 * header - an ordered, bounded list of HTTP fields.
 *
 * Names and values are borrowed from whatever they were read from or set
 * with, usually the buffer of the message; that must outlive the list.  Every
 * name in a list is a token and every value free of control characters, with
 * no white space around it (RFC 9110 section 5): add and set see to it, so
 * that nothing written from a list can break a head.
 *
 * Names are compared without regard to ASCII case.
 */
#ifndef GATEWAY_PROTO_HEADER_H
#define GATEWAY_PROTO_HEADER_H

#include "schema/cursor.h"
#include "schema/limits.h"

struct header_field {
	struct cursor name, value;
};

/* An empty list is one whose count is 0. */
struct header {
	size_t count;
	struct header_field fields[LIMIT_HTTP_FIELDS];
};

/*
 * Adds a field at the end, with white space around the value dropped.
 * STATUS_FULL above LIMIT_HTTP_FIELDS, STATUS_MALFORMED for a name or a value
 * that is none.
 */
int header_add(struct header *header, struct cursor name, struct cursor value)
    MUST_CHECK;

/*
 * Puts value in the place of the first field of that name, or at the end, and
 * drops the others.  name and value are borrowed as long as the list lives.
 * Fails like header_add, and then leaves the list alone.
 */
int header_set(struct header *header, const char *name, struct cursor value)
    MUST_CHECK;

/* Takes all fields of that name out; gives how many there were. */
size_t header_drop(struct header *header, const char *name);

size_t header_count(const struct header *header, const char *name);

/* The value of the first field of that name. */
bool header_find(const struct header *header, const char *name,
    struct cursor *ret) MUST_CHECK;

/*
 * Whether a member of the comma separated list that all fields of that name
 * make up is this token, without regard to case (RFC 9110 section 5.6.1).
 */
bool header_lists(
    const struct header *header, const char *name, const char *token);

/*
 * Takes the next member, without the white space around it, from a comma
 * separated list of tokens; empty members are passed over.
 */
bool header_member(struct cursor *list, struct cursor *ret) MUST_CHECK;

/* Whether both are equal without regard to ASCII case. */
bool header_is(struct cursor text, const char *word);
bool header_same(struct cursor a, struct cursor b);

/* RFC 9110 sections 5.6.2 and 5.5. */
bool header_is_token(struct cursor text);
bool header_is_value(struct cursor text);

/* Every field as "name: value" with its line end, in order. */
void header_write(const struct header *header, struct cursor_writer *out);

#endif
