/*
 * steward - the broker of one run, and what it needs, as their parent sees
 * them.
 *
 * Started only for a run whose policy names a credential, or that has an
 * identity.  It is given the credential file and what the policy needs of it,
 * and whatever it wants is opened for it; once it is ready the command may
 * start.  An end before it was told to stop is a failure of the run.
 */
#ifndef GATEWAY_CLI_STEWARD_H
#define GATEWAY_CLI_STEWARD_H

#include "gateway/cli/ledger.h"
#include "schema/brokerage.h"
#include "schema/problem.h"

#include <stdbool.h>

struct loop;
struct needs;
struct steward;
struct task;

struct steward_order {
	struct loop *loop;
	const char *file; /* the credential file */
	const struct task *task; /* NULL: a check, without a run */
	const struct ledger_name *name;
	const char *principal;
	const char *identity; /* or NULL */
	const char *kept; /* folder of what outlives the run; NULL: none */
	const struct needs *needs;
	int gateway, audit; /* the broker's ends; borrowed for the call */

	void (*on_ready)(void *arg);
	/* Once; several problems when the file has several. */
	void (*on_failed)(const struct problems *problems,
	    const struct problem *problem, void *arg);
	/* Its process is gone. */
	void (*on_ended)(void *arg);
	void *arg;
};

int steward_new(const struct steward_order *order, struct steward **ret,
    struct problem *reterr) MUST_CHECK;

/*
 * Revokes a credential for the rest of the run; on_end comes once, with NULL
 * when it is done and written down.  STATUS_AGAIN while another is under way.
 */
int steward_revoke(struct steward *steward, const char *credential,
    const char *by, void (*on_end)(const struct problem *problem, void *arg),
    void *arg) MUST_CHECK;

/* Asks it to give back what it minted, and to end. */
void steward_stop(struct steward *steward);
void steward_kill(struct steward *steward);
bool steward_has_ended(const struct steward *steward);

void steward_free(struct steward *steward);

#endif
