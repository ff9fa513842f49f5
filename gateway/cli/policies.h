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

#include "schema/limits.h"
#include "schema/problem.h"

#include <stdbool.h>
#include <stdint.h>

#define POLICIES_DIGEST 32

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
	bool none_given; /* the one layer denies everything */
};

/*
 * Gives every layer, the ceilings first.  Problems are told for all files in
 * one go; the file of each stands in its text.
 */
int policies_load(struct policies *ret, const struct task *task,
    const struct settings *settings, struct problems *reterr) MUST_CHECK;
void policies_done(struct policies *policies);

#endif
