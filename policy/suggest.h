/*
 * suggest - the smallest policy that allows given attempts.
 *
 * One rule for what one host was asked in one way: its ports, its methods and
 * the shapes of its paths, with what looks like an id folded to "*"; hosts
 * that were asked the same share a rule.  What went with a credential has a
 * rule of its own.  Order and names follow from the
 * attempts alone, whatever order they came in.  Query values, upgrades and
 * times are not looked at.
 */
#ifndef POLICY_SUGGEST_H
#define POLICY_SUGGEST_H

#include "policy/facts.h"

struct suggest;

/* NULL when there is no memory. */
struct suggest *suggest_new(void) MUST_CHECK;
void suggest_free(struct suggest *suggest);

/* How an attempt was let through, as far as its rule has to say it again. */
struct suggest_way {
	bool private_address; /* its name led to one that is not public */
	const char *credential; /* that went along; NULL or empty: none */
};

/* Adds one attempt at its last stage.  STATUS_NO_MEMORY. */
int suggest_add(struct suggest *suggest, const struct facts *facts,
    const struct suggest_way *way) MUST_CHECK;

/*
 * Writes the document, a rule a line.  STATUS_TOO_LONG when out has no room,
 * STATUS_NO_MEMORY.
 */
int suggest_write(struct suggest *suggest, struct cursor_writer *out)
    MUST_CHECK;

#endif
