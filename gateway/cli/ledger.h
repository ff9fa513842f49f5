/*
 * ledger - one run told to the audit writer by its parent.
 *
 * Only the frames: what the run is, its policies, who else writes about it,
 * and how it ended.  The channel is the caller's.
 */
#ifndef GATEWAY_CLI_LEDGER_H
#define GATEWAY_CLI_LEDGER_H

#include "schema/attr.h"
#include "schema/limits.h"

#include <stdint.h>

struct channel;
struct policies;
struct policies_layer;
struct settings;
struct task;

/* How a run is called: for people, and for request ids. */
struct ledger_name {
	char uid[LIMIT_RUN_UID + 1]; /* "run-" and twelve letters */
	uint8_t id[16];
};

/* Drawn from the kernel's random numbers; STATUS_SYSTEM when it has none. */
int ledger_name_draw(struct ledger_name *ret) MUST_CHECK;

/* The writer's ends of their channels; -1: there is none. */
struct ledger_producers {
	int gateway, broker;
};

/* Opens the run and tells its policies; producers stay the caller's. */
int ledger_open(struct channel *audit, const struct ledger_name *name,
    const struct task *task, const struct settings *settings,
    const struct policies *policies, const struct ledger_producers *producers)
    MUST_CHECK;

/* The launcher's channel; producer stays the caller's. */
int ledger_add_launcher(struct channel *audit, int producer) MUST_CHECK;

/*
 * end is one of the words of a launcher's result; packets is what it counted
 * of refused packets, a JSON object, or NULL.
 */
int ledger_close(struct channel *audit, int code, const char *end,
    const char *packets) MUST_CHECK;

/* A layer that comes later; the writer answers with AUDIT_LOADED. */
int ledger_add_policy(struct channel *audit, const struct policies_layer *layer,
    const struct settings *settings) MUST_CHECK;

#endif
