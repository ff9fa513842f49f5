/*
 * tail - `exeat audit tail`: the last rows, and new ones as they come.
 */
#ifndef GATEWAY_CLI_TAIL_H
#define GATEWAY_CLI_TAIL_H

struct inquiry;
struct query;

/* Gives the exit status. */
int tail_run(struct query *query, struct inquiry *inquiry);

#endif
