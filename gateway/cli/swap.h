/*
 * swap - another policy for a run that is under way.
 *
 *	told     the writer keeps the layers and says so
 *	sent     the gateway has them, and says whether they are in force
 *
 * In this order, so that no row can name a policy that the audit does not
 * know.  One at a time; an end without an answer leaves the old policy.
 */
#ifndef GATEWAY_CLI_SWAP_H
#define GATEWAY_CLI_SWAP_H

#include "schema/frame.h"
#include "schema/problem.h"

struct channel;
struct policies;
struct settings;
struct swap;

struct swap_order {
	struct channel *gateway, *audit;
	const struct settings *settings;
	/* Whose first layers, the ceilings, stay over every other policy. */
	const struct policies *policies;
	/* problem is NULL when the new policy is in force. */
	void (*on_end)(const struct problem *problem, void *arg);
	void *arg;
};

struct swap *swap_new(const struct swap_order *order) MUST_CHECK;
void swap_free(struct swap *swap);

/* Takes the layers; by is who hands them in. */
int swap_begin(struct swap *swap, struct policies *layers, const char *by,
    struct problem *reterr) MUST_CHECK;

/* A frame of the gateway's or the writer's; false when it is not for us. */
bool swap_take(struct swap *swap, const struct frame *frame) MUST_CHECK;

#endif
