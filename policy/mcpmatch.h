/*
 * mcpmatch - which messages of the Model Context Protocol a rule is about.
 *
 * A message holds when one of the methods matches its method and, if it calls
 * a tool, one of the tools the tool's name.  A list that is not stated
 * matches everything; but with tools alone, only calls of tools are meant.
 */
#ifndef POLICY_MCPMATCH_H
#define POLICY_MCPMATCH_H

#include "policy/pathmatch.h"

#include <stdbool.h>

/* The one method that names a tool. */
#define MCPMATCH_CALL "tools/call"

struct mcpmatch {
	struct pathmatch *methods; /* owned, as are the tools */
	size_t method_count;
	struct pathmatch *tools;
	size_t tool_count;
};

void mcpmatch_done(struct mcpmatch *match);

/* False: the rule says nothing about messages. */
bool mcpmatch_is_stated(const struct mcpmatch *match);

/* tool counts only when the method is MCPMATCH_CALL. */
bool mcpmatch_holds(
    const struct mcpmatch *match, struct cursor method, struct cursor tool);

/* Whether a message with this method may hold, whatever tool it calls. */
bool mcpmatch_has_method(const struct mcpmatch *match, struct cursor method);

/* False only when no message is matched by both. */
bool mcpmatch_may_meet(const struct mcpmatch *a, const struct mcpmatch *b);

#endif
