/*
 * lead - what commands want of a running sandbox, led to its launcher, and
 * the answers back to whoever asked.
 */
#ifndef GATEWAY_CLI_LEAD_H
#define GATEWAY_CLI_LEAD_H

#include "schema/frame.h"
#include "schema/problem.h"

struct channel;
struct fdpass;
struct lead;

/* asker is what lead_ask() was given. */
struct lead_events {
	/* The last word; NULL when all went well. */
	void (*on_done)(void *asker, const struct problem *problem);
	/* The last word on a program that was sent in; problem may be NULL. */
	void (*on_exited)(
	    void *asker, unsigned code, const struct problem *problem);
	/* The program's terminal, to be closed. */
	void (*on_terminal)(void *asker, int fd);
};

/* launcher is borrowed and outlives it.  NULL: no memory. */
struct lead *lead_new(
    struct channel *launcher, const struct lead_events *events) MUST_CHECK;
void lead_free(struct lead *lead);

/*
 * Asks for what a FRAME_REINS_ type says; body and descriptors are those of
 * the command's frame.
 */
int lead_ask(struct lead *lead, uint16_t type, void *asker, struct cursor body,
    const struct fdpass *fds) MUST_CHECK;

/* The asker is gone: what it sent in ends. */
void lead_forget(struct lead *lead, const void *asker);

/* Takes a frame of the launcher's; false when it may not say that. */
bool lead_take(struct lead *lead, const struct frame *frame, struct fdpass *fds)
    MUST_CHECK;

/* Whether the sandbox stands still. */
bool lead_is_paused(const struct lead *lead);

#endif
