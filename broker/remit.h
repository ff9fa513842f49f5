/*
 * remit - the scope of a token: the names of what it may be used for.
 *
 * A list of words with one blank between them, none twice (RFC 6749 section
 * 3.3).  What a word means, the policy and the credential file say: so a word
 * is there or is not, and never a pattern.
 */
#ifndef BROKER_REMIT_H
#define BROKER_REMIT_H

#include "schema/cursor.h"
#include "schema/limits.h"

/* At most LIMIT_SCOPES words in LIMIT_SCOPE bytes; the empty list is none. */
bool remit_is_sound(const char *remit) MUST_CHECK;

/* Whether word stands in it. */
bool remit_has(const char *remit, struct cursor word) MUST_CHECK;

/* Whether every word of it stands in within. */
bool remit_is_within(const char *remit, const char *within) MUST_CHECK;

/*
 * Splits the words of remit: those that also stand in other, and those that do
 * not, in their order.  ret_dropped may be NULL.
 */
void remit_cut(const char *remit, const char *other, char ret[LIMIT_SCOPE + 1],
    char ret_dropped[LIMIT_SCOPE + 1]);

#endif
