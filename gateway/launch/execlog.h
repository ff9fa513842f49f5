/*
 * execlog - every execve of a sandbox as a row of the audit.
 *
 * The kernel tells of each call and holds it until it is answered; the answer
 * is always to go on.  It is a record and never a gate: what was read is a
 * claim, and only what /proc says of the process a little later is told as
 * confirmed.  Calls that fail one after the other, as along a PATH, are one
 * row.
 */
#ifndef GATEWAY_LAUNCH_EXECLOG_H
#define GATEWAY_LAUNCH_EXECLOG_H

#include "schema/attr.h"

#include <stdint.h>

struct execlog;
struct loop;

/* Takes producer, a channel to the audit writer, also on failure.  NULL: no
 * memory. */
struct execlog *execlog_new(struct loop *loop, int producer) MUST_CHECK;

/* Writes down what waits, for a while, and frees; how many there were. */
uint64_t execlog_free(struct execlog *log);

/* Takes fd, the notifications of one more filter; at most
 * LIMIT_GUESTS of them. */
int execlog_listen(struct execlog *log, int fd) MUST_CHECK;

#endif
