/*
 * claims - the payload of an access token of ours (RFC 9068, RFC 8693 section
 * 4) as text, and back.
 *
 * Only what claims_write() could have written is read: every member there,
 * of its type and size, none twice and none unknown, times as whole numbers,
 * one audience.  Who may have the token is not decided here.
 */
#ifndef BROKER_CLAIMS_H
#define BROKER_CLAIMS_H

#include "schema/token.h"

/* Issuer is the same for all tokens of a broker.  Borrows both. */
void claims_write(
    const struct token *token, const char *issuer, struct cursor_writer *out);

/*
 * STATUS_MALFORMED; STATUS_REFUSED for claims of another issuer, also when
 * they are otherwise sound.
 */
int claims_read(struct cursor payload, const char *issuer, struct token *ret)
    MUST_CHECK;

#endif
