/*
 * pts - the sandbox's own terminal, seen from inside.
 *
 * Process 1 opens it in the sandbox's own devpts and becomes the leader of
 * its session; the command is a process group of that session, in the
 * foreground.  So the command's parent shares its session, and Ctrl-Z stops
 * it: the kernel does not stop a group that nobody could let go on.
 */
#ifndef GATEWAY_LAUNCH_PTS_H
#define GATEWAY_LAUNCH_PTS_H

#include "schema/attr.h"
#include "schema/problem.h"

#include <stdbool.h>

struct terminal_look;

/*
 * Opens both ends, close-on-exec, and makes the calling process the leader of
 * the terminal's session.
 */
int pts_open(const struct terminal_look *look, int *ret_master, int *ret_slave,
    struct problem *reterr) MUST_CHECK;

/*
 * In the command to be: a group of its own in the foreground, and the
 * terminal in the place of each standard descriptor that replaced[] names.
 */
int pts_enter(int slave, const bool replaced[3], struct problem *reterr)
    MUST_CHECK;

#endif
