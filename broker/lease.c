#include "broker/lease.h"

#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

enum {
	REFRESH_PERCENT = 80,
	JITTER_PERCENT = 10, /* at most that much earlier */
	RETRY_MS = 5000 /* after a mint that failed beside a good grant */
};

struct asker {
	STAILQ_ENTRY(asker) next;
	struct grant_question question;
};

struct lease {
	LIST_ENTRY(lease) next;
	const struct credential *credential;
	struct grant_question key;
	struct grant grant; /* that serves; count 0: none */
	int64_t refresh_ms, ends_ms;

	bool minting, giving_back;
	bool again; /* minting begins anew with the next tick */
	bool leaving; /* what is minted still is given back, or dropped */
	struct mint_work work;
	/* While the work is on what the secret comes from; then with it. */
	bool sourcing;
	struct credential sourced;
	struct secret *secret;
	uint32_t secret_ms; /* its life */
	struct grant fresh;
	uint32_t errand;
	int64_t deadline_ms;
	STAILQ_HEAD(askers, asker) askers;
};

struct leases {
	const struct mint_run *run;
	struct lease_events events;
	LIST_HEAD(, lease) list;
	size_t count, waiting;
	uint32_t errands;
};

struct leases *
leases_new(const struct mint_run *run, const struct lease_events *events)
{
	struct leases *leases = calloc(1, sizeof(*leases));

	if (leases == NULL)
		return NULL;
	leases->run = run;
	leases->events = *events;
	LIST_INIT(&leases->list);
	return leases;
}

/* What the kind kept between its steps. */
static void
end_steps(struct lease *lease)
{
	const struct credential *credential = lease->work.credential;

	if (lease->work.state != NULL && credential->mint->forget != NULL)
		credential->mint->forget(lease->work.state);
	lease->work.state = NULL;
	lease->sourced.secret = NULL;
	secret_free(STEAL(lease->secret));
}

static void
forget_state(struct lease *lease)
{
	end_steps(lease);
	grant_done(&lease->fresh);
}

static void
tell(struct leases *leases, struct lease *lease,
    const struct grant_question *question, const struct grant *grant)
{
	struct lease_refusal refusal = { .why = lease->work.why,
		.quotes = lease->work.quotes };

	leases->events.on_grant(
	    lease->credential, question, grant, &refusal, leases->events.arg);
}

/* Everybody who waits hears the same. */
static void
tell_all(struct leases *leases, struct lease *lease, const struct grant *grant)
{
	struct asker *asker;

	while ((asker = STAILQ_FIRST(&lease->askers)) != NULL) {
		STAILQ_REMOVE_HEAD(&lease->askers, next);
		leases->waiting--;
		tell(leases, lease, &asker->question, grant);
		free(asker);
	}
}

static void
drop(struct leases *leases, struct lease *lease)
{
	tell_all(leases, lease, NULL);
	forget_state(lease);
	grant_done(&lease->grant);
	LIST_REMOVE(lease, next);
	leases->count--;
	free(lease);
}

void
leases_free(struct leases *leases)
{
	struct lease *lease;

	if (leases == NULL)
		return;
	while ((lease = LIST_FIRST(&leases->list)) != NULL)
		drop(leases, lease);
	free(leases);
}

/* ---- minting ---- */

static int64_t
jitter(int64_t life_ms)
{
	uint32_t dice = 0;

	if (getrandom(&dice, sizeof(dice), GRND_NONBLOCK) != sizeof(dice))
		return 0;
	return life_ms * JITTER_PERCENT / 100 * (dice % 1000) / 1000;
}

