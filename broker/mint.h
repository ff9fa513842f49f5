/*
 * mint - the shape of a kind of credential: how a stored secret becomes a
 * grant.
 *
 * begin() gives the grant at once, or an errand to be run by exeat-fetch;
 * then resume() gets its answer, and may ask for another.  Nothing here
 * waits, reads a clock or touches a network.  Minted grants are kept and
 * reused by broker/lease, which asks again at 80 % of their life, one question
 * at a time for each credential and scope: a kind never keeps one itself.
 */
#ifndef BROKER_MINT_H
#define BROKER_MINT_H

#include "broker/credential.h"
#include "schema/grant.h"

struct errand; /* schema/errand.h */
struct errand_answer;
struct keep;
struct keyring;
struct reading;

enum mint_step {
	MINT_GRANTED, /* work->grant is filled */
	MINT_ERRAND, /* work->errand is to be run */
	MINT_AGAIN, /* begin() again a little later; work->why says why */
	MINT_REFUSED /* work->why says so, in words for the owner */
};

/* What all questions of a run have in common. */
struct mint_run {
	const char *uid;
	const char *principal;
	const char *issuer; /* our own, for assertions; NULL when there is none
			     */
	const struct keyring *keyring; /* that signs them; NULL likewise */
	struct keep *keep; /* where renewed tokens go; NULL: nowhere */
};

struct mint_work {
	const struct credential *credential;
	const struct mint_run *run;
	const struct grant_question *question;
	int64_t now_s; /* wall clock */
	void *state; /* the kind's own between steps; free it with forget() */
	/* With MINT_ERRAND: in state, until resume(); its number is ours. */
	struct errand *errand;
	/* With MINT_GRANTED: fields, and lease_ms as the life of the whole. */
	struct grant *grant;
	/* With MINT_REFUSED; nothing of a secret may stand in it. */
	char why[LIMIT_GRANT_TEXT + 1];
	bool quotes; /* somebody else's words are in it: for the owner alone */
};

struct mint {
	const char *kind; /* as the credential file has it */
	bool has_source; /* its "source" is required, else not allowed */
	bool may_lack_source; /* required no more: it can do without */
	bool has_hosts; /* its "hosts" are required: it is put in requests */
	bool by_scope; /* grants differ by host or scope of the question */
	const char *const *keys; /* members of its own, NULL-ended */

	/*
	 * Reads the members of its own; reports what is wrong.  What it gives
	 * becomes credential->config; NULL is fine where it needs none.
	 */
	void *(*read)(const struct reading *reading);
	void (*free)(void *config);
	/* Whether the secret of its source will do; may be NULL. */
	int (*check)(
	    const struct credential *credential, struct problem *reterr);

	enum mint_step (*begin)(struct mint_work *work);
	enum mint_step (*resume)(
	    struct mint_work *work, const struct errand_answer *answer);
	/*
	 * The run is over, or the credential revoked: gives back what was
	 * minted, in work->grant, by an errand.  May be NULL.
	 */
	enum mint_step (*give_back)(struct mint_work *work);
	void (*forget)(void *state);
};

/* What a library would else open files for, once it is too late. */
int mint_prepare(void) MUST_CHECK;

/* Fills work->why. */
enum mint_step mint_refuse(struct mint_work *work, const char *format, ...)
    PRINTF_LIKE(2, 3);

#endif
