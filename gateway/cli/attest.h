/*
 * attest - the subcommands of `exeat audit` that prove something.
 *
 * Each prints what it has found to stdout, and gives an exit status.
 */
#ifndef GATEWAY_CLI_ATTEST_H
#define GATEWAY_CLI_ATTEST_H

struct inquiry;
struct query;

int attest_verify(struct query *query, struct inquiry *inquiry);
int attest_checkpoint(struct query *query, struct inquiry *inquiry);
int attest_prove(struct query *query, struct inquiry *inquiry);

#endif
