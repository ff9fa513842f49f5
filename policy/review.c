#include "policy/review.h"

#include "policy/index.h"
#include "policy/rank.h"
#include "schema/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct review {
	const struct policy *policy;
	const struct place *places;
	const struct report *report;
};

static const struct place *
place_of(const struct review *review, const struct rule *rule)
{
	return &review->places[rule - policy_rule(review->policy, 0)];
}

static bool
stands_before(const struct rule *a, const struct rule *b)
{
	return a < b;
}

/* Names both; where a document has its rules, the later one is at fault. */
static void
report_pair(const struct review *review, const struct rule *a,
    const struct rule *b, const char *cure, const char *what)
{
	const struct rule *first = stands_before(a, b) ? a : b;
	const struct rule *later = first == a ? b : a;

	report_add(review->report, place_of(review, later), cure,
	    "\"%s\" and \"%s\" %s", rule_id(first), rule_id(later), what);
}

struct named {
	const struct rule *rule;
};

static int
compare_ids(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = strcmp(rule_id(x->rule), rule_id(y->rule));

	if (order != 0)
		return order;
	return stands_before(x->rule, y->rule) ? -1 : x->rule != y->rule;
}

static void
review_ids(const struct review *review, struct named *sorted)
{
	size_t count = policy_rule_count(review->policy);

	for (size_t i = 0; i < count; i++)
		sorted[i].rule = policy_rule(review->policy, i);
	qsort(sorted, count, sizeof(*sorted), compare_ids);
	for (size_t i = 1; i < count; i++) {
		const struct rule *rule = sorted[i].rule;

		if (strcmp(rule_id(sorted[i - 1].rule), rule_id(rule)) == 0)
			report_add(review->report, place_of(review, rule),
			    "give each rule an id of its own",
			    "another rule has the id \"%s\"", rule_id(rule));
	}
}

/* Whether every method that the open rule lets through is denied. */
static bool
denies_methods(const struct rule *deny, const struct rule *open)
{
	struct facts facts = { .stage = STAGE_REQUEST, .last = true };
	struct rule only_methods = { .action = RULE_DENY,
		.access = deny->access,
		.methods = deny->methods,
		.method_count = deny->method_count,
		.valid_from_us = INT64_MIN,
		.valid_until_us = INT64_MAX };
	struct rule_match match;

	if (deny->access == RULE_WRITE || deny->access == RULE_FULL)
		return true;
	if (open->access == RULE_READ)
		return deny->access == RULE_READ;
	if (open->access != RULE_METHODS)
		return false;
	for (size_t i = 0; i < open->method_count; i++) {
		facts.method = open->methods[i];
		rule_weigh(&only_methods, &facts, &match);
		if (match.answer != ANSWER_YES)
			return false;
	}
	return true;
}

static bool
denies_paths(const struct rule *deny, const struct rule *open)
{
	if (deny->path_count == 0)
		return true;
	for (size_t i = 0; i < open->path_count; i++) {
		bool covered = false;

		for (size_t k = 0; k < deny->path_count && !covered; k++)
			covered =
			    pathmatch_covers(&deny->paths[k], &open->paths[i]);
		if (!covered)
			return false;
	}
	return open->path_count > 0;
}

static bool
denies_requests(const struct rule *deny, const struct rule *open)
{
	return denies_methods(deny, open) && denies_paths(deny, open) &&
	       deny->query_count == 0 && deny->upgrade_count == 0 &&
	       !mcpmatch_is_stated(&deny->mcp);
}

static bool
denies_protocol(const struct rule *deny, const struct rule *open)
{
	return deny->protocol == RULE_ANY_PROTOCOL ||
	       deny->protocol == open->protocol ||
	       (deny->protocol == RULE_TCP && open->protocol != RULE_UDP);
}

/* Whether a deny for the same host concerns every connection of open. */
static bool
denies_connections(const struct rule *deny, const struct rule *open)
{
	return port_ranges_cover(deny->ports, deny->port_count, open->ports,
		   open->port_count) &&
	       denies_protocol(deny, open) && deny->exe_count == 0 &&
	       deny->valid_from_us <= open->valid_from_us &&
	       open->valid_until_us <= deny->valid_until_us;
}

struct shadow {
	const struct rule *open;
	const struct rule *by; /* the first deny that covers it, or NULL */
	/* A deny of some of what passes unread, which nobody can tell. */
	const struct rule *unread;
};

