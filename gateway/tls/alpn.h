/*
 * alpn - lists of protocol names in the form that TLS wants (RFC 7301).
 */
#ifndef GATEWAY_TLS_ALPN_H
#define GATEWAY_TLS_ALPN_H

#include "schema/attr.h"
#include "schema/cursor.h"

/* Room for the names that we speak, and some more. */
#define ALPN_WIRE_MAX 64

/*
 * Writes names, NULL behind the last, as a list; STATUS_TOO_LONG when a name
 * is empty or too long, or the list does not fit.
 */
int alpn_write(const char *const *names, struct cursor_writer *out) MUST_CHECK;

/*
 * The first of names that offered has; offered is a list as a peer sent it.
 * STATUS_NOT_FOUND when there is none, STATUS_MALFORMED when the list is.
 */
int alpn_choose(const char *const *names, struct cursor offered,
    struct cursor *ret) MUST_CHECK;

#endif
