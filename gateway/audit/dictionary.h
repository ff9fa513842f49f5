/*
 * dictionary - the ids of strings that rows have named, in memory.
 *
 * A memory of the database's dictionary tables, never the truth: what is not
 * here is asked of the table.  What a transaction has added is taken back
 * when the transaction is.  At LIMIT_AUDIT_STRINGS it starts anew, so a
 * sandbox that makes up names costs bounded memory.
 */
#ifndef GATEWAY_AUDIT_DICTIONARY_H
#define GATEWAY_AUDIT_DICTIONARY_H

#include "schema/cursor.h"

#include <stdint.h>

enum dictionary_table {
	DICTIONARY_PRINCIPAL,
	DICTIONARY_DST,
	DICTIONARY_CRED,
	DICTIONARY_POLICY, /* the key is a SHA-256 */
	DICTIONARY_RULE /* the key is the policy's id and the name */
};

struct dictionary;

struct dictionary *dictionary_new(void) MUST_CHECK;
void dictionary_free(struct dictionary *dictionary);

/* 0 when it is not remembered. */
int64_t dictionary_find(const struct dictionary *dictionary,
    enum dictionary_table table, struct cursor key);

/* Copies the key.  Without memory nothing is remembered, which is no error. */
void dictionary_add(struct dictionary *dictionary, enum dictionary_table table,
    struct cursor key, int64_t id);

/* Begins a transaction; dictionary_forget() drops what was added since. */
void dictionary_begin(struct dictionary *dictionary);
void dictionary_forget(struct dictionary *dictionary);

#endif
