/*
 * awsform - a request in the canonical form that AWS Signature Version 4
 * signs.
 *
 * Method, path, query, the signed headers and their names, and the hash of
 * the payload or the word that stands for it, a line each.  Both signatures
 * are made from it: the one that a client made, from what it sent, and ours,
 * from what goes outside.
 *
 * Pure: nothing is hashed here.
 */
#ifndef GATEWAY_PROTO_AWSFORM_H
#define GATEWAY_PROTO_AWSFORM_H

#include "schema/attr.h"
#include "schema/cursor.h"

struct header;

/* How the service reads a path. */
enum awsform_path {
	/* Segments cleaned up, and encoded again over what is encoded. */
	AWSFORM_TWICE,
	/* S3: as it is sent, encoded where it is not yet. */
	AWSFORM_ONCE
};

struct awsform {
	struct cursor method;
	enum awsform_path rule;
	struct cursor path, query; /* as sent, without the '?' */
	struct cursor host; /* the Host field */
	struct cursor length; /* the Content-Length field, or empty */
	const struct header *header; /* the other fields */
	struct cursor names; /* of signed headers: "a;b;c", rising */
	struct cursor payload; /* the last line */
};

/*
 * Writes it.  STATUS_NOT_FOUND when a signed header is not there,
 * STATUS_MALFORMED for a bad percent encoding in the query, STATUS_TOO_LONG
 * when out has no room, STATUS_FULL for more than LIMIT_AWS_PARAMETERS.
 */
int awsform_write(const struct awsform *form, struct cursor_writer *out)
    MUST_CHECK;

/*
 * Writes the names to be signed of what goes outside: host, what the client
 * had signed (also as "a;b;c"), everything of AWS's own and Content-Type; never
 * a field that may change on its way.  Rising.
 */
int awsform_names(const struct header *header, struct cursor also,
    struct cursor_writer *out) MUST_CHECK;

#endif
