/*
 * watch - the launcher outside, from the sandbox's birth to its end.
 *
 * One loop over the inside's reports, the gateway, the parent, signals, time,
 * and process 1.
 *
 * The sandbox ends with its command, with its time, with its gateway, or with
 * this process; when watch_run() returns none of its processes is left.
 */
#ifndef GATEWAY_LAUNCH_WATCH_H
#define GATEWAY_LAUNCH_WATCH_H

struct outcome;
struct plan;

/* Whom the launcher speaks with. */
struct watch_peers {
	int gateway; /* the handoff channel */
	int parent; /* taken; who lets the command go */
	int audit; /* taken when programs are recorded; -1: nobody */
};

/*
 * Blocks the signals that are forwarded.  Fills the outcome, whatever
 * happens.
 */
void watch_run(const struct plan *plan, const struct watch_peers *peers,
    struct outcome *outcome);

#endif
