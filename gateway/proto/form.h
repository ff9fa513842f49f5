/*
 * form - a body of application/x-www-form-urlencoded: names and values.
 *
 * Read strictly: every pair has its "=", "%" stands before two hexadecimal
 * digits, and what comes out is printable ASCII or a blank.  RFC 6749 needs no
 * more (appendix A), and a NUL or a line break in a name or value is an attack
 * on whoever copies it.  A name may stand there twice; who asks decides.
 *
 * Pure.
 */
#ifndef GATEWAY_PROTO_FORM_H
#define GATEWAY_PROTO_FORM_H

#include "schema/cursor.h"
#include "schema/limits.h"

struct form_field {
	struct cursor name, value; /* decoded; borrow from the form */
};

struct form {
	size_t count;
	struct form_field fields[LIMIT_FORM_FIELDS];
	unsigned char bytes[LIMIT_INTERNAL_BODY];
};

/*
 * An empty body has no fields.  STATUS_MALFORMED, STATUS_FULL for more than
 * LIMIT_FORM_FIELDS, STATUS_TOO_LONG for more than LIMIT_INTERNAL_BODY bytes.
 * What stands in *ret then means nothing.
 */
int form_read(struct cursor body, struct form *ret) MUST_CHECK;

/* How many fields have that name. */
size_t form_count(const struct form *form, const char *name);

/* The value of the first one; empty when there is none. */
struct cursor form_find(const struct form *form, const char *name);

#endif