static void
find_shadow(const struct rule *rule, uint32_t target, void *arg)
{
	struct shadow *shadow = arg;

	(void)target;
	if (rule->action != RULE_DENY ||
	    !denies_connections(rule, shadow->open))
		return;
	if (denies_requests(rule, shadow->open)) {
		if (shadow->by == NULL)
			shadow->by = rule;
	} else if (shadow->open->passthrough && shadow->unread == NULL) {
		shadow->unread = rule;
	}
}

/*
 * Finds, for a rule all of whose targets are denied, one deny; and a deny
 * that looks into what passes unread.
 */
static struct shadow
shadow_of(const struct review *review, const struct rule *open)
{
	const struct index *index = policy_index(review->policy);
	struct shadow shadow = { .open = open };
	bool all = true;

	for (size_t i = 0; i < open->host_count; i++) {
		shadow.by = NULL;
		index_find_wider(index, &open->hosts[i], find_shadow, &shadow);
		all = all && shadow.by != NULL;
	}
	for (size_t i = 0; i < open->address_count; i++) {
		shadow.by = NULL;
		index_find_wider_cidr(
		    index, &open->addresses[i], find_shadow, &shadow);
		all = all && shadow.by != NULL;
	}
	if (!all)
		shadow.by = NULL;
	return shadow;
}

static void
review_shadows(const struct review *review)
{
	for (size_t i = 0; i < policy_rule_count(review->policy); i++) {
		const struct rule *rule = policy_rule(review->policy, i);
		struct shadow shadow;

		if (rule->action == RULE_DENY)
			continue;
		shadow = shadow_of(review, rule);
		if (shadow.by != NULL)
			report_add(review->report, place_of(review, rule),
			    "a deny always wins: narrow it, or remove this "
			    "rule",
			    "\"%s\" never matches, \"%s\" denies all of it",
			    rule_id(rule), rule_id(shadow.by));
		else if (shadow.unread != NULL)
			report_add(review->report, place_of(review, rule),
			    "inspect here, or deny the whole host",
			    "\"%s\" passes unread, so nobody can tell what "
			    "\"%s\" denies of it",
			    rule_id(rule), rule_id(shadow.unread));
	}
}

/* One pattern of an open rule, to be put beside others like it. */
struct claim {
	const struct rule *rule;
	const struct hostmatch *host; /* or NULL */
	const struct cidr *cidr; /* or NULL */
};

static int
compare_hosts(const struct hostmatch *a, const struct hostmatch *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	if (a->kind != HOSTMATCH_GLOB)
		return strcmp(a->text, b->text);
	/* Globs of one length below one zone may mean the same names; for
	 * others see review_inner_globs(). */
	return strcmp(hostmatch_zone(a), hostmatch_zone(b));
}

static int
compare_cidrs(const struct cidr *a, const struct cidr *b)
{
	if (a->address.length != b->address.length)
		return a->address.length < b->address.length ? -1 : 1;
	if (a->bits != b->bits)
		return a->bits < b->bits ? -1 : 1;
	return memcmp(a->address.bytes, b->address.bytes, 16);
}

static int
compare_targets(const struct claim *a, const struct claim *b)
{
	if ((a->host == NULL) != (b->host == NULL))
		return a->host == NULL ? -1 : 1;
	return a->host != NULL ? compare_hosts(a->host, b->host)
			       : compare_cidrs(a->cidr, b->cidr);
}

static int
compare_claims(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;
	int order = compare_targets(x, y);

	if (order != 0)
		return order;
	return stands_before(x->rule, y->rule) ? -1 : x->rule != y->rule;
}

/* Whether one label can be matched by both, as far as their ends tell. */
static bool
labels_may_meet(struct cursor a, struct cursor b)
{
	size_t front = 0, back = 0;

	if (memchr(a.at, '*', a.left) == NULL &&
	    memchr(b.at, '*', b.left) == NULL)
		return a.left == b.left && memcmp(a.at, b.at, a.left) == 0;
	while (front < a.left && front < b.left && a.at[front] != '*' &&
	       b.at[front] != '*') {
		if (a.at[front] != b.at[front])
			return false;
		front++;
	}
	while (back < a.left && back < b.left &&
	       a.at[a.left - back - 1] != '*' &&
	       b.at[b.left - back - 1] != '*') {
		if (a.at[a.left - back - 1] != b.at[b.left - back - 1])
			return false;
		back++;
	}
	return true;
}

