/*
 * pem - the certificates in a text, as DER (RFC 7468).
 *
 * OpenSSL reads the same, at some 15 us a certificate: two milliseconds for
 * the roots of a machine, at the start of every run.  What stands between
 * certificates is passed over, and so is a block that is not base64; whether
 * DER is a certificate is for its reader to say.
 */
#ifndef GATEWAY_TLS_PEM_H
#define GATEWAY_TLS_PEM_H

#include "schema/attr.h"
#include "schema/cursor.h"

#include <stdbool.h>

/*
 * Appends the next certificate to out, which has room when it has as much as
 * the text, and moves text behind it.  False when there is none any more.
 */
bool pem_next(struct cursor *text, struct cursor_writer *out) MUST_CHECK;

#endif
