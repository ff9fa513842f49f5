/*
 * clerk - the token service of exeat-broker: questions of a channel, their
 * rows, and the answers.
 *
 * Nothing that was issued leaves before its row is accepted, and nothing that
 * was revoked is acknowledged before its row is on the disk; it holds before.
 * A run without an identity has a clerk too, who says no.
 */
#ifndef GATEWAY_MAIN_CLERK_H
#define GATEWAY_MAIN_CLERK_H

#include "schema/brokerage.h"
#include "schema/frame.h"

struct catalog;
struct channel;
struct clerk;
struct generation;
struct problem;
struct sink;

/* All borrowed until clerk_free(). */
struct clerk_setup {
	const struct catalog *catalog;
	const struct brokerage_begin *begin;
	struct generation *generation;
	struct sink *sink;
	/* The root of the run is written down, or cannot be. */
	void (*on_begun)(bool well, void *arg);
	void *arg;
};

/* on_begun follows, later or at once.  NULL, with why. */
struct clerk *clerk_new(const struct clerk_setup *setup, struct problem *reterr)
    MUST_CHECK;
void clerk_free(struct clerk *clerk);

/* Tells the gateway the root of its run, if there is one. */
int clerk_introduce(const struct clerk *clerk, struct channel *channel)
    MUST_CHECK;

/* TOKEN_ASK of the gateway; anything but STATUS_OK ends its channel. */
int clerk_take(struct clerk *clerk, struct channel *channel, struct cursor body)
    MUST_CHECK;

/* Why the run may not have a credential by its identity, or NULL. */
const char *clerk_objection(const struct clerk *clerk, const char *credential);

#endif
