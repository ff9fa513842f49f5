/*
 * upkeep - exeat audit seal, hold, release and prune.
 *
 * The writer does what is asked; what may be pruned is decided here, from the
 * catalogue, after it was brought up to date: whole segments whose newest row
 * is old enough, none that is held.
 */
#ifndef GATEWAY_CLI_UPKEEP_H
#define GATEWAY_CLI_UPKEEP_H

struct inquiry;

/* Each gives the exit status; none opens a segment, which could not be sealed
 * then. */
int upkeep_seal(struct inquiry *inquiry);
int upkeep_hold(struct inquiry *inquiry);
int upkeep_release(struct inquiry *inquiry);
int upkeep_prune(struct inquiry *inquiry);

#endif