static bool
globs_may_meet(const struct claim *a, const struct claim *b)
{
	struct cursor x, y, label_x, label_y;
	bool more = true;

	if (a->host == NULL || a->host->kind != HOSTMATCH_GLOB)
		return true;
	x = cursor_of(a->host->text, a->host->length);
	y = cursor_of(b->host->text, b->host->length);
	while (more) {
		more = cursor_until(&x, '.', &label_x);
		if (more != cursor_until(&y, '.', &label_y))
			return false;
		if (!more) {
			label_x = x;
			label_y = y;
		}
		if (!labels_may_meet(label_x, label_y))
			return false;
	}
	return true;
}

static bool
protocols_meet(const struct rule *a, const struct rule *b)
{
	return a->protocol == b->protocol || denies_protocol(a, b) ||
	       denies_protocol(b, a);
}

static bool
programs_meet(const struct rule *a, const struct rule *b)
{
	if (a->exe_count == 0 || b->exe_count == 0)
		return true;
	for (size_t i = 0; i < a->exe_count; i++)
		for (size_t k = 0; k < b->exe_count; k++)
			if (exematch_may_meet(&a->exes[i], &b->exes[k]))
				return true;
	return false;
}

/* Whether one connection could be for both. */
static bool
connections_meet(const struct claim *a, const struct claim *b)
{
	const struct rule *x = a->rule, *y = b->rule;

	return globs_may_meet(a, b) &&
	       port_ranges_meet(
		   x->ports, x->port_count, y->ports, y->port_count) &&
	       protocols_meet(x, y) && programs_meet(x, y) &&
	       x->valid_from_us < y->valid_until_us &&
	       y->valid_from_us < x->valid_until_us;
}

static bool
paths_tie(const struct rule *a, const struct rule *b)
{
	if (a->path_count == 0 || b->path_count == 0)
		return a->path_count == b->path_count;
	for (size_t i = 0; i < a->path_count; i++)
		for (size_t k = 0; k < b->path_count; k++)
			if (a->paths[i].literal == b->paths[k].literal &&
			    pathmatch_may_meet(&a->paths[i], &b->paths[k]))
				return true;
	return false;
}

static bool
methods_tie(const struct rule *a, const struct rule *b)
{
	if (a->access != RULE_METHODS || b->access != RULE_METHODS)
		return a->access != RULE_METHODS && b->access != RULE_METHODS;
	for (size_t i = 0; i < a->method_count; i++)
		for (size_t k = 0; k < b->method_count; k++)
			if (strcmp(a->methods[i], b->methods[k]) == 0)
				return true;
	return false;
}

/* Whether nothing says which of two rules supplies the settings. */
static bool
is_tie(const struct rule *a, const struct rule *b)
{
	/* Where a person is asked, the rule that asks supplies them. */
	if (rule_is_opaque(a) == rule_is_opaque(b) && a->action != b->action)
		return false;
	return paths_tie(a, b) && methods_tie(a, b) &&
	       mcpmatch_may_meet(&a->mcp, &b->mcp);
}

static void
review_pair(
    const struct review *review, const struct claim *a, const struct claim *b)
{
	if (a->rule == b->rule || rule_settings_equal(a->rule, b->rule) ||
	    !connections_meet(a, b))
		return;
	if (!rule_opens_alike(a->rule, b->rule))
		report_pair(review, a->rule, b->rule,
		    "give both the same: a connection is opened before it is "
		    "known what will be asked",
		    "are for the same host, and differ in \"private\", "
		    "\"resolve\" or \"upstream_ca\"");
	else if (is_tie(a->rule, b->rule))
		report_pair(review, a->rule, b->rule,
		    "give both the same, or make one more specific",
		    rule_is_opaque(a->rule) != rule_is_opaque(b->rule)
			? "are equally specific, and differ in \"tls\" or "
			  "\"protocol\""
			: "are equally specific, and differ in "
			  "\"credential\", \"clear\", \"echo\", \"log\" or "
			  "\"limits\"");
}

static bool
is_uniform(const struct claim *claims, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (!rule_settings_equal(claims[0].rule, claims[i].rule))
			return false;
	return true;
}

