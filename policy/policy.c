#include "policy/policy.h"

#include "policy/index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct policy {
	struct rule *rules;
	size_t rule_count;
	struct index *index;
	char *name;
	unsigned references;
	bool stamped;
	uint8_t digest[POLICY_DIGEST];
	struct quota quota;
};

static void
free_rules(struct rule *rules, size_t count)
{
	for (size_t i = 0; i < count; i++)
		rule_done(&rules[i]);
	free(rules);
}

static void
policy_free(struct policy *policy)
{
	index_free(policy->index);
	free_rules(policy->rules, policy->rule_count);
	free(policy->name);
	free(policy);
}

struct policy *
policy_new(const char *name, struct rule *rules, size_t count)
{
	struct policy *policy = calloc(1, sizeof(*policy));

	if (policy == NULL) {
		free_rules(rules, count);
		return NULL;
	}
	policy->rules = rules;
	policy->rule_count = count;
	policy->references = 1;
	policy->name = strdup(name);
	policy->index = index_new(rules, count);
	if (policy->name == NULL || policy->index == NULL) {
		policy_free(policy);
		return NULL;
	}
	return policy;
}

void
policy_stamp(struct policy *policy, const uint8_t sha256[POLICY_DIGEST])
{
	memcpy(policy->digest, sha256, sizeof(policy->digest));
	policy->stamped = true;
}

const uint8_t *
policy_digest(const struct policy *policy)
{
	return policy->stamped ? policy->digest : NULL;
}

void
policy_set_quota(struct policy *policy, const struct quota *quota)
{
	policy->quota = *quota;
}

const struct quota *
policy_quota(const struct policy *policy)
{
	return &policy->quota;
}

const struct policy *
policy_ref(const struct policy *policy)
{
	struct policy *counted = unconst(policy);

	assert(counted->references > 0);
	counted->references++;
	return policy;
}

void
policy_unref(const struct policy *policy)
{
	struct policy *counted = unconst(policy);

	if (counted == NULL)
		return;
	assert(counted->references > 0);
	if (--counted->references == 0)
		policy_free(counted);
}

const char *
policy_name(const struct policy *policy)
{
	return policy->name;
}

size_t
policy_rule_count(const struct policy *policy)
{
	return policy->rule_count;
}

const struct rule *
policy_rule(const struct policy *policy, size_t number)
{
	assert(number < policy->rule_count);
	return &policy->rules[number];
}

const struct index *
policy_index(const struct policy *policy)
{
	return policy->index;
}
