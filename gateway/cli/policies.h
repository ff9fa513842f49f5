/*
 * policies - the layers of one run: from files to sealed texts.
 *
 * Each file is checked, its sets and authorities are put in, and the text
 * that results is sealed and hashed: that text is what the gateway loads and
 * the audit keeps, so both can be held against each other.  Without any
 * policy there is one that allows nothing.
 */
#ifndef GATEWAY_CLI_POLICIES_H
#define GATEWAY_CLI_POLICIES_H

#include "gateway/cli/needs.h"
#include "gateway/cli/sets.h"
#include "schema/limits.h"
#include "schema/problem.h"

#include <stdbool.h>
#include <stdint.h>

#define POLICIES_DIGEST 32

struct channel;
struct settings;
struct task;

struct policies_layer {
	char name[LIMIT_RULE_TEXT + 1]; /* the file, for messages */
	uint8_t sha256[POLICIES_DIGEST];
	int fd; /* sealed text */
};

struct policies {
	struct policies_layer layers[LIMIT_LAYERS];
	size_t count;
	size_t ceiling_count; /* of them, the first: they stand over the run */
	bool none_given; /* the one layer denies everything */
	struct needs needs; /* credentials that any of them names */
};

/*
 * Gives every layer, the ceilings first, without their hashes.  Problems are
 * told for all files in one go; the file of each stands in its text.
 */
int policies_load(struct policies *ret, const struct task *task,
    const struct settings *settings, struct problems *reterr) MUST_CHECK;
void policies_done(struct policies *policies);

/*
 * Fills in the hashes.  The library that knows how takes a while to begin,
 * which is well spent while siblings start.
 */
int policies_hash(struct policies *policies, struct problem *reterr) MUST_CHECK;

/* Each layer as an ORDER_LAYER, with its descriptor. */
int policies_send(const struct policies *policies, struct channel *gateway)
    MUST_CHECK;

/*
 * Gives the layers of these files alone, with their hashes.  writable says what
 * the sandbox could write; such a file is refused.
 */
int policies_read(struct policies *ret, char *const *files, size_t count,
    sets_writable *writable, const void *arg, struct problems *reterr)
    MUST_CHECK;

#endif
