/*
 * expand - a policy as its owner wrote it, to the one that is enforced.
 *
 * Sets of this machine are put in beside the policy's own, and the files of
 * "upstream_ca" are replaced by their text, so that what the gateway loads
 * and the audit keeps says all there is to say.  Every line stays where it
 * was: problems are told with the places of the owner's own file.
 */
#ifndef GATEWAY_CLI_EXPAND_H
#define GATEWAY_CLI_EXPAND_H

#include "gateway/cli/sets.h"
#include "schema/cursor.h"
#include "schema/problem.h"

struct policy;

struct expansion {
	char *text; /* with a NUL behind it */
	size_t length;
	struct policy *policy; /* what the text says */
};

/*
 * Reads a policy file.  Refused is one that others than its owner could
 * write, or that writable (which may be NULL) says the sandbox could.  Fills
 * *reterr with every problem and returns STATUS_PROBLEM, or gives *ret.
 */
int expand_file(const char *path, sets_writable *writable, const void *arg,
    struct expansion *ret, struct problems *reterr) MUST_CHECK;

/* The same for a text that was read already; path is where it stood. */
int expand_text(struct cursor text, const char *path, sets_writable *writable,
    const void *arg, struct expansion *ret, struct problems *reterr) MUST_CHECK;

void expansion_done(struct expansion *expansion);

#endif
