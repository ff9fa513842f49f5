/*
 * pipes - what stands in a sandbox for the files that its launcher was given
 * as standard input and output.
 *
 * A descriptor of a file can be opened anew by /proc/self/fd, with rights
 * that it does not have itself: a log that was handed out for appending could
 * be read or cut.  So no file goes in, only pipes, and the launcher copies
 * between them and the files.  Pipes, sockets and /dev/null go in as they
 * are; terminals are for terminal.h.
 */
#ifndef GATEWAY_PROC_PIPES_H
#define GATEWAY_PROC_PIPES_H

#include "schema/attr.h"
#include "schema/problem.h"

#include <sys/types.h>

struct loop;
struct pipes;

/* Looks at the standard descriptors and makes what they need. */
int pipes_new(struct pipes **ret, struct problem *reterr) MUST_CHECK;

/* Copies what is still on its way, if nobody is left in the sandbox. */
void pipes_free(struct pipes *pipes);

/* Makes them the sandbox's user's, who may open them by /dev/stderr too. */
int pipes_give(const struct pipes *pipes, uid_t uid, gid_t gid,
    struct problem *reterr) MUST_CHECK;

/* The descriptors that stand for standard input, output and error. */
void pipes_ends(const struct pipes *pipes, int ret[3]);

/* In the sandbox: puts its ends in their places; the others are CLOEXEC. */
int pipes_enter(const struct pipes *pipes, struct problem *reterr) MUST_CHECK;

/* Outside, once the sandbox has its ends: closes ours of them, and begins. */
int pipes_begin(struct pipes *pipes, struct loop *loop, struct problem *reterr)
    MUST_CHECK;

#endif
