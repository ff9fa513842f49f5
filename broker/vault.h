/*
 * vault - long-lived secrets by name, in memory that is locked and never
 * dumped.
 *
 * Each is there once, from the load of a run to its end; kinds borrow it for
 * the moment in which they mint.
 */
#ifndef BROKER_VAULT_H
#define BROKER_VAULT_H

#include "schema/limits.h"
#include "schema/secret.h"

struct vault_entry {
	char name[LIMIT_CREDENTIAL_NAME + 1];
	struct secret *secret;
};

struct vault {
	struct vault_entry *entries; /* LIMIT_CREDENTIALS */
	size_t count;
};

/* STATUS_NO_MEMORY. */
int vault_init(struct vault *vault) MUST_CHECK;

/* Wipes everything. */
void vault_done(struct vault *vault);

/*
 * Takes secret, also on failure, in the place of one of that name.  Gives it
 * back to be borrowed; NULL when the vault is full.
 */
const struct secret *vault_put(
    struct vault *vault, const char *name, struct secret *secret) MUST_CHECK;

/* Wipes the one of that name, if there is one. */
void vault_drop(struct vault *vault, const char *name);

#endif
