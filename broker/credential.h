/*
 * credential - one entry of the credential file, once it is read.
 */
#ifndef BROKER_CREDENTIAL_H
#define BROKER_CREDENTIAL_H

#include "broker/scope.h"
#include "broker/source.h"
#include "schema/limits.h"

struct mint;
struct secret;

struct credential {
	char name[LIMIT_CREDENTIAL_NAME + 1];
	const struct mint *mint;
	void *config; /* the kind's own; owned through mint->free */
	struct scope scope;
	char stead[4]; /* of "pqb": where it replaces its placeholder */
	struct source source;
	const struct secret *secret; /* borrows from the vault; NULL: none */
	/* Whose grant is the secret, of SOURCE_CREDENTIAL; or NULL. */
	const struct credential *origin;
};

#endif