/* Every pair of claims on one target; false when there are too many. */
static bool
review_group(const struct review *review, const struct claim *claims,
    size_t count, size_t *left)
{
	if (is_uniform(claims, count))
		return true;
	if (count > *left / count)
		return false;
	*left -= count * count;
	for (size_t i = 0; i < count; i++)
		for (size_t k = i + 1; k < count; k++)
			review_pair(review, &claims[i], &claims[k]);
	return true;
}

/* Whether the "*" stands behind the first label: "api.*.example.com". */
static bool
is_inner_glob(const struct claim *claim)
{
	const struct hostmatch *host = claim->host;

	return host != NULL && host->kind == HOSTMATCH_GLOB &&
	       strcspn(host->text, ".") < strcspn(host->text, "*");
}

static bool
is_as_long_a_glob(const struct claim *a, const struct claim *b)
{
	return b->host != NULL && b->host->kind == HOSTMATCH_GLOB &&
	       b->host->length == a->host->length;
}

/*
 * Globs with their "*" in different labels have different zones, and may mean
 * the same names all the same.  The claims are sorted.  False when there are
 * too many.
 */
static bool
review_inner_globs(const struct review *review, const struct claim *claims,
    size_t count, size_t *left)
{
	for (size_t i = 0; i < count; i++) {
		size_t k = i;

		if (!is_inner_glob(&claims[i]))
			continue;
		while (k > 0 && is_as_long_a_glob(&claims[i], &claims[k - 1]))
			k--;
		for (; k < count && is_as_long_a_glob(&claims[i], &claims[k]);
		     k++) {
			if ((*left)-- == 0)
				return false;
			/* Two of them are met once, from the first. */
			if ((k > i || !is_inner_glob(&claims[k])) &&
			    compare_targets(&claims[i], &claims[k]) != 0)
				review_pair(review, &claims[i], &claims[k]);
		}
	}
	return true;
}

static size_t
gather_claims(const struct review *review, struct claim *claims)
{
	size_t count = 0;

	for (size_t i = 0; i < policy_rule_count(review->policy); i++) {
		const struct rule *rule = policy_rule(review->policy, i);

		if (rule->action == RULE_DENY)
			continue;
		for (size_t k = 0; k < rule->host_count; k++)
			claims[count++] = (struct claim){ .rule = rule,
				.host = &rule->hosts[k] };
		for (size_t k = 0; k < rule->address_count; k++)
			claims[count++] = (struct claim){ .rule = rule,
				.cidr = &rule->addresses[k] };
	}
	return count;
}

static void
report_too_many(const struct review *review, const struct rule *rule)
{
	report_add(review->report, place_of(review, rule),
	    "put rules for one host together, or give them the same settings",
	    "there are too many rules with different settings for one host");
}

static void
review_conflicts(const struct review *review, struct claim *claims)
{
	size_t count = gather_claims(review, claims);
	size_t left = LIMIT_CONFLICTS;
	size_t first = 0;

	qsort(claims, count, sizeof(*claims), compare_claims);
	for (size_t i = 1; i <= count; i++) {
		if (i < count &&
		    compare_targets(&claims[first], &claims[i]) == 0)
			continue;
		if (!review_group(review, claims + first, i - first, &left)) {
			report_too_many(review, claims[first].rule);
			return;
		}
		first = i;
	}
	if (!review_inner_globs(review, claims, count, &left))
		report_too_many(review, claims[0].rule);
}

static size_t
count_targets(const struct policy *policy)
{
	size_t count = 0;

	for (size_t i = 0; i < policy_rule_count(policy); i++)
		count += policy_rule(policy, i)->host_count +
			 policy_rule(policy, i)->address_count;
	return count;
}

void
review_policy(const struct policy *policy, const struct place *places,
    const struct report *report)
{
	const struct review review = { policy, places, report };
	size_t rules = policy_rule_count(policy);
	struct named *sorted = calloc(rules + 1, sizeof(*sorted));
	struct claim *claims =
	    calloc(count_targets(policy) + 1, sizeof(*claims));

	if (sorted == NULL || claims == NULL) {
		report_no_memory(report);
	} else if (rules > 0) {
		review_ids(&review, sorted);
		review_shadows(&review);
		review_conflicts(&review, claims);
	}
	free(sorted);
	free(claims);
}