static void
install(struct leases *leases, struct lease *lease, struct lease_time now)
{
	int64_t life_ms = lease->fresh.lease_ms;

	grant_done(&lease->grant);
	lease->grant = lease->fresh;
	lease->fresh = (struct grant){ .count = 0 };
	lease->ends_ms = now.monotonic_ms + life_ms;
	lease->refresh_ms = now.monotonic_ms + life_ms * REFRESH_PERCENT / 100 -
			    jitter(life_ms);
	tell_all(leases, lease, &lease->grant);
	/* What costs no errand is not kept. */
	if (lease->credential->mint->resume == NULL &&
	    lease->credential->origin == NULL)
		drop(leases, lease);
}

static void
fail(struct leases *leases, struct lease *lease, struct lease_time now)
{
	if (lease->work.why[0] == '\0')
		(void)mint_refuse(&lease->work,
		    "the credential %s cannot be had", lease->credential->name);
	tell_all(leases, lease, NULL);
	if (lease->grant.count > 0 && now.monotonic_ms < lease->ends_ms)
		lease->refresh_ms = now.monotonic_ms + RETRY_MS;
	else
		drop(leases, lease);
}

static bool
send_errand(struct leases *leases, struct lease *lease, struct lease_time now)
{
	struct errand *errand = STEAL(lease->work.errand);

	lease->errand = ++leases->errands;
	lease->deadline_ms = now.monotonic_ms + LIMIT_GRANT_MS;
	errand->number = lease->errand;
	if (leases->events.run_errand(errand, leases->events.arg) == STATUS_OK)
		return true;
	(void)mint_refuse(&lease->work,
	    "%s needs an exchange over the network, and none can be made",
	    lease->credential->name);
	return false;
}

/* Whether more is to come: an answer, or the next tick. */
static bool
goes_on(struct leases *leases, struct lease *lease, enum mint_step step,
    struct lease_time now)
{
	lease->again = step == MINT_AGAIN;
	lease->minting = lease->again || (step == MINT_ERRAND &&
					     send_errand(leases, lease, now));
	if (lease->again || !lease->minting)
		end_steps(lease);
	return lease->minting;
}

/* What it holds is given back, one grant after the other; then it goes. */
static void
leave(struct leases *leases, struct lease *lease, struct lease_time now)
{
	const struct mint *mint = lease->credential->mint;

	do {
		if (lease->giving_back || lease->grant.count == 0) {
			grant_done(&lease->grant);
			lease->grant = lease->fresh;
			lease->fresh = (struct grant){ .count = 0 };
		}
		if (mint->give_back == NULL || lease->grant.count == 0) {
			drop(leases, lease);
			return;
		}
		lease->giving_back = true;
		lease->work.credential = lease->credential;
		lease->work.grant = &lease->grant;
		lease->work.now_s = now.wall_s;
	} while (!goes_on(leases, lease, mint->give_back(&lease->work), now));
}

/*
 * What replaces a placeholder: the secret of a kind that sends it as it is,
 * and else the token, behind the word for it.
 */
static struct cursor
stead_value(const struct lease *lease)
{
	const struct credential *credential = lease->work.credential;
	struct cursor value = cursor_of(NULL, 0);

	if (credential->mint->resume == NULL)
		return secret_bytes(credential->secret);
	if (lease->fresh.count > 0 &&
	    lease->fresh.fields[0].place == GRANT_HEADER)
		value = secret_bytes(lease->fresh.fields[0].value);
	(void)!cursor_literal(&value, "Bearer ");
	return value;
}

/* The last step of a mint: it is added where the owner says so. */
static enum mint_step
with_stead(struct lease *lease, enum mint_step step)
{
	const struct credential *credential = lease->work.credential;
	struct cursor value;

	if (step != MINT_GRANTED || lease->sourcing || lease->giving_back ||
	    credential->stead[0] == '\0')
		return step;
	value = stead_value(lease);
	if (value.left > 0 &&
	    grant_add(&lease->fresh, GRANT_STEAD, credential->stead,
		secret_new(value)) == STATUS_OK)
		return MINT_GRANTED;
	return mint_refuse(&lease->work,
	    "%s cannot stand in its placeholder's stead", credential->name);
}

