/*
 * siblings - the programs of one run, started and ended in order.
 *
 *	opening    the audit gets to know the run, the gateway its policies,
 *	           and the launcher builds the sandbox
 *	running    the command was let go; signals go to the launcher
 *	stopping   the command is over; the gateway flushes and tells its sums
 *	closing    the audit writes the last row, while the gateway's process
 *	           ends; the writer always ends last
 *
 * The command starts only after the gateway said that it is ready and the
 * writer that it takes rows.  A sibling that ends early ends the sandbox.
 * Should we ourselves be killed, the launcher dies with us, and gateway and
 * writer see their channels end.
 */
#ifndef GATEWAY_CLI_SIBLINGS_H
#define GATEWAY_CLI_SIBLINGS_H

#include "gateway/cli/ledger.h"
#include "gateway/cli/result.h"
#include "schema/event.h"
#include "schema/order.h"
#include "schema/problem.h"

#include <stdbool.h>

struct siblings_ending;

/* What to start; all borrowed until siblings_run() returns. */
struct siblings_wish {
	const struct task *task;
	const struct settings *settings;
	struct policies *policies; /* not hashed yet */
	const struct lookalikes *lookalikes;
	const struct ledger_name *name;
	int plan_fd; /* sealed JSON */
	int result_fd; /* a memfd the launcher writes to */
	/*
	 * Called once the sandbox is gone and its result is known, while the
	 * others end: for work that would only wait for them.  May be NULL.
	 */
	void (*on_closing)(struct siblings_ending *ending, void *arg);
	void *arg;
};

struct siblings_ending {
	int code; /* what exeat run exits with */
	struct result result; /* the launcher's last word, if it had one */
	bool tallied, closed; /* whether the two below are known */
	struct order_tally tally;
	struct event_closed counts;
	/* Set when something of ours failed; the code is 125 then. */
	bool failed;
	struct problem problem;
	struct problems problems; /* and what led to it; the caller's */
};

/* Returns when all is over.  Fills *ret always; its result is the caller's. */
void siblings_run(
    const struct siblings_wish *wish, struct siblings_ending *ret);

#endif
