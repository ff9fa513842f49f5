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

/*
 * Blocks the signals that are forwarded; takes parent, the channel of whoever
 * lets the command go.  gateway is the handoff channel.  Fills the outcome,
 * whatever happens.
 */
void watch_run(
    const struct plan *plan, int gateway, int parent, struct outcome *outcome);

#endif
