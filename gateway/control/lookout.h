/*
 * lookout - the process beside a gateway that may look into /proc: which
 * program holds a connection.
 *
 * A gateway that has confined itself opens no file, and Landlock would keep
 * it from reading another process's entries at all.  So the question is put
 * to a child that was forked before the first byte of a run: it is given
 * connections by number, reads /proc and nothing of what a program sends, and
 * answers with a path and a command line.  What it is asked about in a second
 * is bounded by whoever asks.
 *
 * It looks among the processes below its gateway's parent: the sandbox
 * descends from the launcher, and the launcher from that parent.  It ends
 * with its gateway.
 */
#ifndef GATEWAY_CONTROL_LOOKOUT_H
#define GATEWAY_CONTROL_LOOKOUT_H

#include "schema/attr.h"

#include <sys/types.h>

/*
 * Forks; gives the gateway's end of the channel (schema/sighting.h).  Before
 * any loop is made.  STATUS_SYSTEM, errno set.
 */
int lookout_start(int *ret_fd) MUST_CHECK;

/* What the child does; returns at the end of the channel.  For tests. */
void lookout_serve(int channel, pid_t root);

#endif
