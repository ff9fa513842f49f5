/*
 * watch - the launcher outside, from the sandbox's birth to its end.
 *
 * One poll over five descriptors: the inside's reports, the gateway, signals,
 * and process 1.  No event loop of libevent's: nothing here is served
 * side by side, and the launcher is the program that starts fastest.
 *
 * The sandbox ends with its command, with its time, with its gateway, or with
 * this process; when watch_run() returns none of its processes is left.
 */
#ifndef GATEWAY_LAUNCH_WATCH_H
#define GATEWAY_LAUNCH_WATCH_H

struct outcome;
struct plan;

/*
 * Blocks the signals that are forwarded; takes nothing.  gateway is the
 * handoff channel.  Fills the outcome, whatever happens.
 */
void watch_run(const struct plan *plan, int gateway, struct outcome *outcome);

#endif
