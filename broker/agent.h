/*
 * agent - an identity of the credential file: whom a run may be.
 *
 *   "identities": {
 *     "coder": { "scope": ["egress:default", "cred:git"],
 *                "ttl_s": 900, "may_act": ["tester"] } }
 *
 * In tokens its name is "agent:coder".  A scope is a list of words; "cred:git"
 * is the credential git of the same file, what others mean is for those who
 * check them.  may_act names the identities that may act on its behalf.
 */
#ifndef BROKER_AGENT_H
#define BROKER_AGENT_H

#include "schema/cursor.h"
#include "schema/limits.h"

struct reading;

struct agent {
	char name[LIMIT_CREDENTIAL_NAME + 1];
	char scope[LIMIT_SCOPE + 1]; /* see broker/remit.h */
	uint32_t life_s; /* of its tokens, at most */
	size_t others; /* that may act for it */
	char other[LIMIT_MAY_ACT][LIMIT_CREDENTIAL_NAME + 1];
};

struct agents {
	struct agent *list;
	size_t count;
};

/* Reads them from the top of the file, whose credentials it looks at too. */
void agents_read(const struct reading *top, struct agents *ret);
void agents_done(struct agents *agents);

/* By its name, or by the one it has in tokens; NULL: none.  Borrows. */
const struct agent *agents_find(const struct agents *agents, const char *name);
const struct agent *agents_of(
    const struct agents *agents, const char *principal);

/* The name it has in tokens. */
void agent_principal(const struct agent *agent, char out[LIMIT_PRINCIPAL + 1]);

/* Whether other may act on its behalf. */
bool agent_lets(const struct agent *agent, const struct agent *other);

#endif
