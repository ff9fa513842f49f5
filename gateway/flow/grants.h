/*
 * grants - credentials lent to this run's exchanges: asked of the broker, and
 * kept for their lease.
 *
 * An exchange holds a loan from before its row until its end.  What was
 * granted is good for its credential, host, port and scheme only, until its
 * lease is over or the counter of its slot in the run's page has changed; a
 * sweep every LIMIT_SWEEP_MS tells exchanges whose grant was revoked under
 * them.  Without a broker, or once it is gone, nothing is lent.
 */
#ifndef GATEWAY_FLOW_GRANTS_H
#define GATEWAY_FLOW_GRANTS_H

#include "broker/client.h"
#include "schema/grant.h"

#include <sys/queue.h>

struct grants;
struct grants_lent;
struct loop;

/* The caller's room; zeroed but for the calls, untouched while it is lent. */
struct grants_loan {
	/* Later than grants_borrow(): why is NULL when it is lent. */
	void (*on_lent)(struct grants_loan *loan, const char *why);
	/* It must not be used any more. */
	void (*on_revoked)(struct grants_loan *loan);
	struct grants *grants; /* NULL: nothing was asked for */
	struct grant_question question;
	struct client_ask ask;
	struct grants_lent *lent; /* NULL: not yet */
	LIST_ENTRY(grants_loan) entry; /* while lent */
};

/* Takes the channel to the broker, also on failure.  NULL: no memory. */
struct grants *grants_new(struct loop *loop, int fd) MUST_CHECK;
void grants_free(struct grants *grants);

/* Who asks the broker; for questions that are no loans.  Borrows. */
struct client *grants_client(struct grants *grants);

/* The root of the run's tokens; NULL: it has no identity.  Borrows. */
const struct token_root *grants_root(const struct grants *grants);

/* Whether that was not revoked; also when there is none. */
bool grants_root_holds(const struct grants *grants);

/*
 * Asks for what stands in loan->question.  STATUS_OK: lent at once;
 * STATUS_AGAIN: on_lent follows; else nothing is lent, and nothing follows.
 */
int grants_borrow(struct grants *grants, struct grants_loan *loan) MUST_CHECK;

/* Gives it back, or the question up.  Does nothing for an empty loan. */
void grants_return(struct grants_loan *loan);

/* What was lent; borrows from the loan. */
const struct grant *grants_lent_grant(const struct grants_loan *loan);

/* Whether it was revoked since. */
bool grants_is_stale(const struct grants_loan *loan);

#endif