/* What a vault's grant holds is the secret that a kind begins with. */
static enum mint_step
begin_sourced(struct lease *lease)
{
	const struct credential *credential = lease->credential;
	struct problem problem = { .text = "" };
	struct cursor value = secret_bytes(lease->fresh.fields[0].value);

	/* As it would stand in a request; alone it is wanted here. */
	(void)!cursor_literal(&value, "Bearer ");
	lease->sourcing = false;
	lease->secret = secret_new(value);
	lease->secret_ms = lease->fresh.lease_ms;
	grant_done(&lease->fresh);
	lease->sourced = *credential;
	lease->sourced.secret = lease->secret;
	lease->work.credential = &lease->sourced;
	if (lease->secret == NULL)
		return mint_refuse(
		    &lease->work, "no memory for %s", credential->name);
	if (credential->mint->check != NULL &&
	    credential->mint->check(&lease->sourced, &problem) != STATUS_OK)
		return mint_refuse(&lease->work, "the secret of %s: %s",
		    credential->name, problem.text);
	return with_stead(lease, credential->mint->begin(&lease->work));
}

/* Nothing that was made of a secret is kept for longer than the secret. */
static void
bound_life(struct lease *lease)
{
	if (lease->credential->origin != NULL &&
	    lease->fresh.lease_ms > lease->secret_ms)
		lease->fresh.lease_ms = lease->secret_ms;
}

static void
go_on(struct leases *leases, struct lease *lease, enum mint_step step,
    struct lease_time now)
{
	if (goes_on(leases, lease, step, now))
		return;
	if (lease->sourcing && lease->leaving) {
		/* It is nobody's but the vault's. */
		step = MINT_REFUSED;
	} else if (lease->sourcing && step == MINT_GRANTED) {
		step = begin_sourced(lease);
		if (goes_on(leases, lease, step, now))
			return;
	}
	bound_life(lease);
	if (!lease->giving_back && step != MINT_GRANTED)
		grant_done(&lease->fresh);
	if (lease->leaving)
		leave(leases, lease, now);
	else if (step == MINT_GRANTED)
		install(leases, lease, now);
	else
		fail(leases, lease, now);
}

static void
begin(struct leases *leases, struct lease *lease, struct lease_time now)
{
	const struct credential *origin = lease->credential->origin;

	lease->fresh = (struct grant){ .count = 0 };
	lease->sourcing = origin != NULL;
	lease->work = (struct mint_work){
		.credential = lease->sourcing ? origin : lease->credential,
		.run = leases->run,
		.question = &lease->key,
		.now_s = now.wall_s,
		.grant = &lease->fresh
	};
	go_on(leases, lease,
	    with_stead(
		lease, lease->work.credential->mint->begin(&lease->work)),
	    now);
}

static void
start(struct leases *leases, struct lease *lease, struct lease_time now)
{
	lease->deadline_ms = now.monotonic_ms + LIMIT_GRANT_MS;
	begin(leases, lease, now);
}

/* ---- questions ---- */

static bool
serves(const struct lease *lease, const struct credential *credential,
    const struct grant_question *question)
{
	if (lease->credential != credential || lease->leaving)
		return false;
	return !credential->mint->by_scope ||
	       grant_is_same(&lease->key, question);
}

static struct lease *
find(struct leases *leases, const struct credential *credential,
    const struct grant_question *question)
{
	struct lease *lease;

	LIST_FOREACH(lease, &leases->list, next)
		if (serves(lease, credential, question))
			return lease;
	if (leases->count >= LIMIT_GRANTS)
		return NULL;
	lease = calloc(1, sizeof(*lease));
	if (lease == NULL)
		return NULL;
	lease->credential = credential;
	lease->key = *question;
	STAILQ_INIT(&lease->askers);
	LIST_INSERT_HEAD(&leases->list, lease, next);
	leases->count++;
	return lease;
}

