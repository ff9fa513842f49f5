#include "policy/coherence.h"

#include "policy/suffix.h"

#include <stdlib.h>
#include <string.h>

struct check {
	struct rule *rule;
	const struct coherence_stated *stated;
	const struct place *place;
	const struct report *report;
};

static struct place
below(const struct check *check, const char *key)
{
	return (struct place){ .above = check->place, .key = key };
}

/* Says what is wrong with one key of the rule. */
static void
fault(struct check *check, const char *key, const char *cure, const char *text)
{
	struct place place = below(check, key);

	report_add(check->report, &place, cure, "%s", text);
}

static void
check_target(struct check *check)
{
	const struct rule *rule = check->rule;

	if (rule->host_count > 0 && rule->address_count > 0)
		fault(check, "address",
		    "write two rules: a connection is made either to a name "
		    "or to an address",
		    "a rule with both \"host\" and \"address\" never matches");
	if (rule->address_count > 0 && address_is_set(&rule->resolve))
		fault(check, "resolve", "leave it out",
		    "\"resolve\" is for a host, and this rule has addresses");
}

static void
check_wide(struct check *check)
{
	const struct rule *rule = check->rule;

	if (rule->wide || rule->action == RULE_DENY)
		return;
	for (size_t i = 0; i < rule->host_count; i++) {
		const char *zone = hostmatch_zone(&rule->hosts[i]);
		struct place place = below(check, "host");
		char text[HOSTMATCH_TEXT_MAX];

		if (zone == NULL || !suffix_is_public(zone))
			continue;
		hostmatch_print(&rule->hosts[i], text);
		report_add(check->report, &place,
		    "name the hosts, or add \"wide\": true if anybody's "
		    "host is meant",
		    "\"%s\" covers names that anybody can register", text);
	}
	for (size_t i = 0; i < rule->address_count; i++)
		if (cidr_is_wide(&rule->addresses[i]))
			fault(check, "address",
			    "name smaller ranges, or add \"wide\": true if "
			    "the whole internet is meant",
			    "a range as large as this covers addresses of "
			    "everybody");
}

struct stated_key {
	const char *key;
	bool stated;
};

/* Says of each stated key that it has no effect, and why. */
static void
fault_each(struct check *check, const struct stated_key *keys, size_t count,
    const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (keys[i].stated)
			fault(check, keys[i].key, "leave it out", text);
}

/* Conditions that only somebody who reads HTTP can judge. */
static void
check_unreadable(struct check *check, const char *why)
{
	const struct rule *rule = check->rule;
	const struct stated_key keys[] = {
		{ "methods", rule->method_count > 0 },
		{ "path", rule->path_count > 0 },
		{ "query", rule->query_count > 0 },
		{ "upgrade", rule->upgrade_count > 0 },
		{ "mcp", check->stated->mcp },
		{ "log", rule->log_mcp },
		{ "credential", rule->credential != NULL },
		{ "upstream_ca", rule->upstream_ca != NULL },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct place place = below(check, keys[i].key);

		if (!keys[i].stated)
			continue;
		report_add(check->report, &place, "leave it out",
		    "\"%s\" cannot be judged %s", keys[i].key, why);
	}
	if (rule->quota.most[QUOTA_REQUESTS] != 0)
		fault(check, "limits",
		    "limit \"connections\", \"bytes_out\" or \"bytes_in\"",
		    "requests are counted only where somebody reads them");
}

static void
check_passthrough(struct check *check)
{
	if (check->rule->access != RULE_FULL)
		fault(check, check->stated->access ? "access" : "tls",
		    "write \"access\": \"any\" beside it, or inspect",
		    "with \"tls\": \"passthrough\" nobody sees what is asked");
	check_unreadable(check, "with \"tls\": \"passthrough\"");
}

static void
check_protocol(struct check *check)
{
	const struct rule *rule = check->rule;

	if (rule->protocol == RULE_HTTP || rule->protocol == RULE_ANY_PROTOCOL)
		return;
	if (check->stated->tls && rule->action != RULE_DENY)
		fault(check, "tls", "leave it out",
		    "what is not HTTP is never looked into, so this has no "
		    "effect");
	if (check->stated->access && rule->access != RULE_FULL)
		fault(check, "access", "leave it out",
		    "\"access\" is about HTTP, and this rule is not");
	check_unreadable(check, "when the protocol is not \"http\"");
}

