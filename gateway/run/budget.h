/*
 * budget - what the limits of rules and policies have left.
 *
 * Each rule with "limits", and each policy with limits of its own, has an
 * account.  What happens in the run is claimed against the accounts of the
 * rule of every layer that allowed it and of every layer: all of them must
 * have something left.  Where nothing has limits there is no claim and no
 * cost.
 *
 * Requests are counted over the last minute, connections while they are open,
 * bytes for the whole run.  An account is known by the name of its policy and
 * rule, so that putting the same policy in force again gives nothing back.
 *
 * The time is an argument, monotonic microseconds.
 */
#ifndef GATEWAY_RUN_BUDGET_H
#define GATEWAY_RUN_BUDGET_H

#include "policy/quota.h"
#include "schema/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget;
struct budget_account;
struct json;
struct stack;
struct verdict;

struct budget *budget_new(void);
void budget_free(struct budget *budget);

/* The accounts that one thing counts against; all zeroes is none. */
struct budget_claim {
	size_t count;
	struct budget_account *accounts[2 * LIMIT_LAYERS];
};

/*
 * Finds what an allowed attempt counts against: NULL in *ret when nothing has
 * limits.  STATUS_NO_MEMORY.  The caller frees the claim with free(); the
 * accounts live as long as the budget.
 */
int budget_find(struct budget *budget, const struct stack *stack,
    const struct verdict *verdict, struct budget_claim **ret);

/* Which account has how little left. */
struct budget_over {
	char owner[LIMIT_RULE_ID + 16]; /* "rule web", "policy agent" */
	enum quota_kind kind;
	uint64_t most;
	unsigned retry_s; /* 0: waiting does not help */
};

/*
 * Takes one request, or nothing and tells why not.  Also refused: what has no
 * byte left for it.  claim may be NULL, here and below.
 */
bool budget_take_request(const struct budget_claim *claim, int64_t now_us,
    struct budget_over *ret_over);

/*
 * Takes one connection of each account that *held does not hold yet, and adds
 * it there; or takes nothing.  *held is made when it is NULL and must be, and
 * given back with budget_leave().  False with kind QUOTA_KIND_COUNT: no
 * memory.
 */
bool budget_take_connection(struct budget_claim **held,
    const struct budget_claim *claim, struct budget_over *ret_over);

/* The connection is over; frees held.  Takes NULL. */
void budget_leave(struct budget_claim *held);

/* How many bytes may still pass, QUOTA_BYTES_OUT or _IN. */
uint64_t budget_left(const struct budget_claim *claim, enum quota_kind kind);
void budget_spend(
    const struct budget_claim *claim, enum quota_kind kind, uint64_t bytes);

/* The first account without a byte left in one of both directions. */
bool budget_is_spent(
    const struct budget_claim *claim, struct budget_over *ret_over);

/* "the 60 requests_per_minute of rule web are used up" */
#define BUDGET_WORDS_MAX 128
void budget_words(const struct budget_over *over, char out[BUDGET_WORDS_MAX]);

/* Every limit of the stack and what is left of it, as a JSON array. */
void budget_describe(struct budget *budget, const struct stack *stack,
    int64_t now_us, struct json *j);

#endif
