/*
 * condition - one thing that a rule asks of an attempt, or the opposite of it.
 *
 * Conditions on different things are independent of each other.  Whether
 * several on one thing leave anything is answered by a value that they leave:
 * for names, paths and query values by policy/automaton, for all else by
 * trying, with rule's own functions, a value of each kind that they tell
 * apart.  Times are those from 1970 to 9999.
 */
#ifndef POLICY_CONDITION_H
#define POLICY_CONDITION_H

#include "policy/rule.h"

enum condition_term {
	CONDITION_TARGET,
	CONDITION_PORT,
	CONDITION_METHOD,
	CONDITION_UPGRADE,
	CONDITION_PATH,
	CONDITION_QUERY,
	CONDITION_EXE,
	CONDITION_MCP,
	CONDITION_VALID,
	CONDITION_TERM_COUNT
};

struct condition {
	const struct rule *rule; /* borrowed */
	enum condition_term term;
	bool git; /* not the rule's own, but what git fetches with */
	bool negated;
	size_t query; /* which of the rule's */
};

/*
 * Writes a value that all those conditions of the list leave which are on
 * term: a name, address, port, method, token, path or query, or a time; the
 * words of a question about a program or a message; "" for no upgrade, no
 * query, no program known, no message, and now.  STATUS_NOT_FOUND when they
 * leave none, STATUS_FULL when nobody can tell, STATUS_NO_MEMORY.  A value that
 * has no room in out is still STATUS_OK.
 */
int condition_sample(enum condition_term term, const struct condition *list,
    size_t count, int64_t now_us, struct cursor_writer *out) MUST_CHECK;

#endif
