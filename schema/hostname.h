/*
 * hostname - a host name in its one canonical spelling.
 *
 * Lower case, A-labels, no trailing dot, at most 253 octets in labels of at
 * most 63 (RFC 1035 section 2.3.4), each of letters, digits, '-' and '_'.
 * What a browser or inet_aton would read as a number is not a name: a last
 * label of digits or of 0x and hexadecimal digits is refused (URL Standard,
 * "ends in a number").  Only canonical names are ever compared.
 *
 * U-labels are not read here: policy/idn turns them into this.
 */
#ifndef SCHEMA_HOSTNAME_H
#define SCHEMA_HOSTNAME_H

#include "schema/attr.h"
#include "schema/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zeroes is "no name". */
struct hostname {
	uint8_t length;
	char text[LIMIT_HOST + 1];
};

/*
 * Reads length bytes as sent by a peer.  STATUS_MALFORMED or STATUS_TOO_LONG
 * when they are no name.  One trailing dot is dropped.
 */
int hostname_parse(const char *text, size_t length, struct hostname *ret)
    MUST_CHECK;

bool hostname_is_set(const struct hostname *name);
bool hostname_equals(const struct hostname *a, const struct hostname *b);

/* Whether name stands one or more labels below zone ("a.b.c" below "b.c"). */
bool hostname_is_below(
    const struct hostname *name, const struct hostname *zone);

/* Whether text would be taken for an IPv4 number by somebody (127.1, 0x7f). */
bool hostname_ends_in_number(const char *text, size_t length);

#endif
