#include "gateway/run/budget.h"

#include "policy/policy.h"
#include "policy/rule.h"
#include "policy/stack.h"
#include "policy/verdict.h"
#include "schema/json.h"
#include "schema/status.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define US_A_SECOND INT64_C(1000000)

enum {
	BUCKETS = 256,
	CLAIMS = 2 * LIMIT_LAYERS,
	/* A minute, and the second that has begun: never less than a minute. */
	SECONDS = 61
};

struct budget_account {
	LIST_ENTRY(budget_account) next;
	char *policy;
	char *rule; /* NULL: the policy as a whole */
	struct quota quota; /* as the policy in force says */
	uint64_t connections, bytes[2]; /* out, in */
	/* Requests of each of the last seconds, by second % SECONDS. */
	uint32_t requests[SECONDS];
	int64_t second; /* the latest one that is counted */
	uint64_t requests_now; /* in all of them */
};

struct budget {
	LIST_HEAD(, budget_account) buckets[BUCKETS];
};

struct budget *
budget_new(void)
{
	struct budget *budget = calloc(1, sizeof(*budget));

	for (size_t i = 0; budget != NULL && i < BUCKETS; i++)
		LIST_INIT(&budget->buckets[i]);
	return budget;
}

static void
account_free(struct budget_account *account)
{
	if (account == NULL)
		return;
	free(account->policy);
	free(account->rule);
	free(account);
}

void
budget_free(struct budget *budget)
{
	struct budget_account *account;

	if (budget == NULL)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while ((account = LIST_FIRST(&budget->buckets[i])) != NULL) {
			LIST_REMOVE(account, next);
			account_free(account);
		}
	free(budget);
}

/* ---- accounts ---- */

static uint64_t
hash_text(uint64_t hash, const char *text)
{
	for (; *text != '\0'; text++) {
		hash ^= (unsigned char)*text;
		hash *= 0x100000001b3;
	}
	return hash;
}

static bool
is_account_of(
    const struct budget_account *account, const char *policy, const char *rule)
{
	if ((rule == NULL) != (account->rule == NULL) ||
	    strcmp(account->policy, policy) != 0)
		return false;
	return rule == NULL || strcmp(account->rule, rule) == 0;
}

/* Found or made; NULL when there is no memory. */
static struct budget_account *
account_of(
    struct budget *budget, const struct policy *policy, const struct rule *rule)
{
	const char *name = policy_name(policy);
	const char *id = rule == NULL ? NULL : rule_id(rule);
	uint64_t hash = hash_text(
	    hash_text(0xcbf29ce484222325, name), id == NULL ? "" : id);
	struct budget_account *account;

	LIST_FOREACH(account, &budget->buckets[hash % BUCKETS], next)
		if (is_account_of(account, name, id))
			break;
	if (account == NULL) {
		account = calloc(1, sizeof(*account));
		if (account == NULL)
			return NULL;
		account->policy = strdup(name);
		account->rule = id == NULL ? NULL : strdup(id);
		if (account->policy == NULL ||
		    (id != NULL && account->rule == NULL)) {
			account_free(account);
			return NULL;
		}
		LIST_INSERT_HEAD(
		    &budget->buckets[hash % BUCKETS], account, next);
	}
	account->quota = rule == NULL ? *policy_quota(policy) : rule->quota;
	return account;
}

/* One account more, if it has limits. */
static int
add(struct budget *budget, const struct policy *policy, const struct rule *rule,
    struct budget_claim *claim)
{
	const struct quota *quota =
	    rule == NULL ? policy_quota(policy) : &rule->quota;
	struct budget_account *account;

	if (!quota_is_stated(quota))
		return STATUS_OK;
	account = account_of(budget, policy, rule);
	if (account == NULL)
		return STATUS_NO_MEMORY;
	claim->accounts[claim->count++] = account;
	return STATUS_OK;
}

