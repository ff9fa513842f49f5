#include "policy/honour.h"

#include "policy/policy.h"
#include "policy/rule.h"

static bool
states_credential(const struct rule *rule)
{
	return rule->credential != NULL;
}

static bool
states_clear(const struct rule *rule)
{
	return rule->clear;
}

static bool
states_echo(const struct rule *rule)
{
	return rule->echo != RULE_ECHO_PASS;
}

static bool
states_exe(const struct rule *rule)
{
	return rule->exe_count > 0;
}

static bool
states_mcp(const struct rule *rule)
{
	return mcpmatch_is_stated(&rule->mcp);
}

static bool
states_log(const struct rule *rule)
{
	return rule->log_mcp;
}

static bool
states_limits(const struct rule *rule)
{
	return quota_is_stated(&rule->quota);
}

/* Questions for names are answered by us, whoever is asked. */
static bool
states_udp_53(const struct rule *rule)
{
	bool others = rule->port_count == 0;

	for (size_t i = 0; i < rule->port_count; i++)
		others = others || rule->ports[i].first != 53 ||
			 rule->ports[i].last != 53;
	return rule->protocol == RULE_UDP && rule->action != RULE_DENY &&
	       !others;
}

/* Whether a run does what the key, or the value of one, says. */
static const struct promise {
	const char *key;
	bool (*states)(const struct rule *rule);
	bool kept;
} promises[] = {
	{ "port", states_udp_53, false },
	{ "credential", states_credential, true },
	{ "clear", states_clear, true },
	{ "echo", states_echo, true },
	{ "exe", states_exe, true },
	{ "mcp", states_mcp, true },
	{ "log", states_log, true },
	/* Also what stands under "limits" for the whole policy. */
	{ "limits", states_limits, true },
};

static const struct promise *
find_broken(const struct rule *rule)
{
	for (size_t i = 0; i < sizeof(promises) / sizeof(promises[0]); i++)
		if (!promises[i].kept && promises[i].states(rule))
			return &promises[i];
	return NULL;
}

bool
honour_find_gap(const struct policy *policy, struct honour_gap *ret)
{
	const struct rule whole = { .quota = *policy_quota(policy) };
	const struct promise *broken = find_broken(&whole);

	if (broken != NULL) {
		*ret = (struct honour_gap){ .key = broken->key };
		return true;
	}
	for (size_t i = 0; i < policy_rule_count(policy); i++) {
		const struct rule *rule = policy_rule(policy, i);

		broken = find_broken(rule);
		if (broken == NULL)
			continue;
		*ret = (struct honour_gap){ broken->key, rule };
		return true;
	}
	return false;
}

const struct rule *
honour_find_stranger(const struct policy *policy,
    bool (*has)(const char *credential, void *arg), void *arg)
{
	for (size_t i = 0; i < policy_rule_count(policy); i++) {
		const struct rule *rule = policy_rule(policy, i);

		if (rule->credential != NULL && !has(rule->credential, arg))
			return rule;
	}
	return NULL;
}

const struct rule *
honour_find_address_denial(const struct policy *policy)
{
	for (size_t i = 0; i < policy_rule_count(policy); i++) {
		const struct rule *rule = policy_rule(policy, i);

		if (rule->action == RULE_DENY && rule->address_count > 0)
			return rule;
	}
	return NULL;
}