static bool
wait_for(struct leases *leases, struct lease *lease,
    const struct grant_question *question)
{
	struct asker *asker;

	if (leases->waiting >= LIMIT_ASKS)
		return false;
	asker = calloc(1, sizeof(*asker));
	if (asker == NULL)
		return false;
	asker->question = *question;
	STAILQ_INSERT_TAIL(&lease->askers, asker, next);
	leases->waiting++;
	return true;
}

/* The part of its life that is left stands in what is told. */
static void
serve(struct leases *leases, struct lease *lease,
    const struct grant_question *question, struct lease_time now)
{
	struct grant view = lease->grant;

	view.lease_ms = (uint32_t)(lease->ends_ms - now.monotonic_ms);
	tell(leases, lease, question, &view);
	if (now.monotonic_ms >= lease->refresh_ms && !lease->minting)
		start(leases, lease, now);
}

void
leases_ask(struct leases *leases, const struct credential *credential,
    const struct grant_question *question, struct lease_time now)
{
	struct lease *lease = find(leases, credential, question);

	if (lease != NULL && lease->grant.count > 0 &&
	    now.monotonic_ms < lease->ends_ms) {
		serve(leases, lease, question, now);
		return;
	}
	if (lease == NULL || !wait_for(leases, lease, question)) {
		leases->events.on_grant(credential, question, NULL,
		    &(struct lease_refusal){
			.why = "too much is asked for at once" },
		    leases->events.arg);
		return;
	}
	if (!lease->minting)
		start(leases, lease, now);
}

int
leases_answer(struct leases *leases, const struct errand_answer *answer,
    struct lease_time now)
{
	struct lease *lease;

	LIST_FOREACH(lease, &leases->list, next)
		if (lease->minting && !lease->again &&
		    lease->errand == answer->number)
			break;
	if (lease == NULL)
		return STATUS_NOT_FOUND;
	lease->work.now_s = now.wall_s;
	go_on(leases, lease,
	    with_stead(lease,
		lease->work.credential->mint->resume(&lease->work, answer)),
	    now);
	return STATUS_OK;
}

/* Its answer, should it still come, finds nobody any more. */
static void
give_up(struct leases *leases, struct lease *lease, struct lease_time now)
{
	if (!lease->again)
		(void)mint_refuse(&lease->work,
		    "the issuer of %s did not answer", lease->credential->name);
	go_on(leases, lease, MINT_REFUSED, now);
}

void
leases_tick(struct leases *leases, struct lease_time now)
{
	struct lease *lease = LIST_FIRST(&leases->list);

	while (lease != NULL) {
		struct lease *next = LIST_NEXT(lease, next);

		if (lease->minting && now.monotonic_ms >= lease->deadline_ms)
			give_up(leases, lease, now);
		else if (lease->again)
			begin(leases, lease, now);
		lease = next;
	}
}

/*
 * An answer that is on its way is waited for: what an issuer has renewed must
 * be kept, and what it has minted can only then be given back.
 */
static void
take_back(struct leases *leases, struct lease *lease, struct lease_time now)
{
	(void)mint_refuse(
	    &lease->work, "%s was revoked", lease->credential->name);
	tell_all(leases, lease, NULL);
	lease->leaving = true;
	if (lease->minting && !lease->again)
		return;
	lease->minting = false;
	leave(leases, lease, now);
}

void
leases_revoke(struct leases *leases, const struct credential *credential,
    struct lease_time now)
{
	struct lease *lease = LIST_FIRST(&leases->list);

	while (lease != NULL) {
		struct lease *next = LIST_NEXT(lease, next);
		bool meant =
		    credential == NULL || lease->credential == credential;

		if (meant && !lease->leaving)
			take_back(leases, lease, now);
		lease = next;
	}
}

bool
leases_are_busy(const struct leases *leases)
{
	const struct lease *lease;

	LIST_FOREACH(lease, &leases->list, next)
		if (lease->minting)
			return true;
	return false;
}