int
budget_find(struct budget *budget, const struct stack *stack,
    const struct verdict *verdict, struct budget_claim **ret)
{
	struct budget_claim claim = { .count = 0 };
	int status = STATUS_OK;

	for (size_t i = 0; i < stack_count(stack) && status == STATUS_OK; i++)
		status = add(budget, stack_layer(stack, i), NULL, &claim);
	/* What is allowed has one of each layer. */
	assert(verdict->opener_count <= stack_count(stack));
	for (size_t i = 0; i < verdict->opener_count && status == STATUS_OK;
	     i++)
		status = add(
		    budget, stack_layer(stack, i), verdict->openers[i], &claim);
	if (status != STATUS_OK)
		return status;
	*ret = NULL;
	if (claim.count == 0)
		return STATUS_OK;
	*ret = malloc(sizeof(**ret));
	if (*ret == NULL)
		return STATUS_NO_MEMORY;
	**ret = claim;
	return STATUS_OK;
}

static void
tell(const struct budget_account *account, enum quota_kind kind,
    unsigned retry_s, struct budget_over *ret)
{
	bool whole = account->rule == NULL;
	int length;

	ret->kind = kind;
	ret->most = account->quota.most[kind];
	ret->retry_s = retry_s;
	length = snprintf(ret->owner, sizeof(ret->owner), "%s %.*s",
	    whole ? "policy" : "rule", LIMIT_RULE_ID,
	    whole ? account->policy : account->rule);
	if (length < 0)
		ret->owner[0] = '\0';
}

/* ---- requests ---- */

/* Forgets what is more than a minute old. */
static void
age(struct budget_account *account, int64_t now_us)
{
	int64_t second = now_us / US_A_SECOND;

	if (second - account->second >= SECONDS) {
		memset(account->requests, 0, sizeof(account->requests));
		account->requests_now = 0;
		account->second = second;
		return;
	}
	while (account->second < second) {
		uint32_t *oldest =
		    &account->requests[++account->second % SECONDS];

		account->requests_now -= *oldest;
		*oldest = 0;
	}
}

/* How long until one more fits. */
static unsigned
wait_for_room(const struct budget_account *account)
{
	uint64_t most = account->quota.most[QUOTA_REQUESTS];
	uint64_t left = account->requests_now;

	for (int64_t i = 1; i < SECONDS; i++) {
		left -= account->requests[(account->second + i) % SECONDS];
		if (left < most)
			return (unsigned)i;
	}
	return SECONDS;
}

bool
budget_is_spent(const struct budget_claim *claim, struct budget_over *ret_over)
{
	for (size_t i = 0; claim != NULL && i < claim->count; i++) {
		const struct budget_account *account = claim->accounts[i];

		for (enum quota_kind kind = QUOTA_BYTES_OUT;
		     kind <= QUOTA_BYTES_IN; kind++) {
			uint64_t most = account->quota.most[kind];

			if (most == 0 ||
			    account->bytes[kind - QUOTA_BYTES_OUT] < most)
				continue;
			tell(account, kind, 0, ret_over);
			return true;
		}
	}
	return false;
}

bool
budget_take_request(const struct budget_claim *claim, int64_t now_us,
    struct budget_over *ret_over)
{
	if (budget_is_spent(claim, ret_over))
		return false;
	for (size_t i = 0; claim != NULL && i < claim->count; i++) {
		struct budget_account *account = claim->accounts[i];
		uint64_t most = account->quota.most[QUOTA_REQUESTS];

		age(account, now_us);
		if (most == 0 || account->requests_now < most)
			continue;
		tell(account, QUOTA_REQUESTS, wait_for_room(account), ret_over);
		return false;
	}
	for (size_t i = 0; claim != NULL && i < claim->count; i++) {
		struct budget_account *account = claim->accounts[i];

		account->requests[account->second % SECONDS]++;
		account->requests_now++;
	}
	return true;
}

/* ---- connections ---- */

static bool
holds(const struct budget_claim *held, const struct budget_account *account)
{
	for (size_t i = 0; held != NULL && i < held->count; i++)
		if (held->accounts[i] == account)
			return true;
	return false;
}

