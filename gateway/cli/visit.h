/*
 * visit - one conversation of a command with the desk of a run.
 *
 * Waits: a command has nothing else to do.  Every question to the desk is
 * answered by frames and a last word within LIMIT_SIBLING_MS.
 */
#ifndef GATEWAY_CLI_VISIT_H
#define GATEWAY_CLI_VISIT_H

#include "schema/frame.h"
#include "schema/problem.h"

struct settings;

struct visit {
	int fd; /* -1: none */
};

/* A problem when the run is not there. */
int visit_open(struct visit *ret, const struct settings *settings,
    const char *run, struct problem *reterr) MUST_CHECK;
void visit_done(struct visit *visit);

/* Sends what wants no answer; fd is -1 or rides on it. */
int visit_send(const struct visit *visit, const struct cursor_writer *out,
    int fd, struct problem *reterr) MUST_CHECK;

/* Sends, and tells of each frame before the last word. */
typedef void visit_frame(const struct frame *frame, void *arg);
int visit_ask(const struct visit *visit, const struct cursor_writer *out,
    visit_frame *on_frame, void *arg, struct problem *reterr) MUST_CHECK;

#endif
