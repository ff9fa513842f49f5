/*
 * lease - grants already minted: kept and reused until they run out.
 *
 * A grant is asked for again when 80 % of its life is over, less a little by
 * chance, so that not everything is renewed at once; meanwhile the old one
 * serves, and it goes on serving when the new one cannot be had.  For each
 * credential, and each scope where grants differ by it, one is minted at a
 * time, and whoever asks meanwhile waits for it.
 *
 * Kinds that need no errand are asked anew each time: nothing is kept of them.
 */
#ifndef BROKER_LEASE_H
#define BROKER_LEASE_H

#include "broker/mint.h"
#include "schema/errand.h"

struct leases;

/* Why there is no grant. */
struct lease_refusal {
	const char *why; /* in words for the owner */
	bool quotes; /* so that nobody else may read them: see mint_work */
};

struct lease_events {
	/* grant is NULL when there is none, and refusal says why; borrowed. */
	void (*on_grant)(const struct credential *credential,
	    const struct grant_question *question, const struct grant *grant,
	    const struct lease_refusal *refusal, void *arg);
	/*
	 * Borrows errand for the call; the answer comes by leases_answer().
	 * Anything but STATUS_OK: it cannot be run.
	 */
	int (*run_errand)(const struct errand *errand, void *arg);
	void *arg;
};

/* What time it is, as a program knows it. */
struct lease_time {
	int64_t wall_s, monotonic_ms;
};

/* run and events are borrowed until leases_free(). */
struct leases *leases_new(
    const struct mint_run *run, const struct lease_events *events) MUST_CHECK;
void leases_free(struct leases *leases);

/* Answers by on_grant, now or later. */
void leases_ask(struct leases *leases, const struct credential *credential,
    const struct grant_question *question, struct lease_time now);

/* An errand's answer.  STATUS_NOT_FOUND when nothing waits for it. */
int leases_answer(struct leases *leases, const struct errand_answer *answer,
    struct lease_time now) MUST_CHECK;

/* Gives up errands that have had their time. */
void leases_tick(struct leases *leases, struct lease_time now);

/*
 * Forgets every grant of a credential (NULL: of all) and gives back what can
 * be given back; who waits for one hears no.
 */
void leases_revoke(struct leases *leases, const struct credential *credential,
    struct lease_time now);

/* Whether errands are still under way. */
bool leases_are_busy(const struct leases *leases);

#endif