bool
budget_take_connection(struct budget_claim **held,
    const struct budget_claim *claim, struct budget_over *ret_over)
{
	for (size_t i = 0; claim != NULL && i < claim->count; i++) {
		const struct budget_account *account = claim->accounts[i];
		uint64_t most = account->quota.most[QUOTA_CONNECTIONS];

		if (holds(*held, account) || most == 0 ||
		    account->connections < most)
			continue;
		/* One of those that are open may end at any time. */
		tell(account, QUOTA_CONNECTIONS, 1, ret_over);
		return false;
	}
	if (claim == NULL)
		return true;
	if (*held == NULL)
		*held = calloc(1, sizeof(**held));
	if (*held == NULL) {
		*ret_over = (struct budget_over){ .kind = QUOTA_KIND_COUNT };
		return false;
	}
	for (size_t i = 0; i < claim->count; i++) {
		struct budget_account *account = claim->accounts[i];

		/* Rules that opened its other requests fill it up at last. */
		if (holds(*held, account) || (*held)->count == CLAIMS)
			continue;
		(*held)->accounts[(*held)->count++] = account;
		account->connections++;
	}
	return true;
}

void
budget_leave(struct budget_claim *held)
{
	for (size_t i = 0; held != NULL && i < held->count; i++)
		held->accounts[i]->connections--;
	free(held);
}

/* ---- bytes ---- */

uint64_t
budget_left(const struct budget_claim *claim, enum quota_kind kind)
{
	uint64_t left = UINT64_MAX;

	for (size_t i = 0; claim != NULL && i < claim->count; i++) {
		const struct budget_account *account = claim->accounts[i];
		uint64_t most = account->quota.most[kind];
		uint64_t spent = account->bytes[kind - QUOTA_BYTES_OUT];

		if (most == 0)
			continue;
		if (spent >= most)
			return 0;
		if (most - spent < left)
			left = most - spent;
	}
	return left;
}

void
budget_spend(
    const struct budget_claim *claim, enum quota_kind kind, uint64_t bytes)
{
	for (size_t i = 0; claim != NULL && i < claim->count; i++)
		claim->accounts[i]->bytes[kind - QUOTA_BYTES_OUT] += bytes;
}

/* ---- words ---- */

void
budget_words(const struct budget_over *over, char out[BUDGET_WORDS_MAX])
{
	int length =
	    snprintf(out, BUDGET_WORDS_MAX, "%s has used up its %s of %" PRIu64,
		over->owner, quota_kind_name(over->kind), over->most);

	if (length < 0)
		out[0] = '\0';
}

static uint64_t
used_of(const struct budget_account *account, enum quota_kind kind)
{
	switch (kind) {
	case QUOTA_REQUESTS:
		return account->requests_now;
	case QUOTA_CONNECTIONS:
		return account->connections;
	case QUOTA_BYTES_OUT:
	case QUOTA_BYTES_IN:
		return account->bytes[kind - QUOTA_BYTES_OUT];
	case QUOTA_KIND_COUNT:
		break;
	}
	return 0;
}

static void
describe_account(struct budget_account *account, int64_t now_us, struct json *j)
{
	age(account, now_us);
	json_open(j, NULL, '{');
	json_text(j, "policy", account->policy);
	if (account->rule != NULL)
		json_text(j, "rule", account->rule);
	for (enum quota_kind kind = 0; kind < QUOTA_KIND_COUNT; kind++) {
		uint64_t most = account->quota.most[kind];
		uint64_t used = used_of(account, kind);

		if (most == 0)
			continue;
		json_open(j, quota_kind_name(kind), '{');
		json_number(j, "limit", (int64_t)most);
		json_number(
		    j, "left", (int64_t)(used < most ? most - used : 0));
		json_close(j, '}');
	}
	json_close(j, '}');
}

static void
describe_one(struct budget *budget, const struct policy *policy,
    const struct rule *rule, int64_t now_us, struct json *j)
{
	struct budget_claim claim = { .count = 0 };

	/* What there is no memory for, or no room, is left out. */
	if (j->out->size - j->out->used < 4096 ||
	    add(budget, policy, rule, &claim) != STATUS_OK)
		return;
	for (size_t i = 0; i < claim.count; i++)
		describe_account(claim.accounts[i], now_us, j);
}

void
budget_describe(struct budget *budget, const struct stack *stack,
    int64_t now_us, struct json *j)
{
	json_open(j, "limits", '[');
	for (size_t i = 0; i < stack_count(stack); i++) {
		const struct policy *policy = stack_layer(stack, i);

		describe_one(budget, policy, NULL, now_us, j);
		for (size_t k = 0; k < policy_rule_count(policy); k++)
			describe_one(
			    budget, policy, policy_rule(policy, k), now_us, j);
	}
	json_close(j, ']');
}
