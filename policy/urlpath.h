/*
 * urlpath - a URL path made canonical once, so that no later code sees two
 * spellings.
 *
 * Percent-encoded unreserved characters are decoded, the hexadecimal digits
 * of the others are made upper case (RFC 3986 section 6.2.2), dot segments
 * are removed.  What two readers could read differently is refused: a
 * backslash, "//", an encoded dot segment that would climb, a bad percent
 * encoding, an encoded NUL or control byte, ";" right behind a dot segment.
 * "%2F" stays as it is, inside its segment.
 *
 * The canonical form is what rules match and what goes outside.
 */
#ifndef POLICY_URLPATH_H
#define POLICY_URLPATH_H

#include "schema/cursor.h"
#include "schema/limits.h"

struct urlpath {
	size_t length;
	char text[LIMIT_HTTP_URI + 1]; /* with a NUL */
};

/*
 * Reads the path of a request target, up to '?' or the end; *ret_query is
 * what stands behind '?', or empty.  STATUS_MALFORMED when it is ambiguous,
 * STATUS_TOO_LONG.
 */
int urlpath_parse(struct cursor target, struct urlpath *ret,
    struct cursor *ret_query) MUST_CHECK;

#endif
