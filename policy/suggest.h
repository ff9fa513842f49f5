/*
 * suggest - the smallest policy that allows given attempts.
 *
 * One rule for what one host was asked in one way: its ports, its methods and
 * the shapes of its paths, with what looks like an id folded to "*"; hosts
 * that were asked the same share a rule.  Order and names follow from the
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

/*
 * Adds one attempt at its last stage; private_address says that its name led
 * to an address that is not public.  STATUS_NO_MEMORY.
 */
int suggest_add(struct suggest *suggest, const struct facts *facts,
    bool private_address) MUST_CHECK;

/*
 * Writes the document, a rule a line.  STATUS_TOO_LONG when out has no room,
 * STATUS_NO_MEMORY.
 */
int suggest_write(struct suggest *suggest, struct cursor_writer *out)
    MUST_CHECK;

#endif
