/*
 * issuer - our own access tokens: issued, exchanged, verified, revoked.
 *
 * One for a run that has an identity.  Its key is made with it and is never
 * written down: what it has signed is worth nothing to any other run, and
 * nothing once the run is over.  All tokens descend from the root of the run,
 * which has no text, so that nobody can steal it.
 *
 * No clock is read here; chance comes from OpenSSL.
 */
#ifndef BROKER_ISSUER_H
#define BROKER_ISSUER_H

#include "broker/jws.h"
#include "schema/token.h"

struct agent;
struct agents;
struct issuer;
struct lineage;

/* Who issues and who is meant when no URL is the issuer's own. */
#define ISSUER_NAME "http://exeat.internal"

struct issuer_setup {
	const struct agents *agents;
	const struct agent *agent; /* whom the run is */
	const char *name; /* our own; NULL: ISSUER_NAME */
	const char *run;
};

/* All borrowed until issuer_free(); NULL without memory or chance. */
struct issuer *issuer_new(const struct issuer_setup *setup, int64_t now_s)
    MUST_CHECK;
void issuer_free(struct issuer *issuer);

/* Of the run; it is over with the run, and says so by the last second. */
const struct token *issuer_root(const struct issuer *issuer);

/* Whether the root was not revoked. */
bool issuer_holds(const struct issuer *issuer);

const struct lineage *issuer_lineage(const struct issuer *issuer);

/* What came of a question, and what its row says. */
struct issuer_outcome {
	bool well; /* else refusal says why not */
	struct token_refusal refusal;
	/*
	 * The new token, or the one that was shown or revoked; without an id
	 * when there is none.  What nobody vouches for is what an unverified
	 * token says of itself.
	 */
	struct token token;
	bool unvouched;
	enum jws_fault fault; /* of the one that was shown */
	unsigned char text[LIMIT_TOKEN]; /* of a new one */
	size_t length;
	char dropped[LIMIT_SCOPE + 1]; /* asked for, and not given */
	size_t revoked; /* how many, descendants included */
};

/* Fills all of *ret, which is large. */
void issuer_answer(struct issuer *issuer, const struct token_question *question,
    int64_t now_s, struct issuer_outcome *ret);

#endif
