/*
 * jks - trusted certificates as a Java key store.
 *
 * Java reads neither PEM bundles nor OpenSSL's variables.  The format is the
 * old one, JKS version 2, because every Java from 8 on reads it whatever its
 * default is, and because OpenSSL before 3.2 cannot mark the entries of a
 * PKCS #12 file as trusted in Java's way.  Its digest is no protection, and
 * need not be one: the file is sealed and then only read.
 */
#ifndef GATEWAY_TLS_JKS_H
#define GATEWAY_TLS_JKS_H

#include "schema/attr.h"
#include "schema/cursor.h"

#define JKS_PASSWORD "changeit" /* the one that Java's own store has */
#define JKS_MORE 64 /* its head and digest; an entry is less than its PEM */

/*
 * Writes the store of all certificates that the PEM texts hold, in their
 * order, all of them added in 1970: the same texts give the same bytes.  What
 * is no certificate is passed over.  STATUS_TOO_LONG when out is too small:
 * JKS_MORE bytes more than the texts have is enough.  STATUS_SYSTEM when there
 * is no digest.
 */
int jks_write(const struct cursor *texts, size_t count,
    struct cursor_writer *out) MUST_CHECK;

#endif
