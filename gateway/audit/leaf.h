/*
 * leaf - rows of the database as the bytes that are proven.
 *
 * A row of event is its 26 columns in order, with the natural keys (uid, sub,
 * jti, SHA-256, names) in the place of ids, so that a proof can be read
 * without the dictionaries.  A row of a dictionary is its table's name and
 * all columns, but for a run's end, which its last row says.
 *
 * The writer makes a row's leaf from the event in memory, the verifier from
 * the file: leaf_event() and leaf_event_sql give the same bytes.
 */
#ifndef GATEWAY_AUDIT_LEAF_H
#define GATEWAY_AUDIT_LEAF_H

#include "schema/cursor.h"

#include <stdbool.h>

struct digester;
struct event;
struct sqlite3_stmt;

#define LEAF_COLUMNS 26

/* What stands for ids; empty where the row has none. */
struct leaf_keys {
	struct cursor sandbox, principal, policy, rule;
};

/* Begins the leaf and puts the row; the caller ends it. */
void leaf_event(struct digester *digester, int64_t seq,
    const struct event *event, const struct leaf_keys *keys);

/*
 * The rows from ?1 to ?2: LEAF_COLUMNS columns, then 1 when an id names no
 * entry or a rule is another policy's, then the row's sandbox_id.
 */
extern const char leaf_event_sql[];

/* The dictionaries, in the order their entries stand in a block. */
enum leaf_table {
	LEAF_SANDBOX,
	LEAF_PRINCIPAL,
	LEAF_DST,
	LEAF_CRED,
	LEAF_TOKEN,
	LEAF_POLICY,
	LEAF_RULE,
	LEAF_TABLES
};
const char *leaf_table_name(enum leaf_table table);

/* Entries by id, from ?1 to ?2; the first column is the id. */
const char *leaf_table_sql(enum leaf_table table);
const char *leaf_table_last_sql(enum leaf_table table);

/* Begins the leaf of the entry that statement stands on. */
void leaf_entry(struct digester *digester, enum leaf_table table,
    struct sqlite3_stmt *statement);

/* All numbers and their names, which are one leaf. */
extern const char leaf_names_sql[];

/* Runs a statement of leaf_names_sql; false when it fails. */
bool leaf_names(struct digester *digester, struct sqlite3_stmt *statement)
    MUST_CHECK;

#endif