static void
check_deny(struct check *check)
{
	const struct rule *rule = check->rule;
	const struct stated_key keys[] = {
		{ "tls", check->stated->tls },
		{ "private", check->stated->private_addresses },
		{ "resolve", address_is_set(&rule->resolve) },
		{ "upstream_ca", rule->upstream_ca != NULL },
		{ "credential", rule->credential != NULL },
		{ "log", rule->log_mcp },
		{ "limits", quota_is_stated(&rule->quota) },
	};

	fault_each(check, keys, sizeof(keys) / sizeof(keys[0]),
	    "a rule that denies opens nothing, so this has no effect");
	if (rule->access == RULE_WRITE)
		fault(check, "access",
		    "leave it out to deny everything, or list what to deny: "
		    "\"methods\": [\"POST\", \"PUT\", \"PATCH\", \"DELETE\"]",
		    "\"access\": \"write\" means every method, and so would "
		    "deny reading too");
}

/* What is said about a secret needs one. */
static void
check_credential(struct check *check)
{
	const struct rule *rule = check->rule;
	const struct stated_key keys[] = {
		{ "clear", check->stated->clear },
		{ "echo", rule->echo != RULE_ECHO_PASS },
	};

	if (rule->credential == NULL)
		fault_each(check, keys, sizeof(keys) / sizeof(keys[0]),
		    "this is about the rule's \"credential\", and it has none");
}

static bool
allows_post(const struct rule *rule)
{
	if (rule->access != RULE_METHODS)
		return rule->access != RULE_READ;
	for (size_t i = 0; i < rule->method_count; i++)
		if (strcmp(rule->methods[i], "POST") == 0)
			return true;
	return false;
}

/* Messages to an MCP server travel in the bodies of POST requests. */
static void
check_messages(struct check *check)
{
	if (check->stated->mcp && check->rule->protocol == RULE_HTTP &&
	    !allows_post(check->rule))
		fault(check, "mcp", "add \"methods\": [\"POST\"]",
		    "messages are sent by POST, which this rule is not for");
}

/*
 * A person is shown one request and answers for that one.  Of a connection
 * that is passed on unread there is nothing to show.
 */
static void
check_ask(struct check *check)
{
	const struct rule *rule = check->rule;

	if (check->stated->ask && rule->action != RULE_ASK)
		fault(check, "ask", "add \"action\": \"ask\", or leave it out",
		    "\"ask\" says how a person is asked, and this rule asks "
		    "nobody");
	if (rule->action == RULE_ASK &&
	    (rule->protocol != RULE_HTTP || rule->passthrough))
		fault(check, "action", "write \"allow\" or \"deny\"",
		    "a person can be asked only about HTTP requests that are "
		    "looked into");
}

/* What an opening rule does not state; a deny then means everything. */
static bool
put_ports(struct rule *rule)
{
	static const struct port_range http[] = { { 80, 80 }, { 443, 443 } };
	static const struct port_range ssh[] = { { 22, 22 } };
	bool is_ssh = rule->protocol == RULE_SSH;
	size_t count = is_ssh ? 1 : 2;

	rule->ports = calloc(count, sizeof(*rule->ports));
	if (rule->ports == NULL)
		return false;
	for (size_t i = 0; i < count; i++)
		rule->ports[i] = is_ssh ? ssh[i] : http[i];
	rule->port_count = count;
	return true;
}

static void
complete(struct check *check)
{
	struct rule *rule = check->rule;

	if (rule->action == RULE_DENY || rule->port_count > 0 ||
	    check->stated->port)
		return;
	if (rule->protocol == RULE_TCP || rule->protocol == RULE_UDP) {
		fault(check, "protocol", "add \"port\", as in \"port\": [5432]",
		    "a rule for tcp or udp needs a port");
		return;
	}
	if (!put_ports(rule)) {
		report_no_memory(check->report);
	}
}

void
coherence_check(struct rule *rule, const struct coherence_stated *stated,
    const struct place *place, const struct report *report)
{
	struct check check = {
		.rule = rule, .stated = stated, .place = place, .report = report
	};

	check_target(&check);
	check_wide(&check);
	check_protocol(&check);
	if (rule->passthrough && rule->action != RULE_DENY &&
	    rule->protocol == RULE_HTTP)
		check_passthrough(&check);
	if (rule->action == RULE_DENY)
		check_deny(&check);
	check_credential(&check);
	check_messages(&check);
	check_ask(&check);
	complete(&check);
}
