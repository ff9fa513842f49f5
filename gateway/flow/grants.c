#include "gateway/flow/grants.h"

#include "gateway/proc/channel.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/generation.h"
#include "gateway/proc/log.h"
#include "gateway/proc/loop.h"
#include "schema/status.h"

#include <event2/event.h>
#include <stdlib.h>
#include <unistd.h>

#define US_A_MS 1000L

/* One grant, for as long as it is kept or lent. */
struct grants_lent {
	TAILQ_ENTRY(grants_lent) entry; /* while it is kept */
	size_t refs;
	struct grant_question question;
	struct grant grant;
	int64_t ends_us;
};

struct grants {
	struct loop *loop;
	struct channel *channel;
	struct client *client;
	struct generation *generation; /* NULL until the page is here */
	struct token_root *root; /* NULL: the run has no identity */
	struct event *sweep;
	TAILQ_HEAD(grants_kept, grants_lent) kept; /* last used first */
	size_t count;
	LIST_HEAD(, grants_loan) loans;
};

static void
unref(struct grants_lent *lent)
{
	if (--lent->refs > 0)
		return;
	grant_done(&lent->grant);
	free(lent);
}

static void
drop(struct grants *grants, struct grants_lent *lent)
{
	TAILQ_REMOVE(&grants->kept, lent, entry);
	grants->count--;
	unref(lent);
}

/*
 * By its own slot, and by the one that is about all: 1 is what that has until
 * the run is over.
 */
static bool
is_current(const struct grants *grants, const struct grant *grant)
{
	return grants->generation != NULL &&
	       generation_read(grants->generation, 0) == 1 &&
	       generation_read(grants->generation, grant->slot) ==
		   grant->generation;
}

static struct grants_lent *
find(struct grants *grants, const struct grant_question *question)
{
	struct grants_lent *lent;

	TAILQ_FOREACH(lent, &grants->kept, entry)
		if (grant_is_same(&lent->question, question))
			return lent;
	return NULL;
}

static void
lend(struct grants *grants, struct grants_lent *lent, struct grants_loan *loan)
{
	lent->refs++;
	loan->lent = lent;
	LIST_INSERT_HEAD(&grants->loans, loan, entry);
}

/* Keeps what the broker gave; NULL when there is no memory. */
static struct grants_lent *
keep(struct grants *grants, const struct grant_question *question,
    struct grant *grant, int64_t asked_us)
{
	struct grants_lent *lent = find(grants, question);

	if (lent != NULL)
		drop(grants, lent);
	if (grants->count >= LIMIT_GRANTS)
		drop(grants, TAILQ_LAST(&grants->kept, grants_kept));
	lent = calloc(1, sizeof(*lent));
	if (lent == NULL)
		return NULL;
	lent->refs = 1;
	lent->question = *question;
	lent->grant = *grant;
	/* It is ours now. */
	grant->count = 0;
	lent->ends_us = asked_us + (int64_t)lent->grant.lease_ms * US_A_MS;
	TAILQ_INSERT_HEAD(&grants->kept, lent, entry);
	grants->count++;
	return lent;
}

/* ---- the broker's answers ---- */

static void
on_answer(struct client_ask *ask, const struct client_answer *answer)
{
	struct grants_loan *loan =
	    (struct grants_loan *)((char *)ask -
				   offsetof(struct grants_loan, ask));
	struct grants *grants = loan->grants;
	struct grants_lent *lent = NULL;
	int64_t asked_us = ask->deadline_us - (int64_t)LIMIT_GRANT_MS * US_A_MS;

	if (answer->status == STATUS_OK && is_current(grants, answer->grant))
		lent = keep(grants, &loan->question, answer->grant, asked_us);
	if (lent != NULL) {
		lend(grants, lent, loan);
		loan->on_lent(loan, NULL);
		return;
	}
	loan->grants = NULL;
	loan->on_lent(loan, answer->status == STATUS_OK
				? "it was revoked meanwhile"
				: answer->why);
}

static void
take_page(struct grants *grants, struct channel *channel, struct fdpass *fds)
{
	int fd = fdpass_take(fds, 0);
	int status = STATUS_REFUSED;

	if (grants->generation == NULL)
		status = generation_open(fd, &grants->generation);
	(void)close(fd);
	if (status != STATUS_OK)
		channel_end(channel, STATUS_MALFORMED);
}

static void
take_root(struct grants *grants, struct channel *channel, struct cursor body)
{
	struct token_root *root = calloc(1, sizeof(*root));

	if (root != NULL && grants->root == NULL &&
	    grants->generation != NULL &&
	    token_root_read(body, root) == STATUS_OK) {
		grants->root = root;
		return;
	}
	free(root);
	channel_end(channel, STATUS_MALFORMED);
}

static void
on_frame(struct channel *channel, const struct frame *frame, struct fdpass *fds,
    void *arg)
{
	struct grants *grants = arg;

	if (frame->type == FRAME_GRANT_PAGE && cursor_is_empty(&frame->body))
		take_page(grants, channel, fds);
	else if (frame->type == FRAME_TOKEN_ROOT)
		take_root(grants, channel, frame->body);
	else if (client_take(grants->client, frame) != STATUS_OK)
		channel_end(channel, STATUS_MALFORMED);
}

