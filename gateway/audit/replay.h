/*
 * replay - what past rows asked for, as questions to a policy.
 *
 * Rows that ask the same and were answered alike are one attempt, with how
 * often it was made.  Only answers that a policy gave are told: a host that
 * was down, or an address that may not be dialled, is not its doing.  An
 * audit keeps the names of a query's parameters and not their values, and no
 * upgrades: what depends on them cannot be told anew, and is marked.
 */
#ifndef GATEWAY_AUDIT_REPLAY_H
#define GATEWAY_AUDIT_REPLAY_H

#include "policy/facts.h"
#include "policy/verdict.h"
#include "schema/problem.h"

struct query;
struct stack;

enum replay_answer {
	REPLAY_ALLOWED,
	REPLAY_DENIED,
	REPLAY_WOULD_DENY, /* observed: it went on all the same */
	REPLAY_ANSWER_COUNT
};

struct replay_attempt {
	struct facts facts; /* borrows from the attempt */
	struct urlpath path;
	char method[LIMIT_HTTP_METHOD + 1];
	char host[LIMIT_HOST + 1];
	struct address led_to; /* or unset */
	char credential[LIMIT_CREDENTIAL_NAME +
			1]; /* that went along, or empty */
	enum replay_answer before;
	char why[LIMIT_RULE_ID + 1]; /* the rule or the reason of then */
	int64_t times;
	bool has_query; /* whose values nobody knows */
};

/* False ends it.  The attempt is gone afterwards. */
typedef bool replay_heard(const struct replay_attempt *attempt, void *arg);

/*
 * Tells every attempt of a run ("": of all), in order of host and path.
 * *ret_cut: there were more than may be read at once.
 */
int replay_attempts(struct query *query, const char *run, replay_heard *heard,
    void *arg, bool *ret_cut, struct problem *reterr) MUST_CHECK;

/*
 * What the stack answers now.  Where a row does not say what was spoken, the
 * answer of then counts if the stack gives it for anything it can have been.
 */
void replay_weigh(const struct replay_attempt *attempt,
    const struct stack *stack, struct verdict *ret);

const char *replay_answer_name(enum replay_answer answer);

#endif
