#include "policy/precedence.h"

#include "policy/rank.h"
#include "policy/region.h"

static bool
hosts_may_meet(const struct rule *rule, const struct hostmatch *host)
{
	for (size_t i = 0; i < rule->host_count; i++)
		if (hostmatch_may_meet(&rule->hosts[i], host))
			return true;
	return false;
}

static bool
host_takes_part(const struct precedence *at, const struct hostmatch *host)
{
	for (size_t i = 0; i < at->region->count; i++) {
		const struct condition *c = &at->region->conditions[i];

		if (c->term == CONDITION_TARGET && !c->negated &&
		    !hosts_may_meet(c->rule, host))
			return false;
	}
	return hosts_may_meet(at->rule, host) &&
	       hosts_may_meet(at->other, host);
}

static bool
paths_may_meet(const struct rule *rule, const struct pathmatch *path)
{
	for (size_t i = 0; i < rule->path_count; i++)
		if (pathmatch_may_meet(&rule->paths[i], path))
			return true;
	return rule->path_count == 0;
}

static bool
path_takes_part(const struct precedence *at, const struct pathmatch *path)
{
	for (size_t i = 0; i < at->region->count; i++) {
		const struct condition *c = &at->region->conditions[i];

		if (c->term == CONDITION_PATH && !c->negated && !c->git &&
		    !paths_may_meet(c->rule, path))
			return false;
	}
	return paths_may_meet(at->rule, path) &&
	       paths_may_meet(at->other, path);
}

static void
widen(uint32_t rank, uint32_t *least, uint32_t *most)
{
	if (rank < *least)
		*least = rank;
	if (rank > *most)
		*most = rank;
}

/* The ranks of those patterns of a rule that can matter where both meet. */
static void
target_ranks(const struct precedence *at, const struct rule *rule,
    uint32_t *ret_least, uint32_t *ret_most)
{
	uint32_t least = UINT32_MAX, most = 0;

	for (size_t i = 0; i < rule->host_count; i++)
		if (host_takes_part(at, &rule->hosts[i]))
			widen(rank_of_host(&rule->hosts[i]), &least, &most);
	for (size_t i = 0; i < rule->address_count; i++)
		widen(rank_of_cidr(&rule->addresses[i]), &least, &most);
	*ret_least = least;
	*ret_most = most;
}

static void
path_ranks(const struct precedence *at, const struct rule *rule,
    uint32_t *ret_least, uint32_t *ret_most)
{
	uint32_t least = UINT32_MAX, most = 0;

	for (size_t i = 0; i < rule->path_count; i++)
		if (path_takes_part(at, &rule->paths[i]))
			widen((uint32_t)rule->paths[i].literal, &least, &most);
	*ret_least = rule->path_count == 0 ? 0 : least;
	*ret_most = most;
}

/* From the least to the most, as rank_of_rule() has it. */
static void
request_ranks(const struct precedence *at, const struct rule *rule,
    uint32_t *ret_least, uint32_t *ret_most)
{
	uint32_t least, most, shortest, longest;
	bool methods = rule->access == RULE_METHODS;

	target_ranks(at, rule, &least, &most);
	path_ranks(at, rule, &shortest, &longest);
	if (least <= most && shortest <= longest) {
		least = rank_of_rule(least, shortest, methods);
		most = rank_of_rule(most, longest, methods);
	}
	*ret_least = least;
	*ret_most = most;
}

bool
precedence_of_connections(const struct precedence *at)
{
	uint32_t least, most, unused;

	target_ranks(at, at->rule, &least, &unused);
	target_ranks(at, at->other, &unused, &most);
	return least > most;
}

bool
precedence_of_requests(const struct precedence *at)
{
	uint32_t least, most, unused;

	/* A request that is asked about is the asking rule's. */
	if (at->rule->action != at->other->action)
		return at->rule->action < at->other->action;
	request_ranks(at, at->rule, &least, &unused);
	request_ranks(at, at->other, &unused, &most);
	return least > most;
}