/* What it has given is worth nothing without it. */
static void
on_left(struct channel *channel, int status, void *arg)
{
	struct grants *grants = arg;

	(void)channel;
	if (status != STATUS_CLOSED)
		log_error("the broker said what it may not say");
	while (!TAILQ_EMPTY(&grants->kept))
		drop(grants, TAILQ_FIRST(&grants->kept));
	client_close(grants->client);
}

static const struct channel_events events = {
	.on_frame = on_frame,
	.on_end = on_left,
};

static int
on_send(const struct cursor_writer *out, void *arg)
{
	const struct grants *grants = arg;

	return channel_send(grants->channel, out, NULL, 0);
}

/* ---- the sweep ---- */

static void
drop_stale(struct grants *grants)
{
	struct grants_lent *lent = TAILQ_FIRST(&grants->kept);

	while (lent != NULL) {
		struct grants_lent *next = TAILQ_NEXT(lent, entry);

		if (!is_current(grants, &lent->grant))
			drop(grants, lent);
		lent = next;
	}
}

/*
 * A loan that is told of may take others away with it, so each time the list
 * is looked through from its start.
 */
static bool
tell_one(struct grants *grants)
{
	struct grants_loan *loan;

	LIST_FOREACH(loan, &grants->loans, entry)
		if (grants_is_stale(loan)) {
			loan->on_revoked(loan);
			return true;
		}
	return false;
}

static void
on_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct grants *grants = arg;

	(void)fd;
	(void)what;
	drop_stale(grants);
	while (tell_one(grants))
		;
	(void)client_expire(grants->client, clock_monotonic_us());
}

/* ---- loans ---- */

int
grants_borrow(struct grants *grants, struct grants_loan *loan)
{
	int64_t now_us = clock_monotonic_us();
	struct grants_lent *lent = find(grants, &loan->question);
	int status;

	if (lent != NULL &&
	    (lent->ends_us <= now_us || !is_current(grants, &lent->grant))) {
		drop(grants, lent);
		lent = NULL;
	}
	loan->grants = grants;
	if (lent != NULL) {
		TAILQ_REMOVE(&grants->kept, lent, entry);
		TAILQ_INSERT_HEAD(&grants->kept, lent, entry);
		lend(grants, lent, loan);
		return STATUS_OK;
	}
	loan->ask.on_answer = on_answer;
	status =
	    client_grant(grants->client, &loan->question, &loan->ask, now_us);
	if (status == STATUS_OK)
		return STATUS_AGAIN;
	loan->grants = NULL;
	return status;
}

void
grants_return(struct grants_loan *loan)
{
	if (loan->grants == NULL)
		return;
	client_forget(loan->grants->client, &loan->ask);
	if (loan->lent != NULL) {
		LIST_REMOVE(loan, entry);
		unref(STEAL(loan->lent));
	}
	loan->grants = NULL;
}

const struct grant *
grants_lent_grant(const struct grants_loan *loan)
{
	return &loan->lent->grant;
}

bool
grants_is_stale(const struct grants_loan *loan)
{
	return !is_current(loan->grants, &loan->lent->grant);
}

struct client *
grants_client(struct grants *grants)
{
	return grants->client;
}

const struct token_root *
grants_root(const struct grants *grants)
{
	return grants->root;
}

bool
grants_root_holds(const struct grants *grants)
{
	return grants->root == NULL ||
	       generation_read(grants->generation, grants->root->slot) ==
		   grants->root->generation;
}

struct grants *
grants_new(struct loop *loop, int fd)
{
	static const struct timeval wait = { .tv_usec =
						 LIMIT_SWEEP_MS * US_A_MS };
	struct grants *grants = calloc(1, sizeof(*grants));
	struct client_events client_events = { .send = on_send, .arg = grants };

	if (grants == NULL) {
		(void)close(fd);
		return NULL;
	}
	grants->loop = loop;
	TAILQ_INIT(&grants->kept);
	LIST_INIT(&grants->loans);
	grants->client = client_new(&client_events);
	grants->channel = channel_new(loop, fd, &events, grants);
	grants->sweep =
	    event_new(loop_base(loop), -1, EV_PERSIST, on_sweep, grants);
	if (grants->client == NULL || grants->channel == NULL ||
	    grants->sweep == NULL || event_add(grants->sweep, &wait) != 0) {
		grants_free(grants);
		return NULL;
	}
	return grants;
}

void
grants_free(struct grants *grants)
{
	if (grants == NULL)
		return;
	while (!LIST_EMPTY(&grants->loans))
		grants_return(LIST_FIRST(&grants->loans));
	while (!TAILQ_EMPTY(&grants->kept))
		drop(grants, TAILQ_FIRST(&grants->kept));
	if (grants->sweep != NULL)
		event_free(grants->sweep);
	channel_free(grants->channel);
	client_free(grants->client);
	generation_free(grants->generation);
	free(grants->root);
	free(grants);
}
