#include "policy/rule.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const action_names[] = {
	[RULE_DENY] = "deny",
	[RULE_ASK] = "ask",
	[RULE_ALLOW] = "allow",
};
static const char *const protocol_names[] = {
	[RULE_ANY_PROTOCOL] = "any",
	[RULE_HTTP] = "http",
	[RULE_SSH] = "ssh",
	[RULE_TCP] = "tcp",
	[RULE_UDP] = "udp",
};
static const char *const access_names[] = {
	[RULE_READ] = "read",
	[RULE_WRITE] = "write",
	[RULE_FULL] = "any",
	[RULE_METHODS] = "methods",
};
static const char *const term_names[] = {
	[TERM_PORT] = "port",
	[TERM_PROTOCOL] = "protocol",
	[TERM_METHOD] = "method",
	[TERM_PATH] = "path",
	[TERM_QUERY] = "query",
	[TERM_UPGRADE] = "upgrade",
	[TERM_EXE] = "exe",
	[TERM_MCP] = "mcp",
	[TERM_VALID] = "valid",
};
static const char *const echo_names[] = {
	[RULE_ECHO_PASS] = "pass",
	[RULE_ECHO_MASK] = "mask",
	[RULE_ECHO_FLAG] = "flag",
};

#define NAMES(of) (sizeof(of) / sizeof((of)[0]))
static_assert(NAMES(action_names) == RULE_ACTION_COUNT, "each has a name");
static_assert(NAMES(protocol_names) == RULE_PROTOCOL_COUNT, "each has a name");
static_assert(NAMES(access_names) == RULE_ACCESS_COUNT, "each has a name");
static_assert(NAMES(term_names) == TERM_COUNT, "each has a name");
static_assert(NAMES(echo_names) == RULE_ECHO_COUNT, "each has a name");

const char *
rule_action_name(enum rule_action action)
{
	return action_names[action];
}

const char *
rule_protocol_name(enum rule_protocol protocol)
{
	return protocol_names[protocol];
}

const char *
rule_access_name(enum rule_access access)
{
	return access_names[access];
}

const char *
rule_term_name(enum rule_term term)
{
	return term_names[term];
}

const char *
rule_echo_name(enum rule_echo echo)
{
	return echo_names[echo];
}

static void
free_texts(char **texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
	free(texts);
}

void
rule_done(struct rule *rule)
{
	if (rule == NULL)
		return;
	for (size_t i = 0; i < rule->host_count; i++)
		hostmatch_done(&rule->hosts[i]);
	for (size_t i = 0; i < rule->path_count; i++)
		pathmatch_done(&rule->paths[i]);
	for (size_t i = 0; i < rule->query_count; i++)
		querymatch_done(&rule->queries[i]);
	for (size_t i = 0; i < rule->exe_count; i++)
		exematch_done(&rule->exes[i]);
	mcpmatch_done(&rule->mcp);
	free_texts(rule->methods, rule->method_count);
	free_texts(rule->upgrades, rule->upgrade_count);
	free(rule->hosts);
	free(rule->addresses);
	free(rule->ports);
	free(rule->paths);
	free(rule->queries);
	free(rule->exes);
	free(rule->id);
	free(rule->reason);
	free(rule->note);
	free(rule->upstream_ca);
	free(rule->credential);
	memset(rule, 0, sizeof(*rule));
}

const char *
rule_id(const struct rule *rule)
{
	return rule->id;
}

const char *
rule_reason(const struct rule *rule)
{
	return rule->reason;
}

static enum answer
answer_of(bool holds)
{
	return holds ? ANSWER_YES : ANSWER_NO;
}

static enum answer
weigh_port(const struct rule *rule, const struct facts *facts)
{
	if (rule->port_count == 0)
		return ANSWER_YES;
	if (facts->port == 0)
		return ANSWER_UNKNOWN;
	return answer_of(
	    port_ranges_hold(rule->ports, rule->port_count, facts->port));
}

/* TLS says nothing yet about what is in it. */
static enum answer
weigh_http(const struct rule *rule, const struct facts *facts)
{
	if (facts->protocol == FACT_PROTOCOL_TLS)
		return rule->passthrough ? ANSWER_YES : ANSWER_UNKNOWN;
	return answer_of(facts->protocol == FACT_PROTOCOL_HTTP);
}

static enum answer
weigh_protocol(const struct rule *rule, const struct facts *facts)
{
	if (rule->protocol == RULE_ANY_PROTOCOL)
		return ANSWER_YES;
	if (facts->protocol == FACT_PROTOCOL_UNKNOWN)
		return ANSWER_UNKNOWN;
	switch (rule->protocol) {
	case RULE_HTTP:
		return weigh_http(rule, facts);
	case RULE_SSH:
		return answer_of(facts->protocol == FACT_PROTOCOL_SSH);
	case RULE_TCP:
		return answer_of(facts->protocol != FACT_PROTOCOL_UDP);
	case RULE_UDP:
		return answer_of(facts->protocol == FACT_PROTOCOL_UDP);
	case RULE_ANY_PROTOCOL:
	case RULE_PROTOCOL_COUNT:
		break;
	}
	return ANSWER_NO;
}

/*
 * What a condition on a request is worth: unknown until there is one, and
 * failed where there will be none.
 */
static enum answer
request_is_known(const struct facts *facts)
{
	if (facts->stage == STAGE_REQUEST)
		return ANSWER_YES;
	switch (facts->protocol) {
	case FACT_PROTOCOL_UNKNOWN:
	case FACT_PROTOCOL_HTTP:
	case FACT_PROTOCOL_TLS:
		return ANSWER_UNKNOWN;
	case FACT_PROTOCOL_SSH:
	case FACT_PROTOCOL_TCP:
	case FACT_PROTOCOL_UDP:
		break;
	}
	return ANSWER_NO;
}

static bool
ends_with(const struct urlpath *path, const char *end)
{
	size_t length = strlen(end);

	return path != NULL && path->length >= length &&
	       memcmp(path->text + path->length - length, end, length) == 0;
}

/* git fetches by POST, and it only reads. */
static bool
reads(const struct facts *facts)
{
	static const char *const safe[] = { "GET", "HEAD", "OPTIONS" };

	for (size_t i = 0; i < NAMES(safe); i++)
		if (strcmp(facts->method, safe[i]) == 0)
			return true;
	return strcmp(facts->method, "POST") == 0 &&
	       ends_with(facts->path, "/git-upload-pack");
}

/* Whoever may GET may also ask what a GET would say. */
static bool
is_listed(const struct rule *rule, const char *method)
{
	bool head = strcmp(method, "HEAD") == 0;

	for (size_t i = 0; i < rule->method_count; i++)
		if (strcmp(rule->methods[i], method) == 0 ||
		    (head && strcmp(rule->methods[i], "GET") == 0))
			return true;
	return false;
}

static enum answer
weigh_method(const struct rule *rule, const struct facts *facts)
{
	enum answer known = request_is_known(facts);

	if (rule->access == RULE_WRITE || rule->access == RULE_FULL)
		return ANSWER_YES;
	if (known != ANSWER_YES)
		return known;
	if (facts->method == NULL)
		return ANSWER_NO;
	return answer_of(rule->access == RULE_READ
			     ? reads(facts)
			     : is_listed(rule, facts->method));
}

static size_t
longest_literal(const struct rule *rule)
{
	size_t longest = 0;

	for (size_t i = 0; i < rule->path_count; i++)
		if (rule->paths[i].literal > longest)
			longest = rule->paths[i].literal;
	return longest;
}

static enum answer
weigh_path(
    const struct rule *rule, const struct facts *facts, size_t *ret_literal)
{
	enum answer answer = request_is_known(facts);
	struct cursor path;

	*ret_literal = 0;
	if (rule->path_count == 0)
		return ANSWER_YES;
	if (answer == ANSWER_UNKNOWN)
		*ret_literal = longest_literal(rule);
	if (answer != ANSWER_YES)
		return answer;
	if (facts->path == NULL)
		return ANSWER_NO;
	answer = ANSWER_NO;
	path = cursor_of(facts->path->text, facts->path->length);
	for (size_t i = 0; i < rule->path_count; i++) {
		if (!pathmatch_holds(&rule->paths[i], path))
			continue;
		answer = ANSWER_YES;
		if (rule->paths[i].literal > *ret_literal)
			*ret_literal = rule->paths[i].literal;
	}
	return answer;
}

/* All conditions on the query; what is not clear never opens anything. */
static enum answer
weigh_query(const struct rule *rule, const struct facts *facts)
{
	enum answer known = request_is_known(facts);

	if (rule->query_count == 0 || known != ANSWER_YES)
		return rule->query_count == 0 ? ANSWER_YES : known;
	for (size_t i = 0; i < rule->query_count; i++) {
		enum querymatch_answer answer =
		    querymatch_weigh(&rule->queries[i], facts->query);

		if (answer == QUERYMATCH_NONE ||
		    (answer != QUERYMATCH_ALL && rule->action != RULE_DENY))
			return ANSWER_NO;
	}
	return ANSWER_YES;
}

static char
lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* Names of protocols are compared without case (RFC 9110 section 7.8). */
static bool
upgrade_is_listed(const struct rule *rule, struct cursor token)
{
	char text[LIMIT_UPGRADE];

	if (token.left > sizeof(text))
		return false;
	for (size_t i = 0; i < token.left; i++)
		text[i] = lower((char)token.at[i]);
	for (size_t i = 0; i < rule->upgrade_count; i++)
		if (cursor_equals(
			cursor_of(text, token.left), rule->upgrades[i]))
			return true;
	return false;
}

/* What a rule opens it opens with and without its upgrades. */
static enum answer
weigh_upgrade(const struct rule *rule, const struct facts *facts)
{
	enum answer known = request_is_known(facts);

	if (rule->action == RULE_DENY ? rule->upgrade_count == 0
				      : rule->access == RULE_FULL)
		return ANSWER_YES;
	if (known != ANSWER_YES)
		return known;
	if (facts->upgrade.left == 0)
		return answer_of(rule->action != RULE_DENY);
	return answer_of(upgrade_is_listed(rule, facts->upgrade));
}

/* Whether the program is this one, as far as is known of it. */
static enum answer
weigh_program(const struct exematch *match, const struct facts *facts)
{
	if (match->by_hash)
		return facts->exe_sha256 == NULL
			   ? ANSWER_UNKNOWN
			   : answer_of(memcmp(match->sha256, facts->exe_sha256,
					   sizeof(match->sha256)) == 0);
	return facts->exe == NULL ? ANSWER_UNKNOWN
				  : answer_of(pathmatch_holds(&match->path,
					cursor_of_text(facts->exe)));
}

static enum answer
weigh_exe(const struct rule *rule, const struct facts *facts)
{
	enum answer answer = rule->exe_count == 0 ? ANSWER_YES : ANSWER_NO;

	for (size_t i = 0; i < rule->exe_count; i++) {
		enum answer one = weigh_program(&rule->exes[i], facts);

		if (one > answer)
			answer = one;
	}
	return answer;
}

static enum answer
weigh_mcp(const struct rule *rule, const struct facts *facts)
{
	enum answer known = request_is_known(facts);

	if (!mcpmatch_is_stated(&rule->mcp))
		return ANSWER_YES;
	if (known != ANSWER_YES)
		return known;
	switch (facts->message) {
	case FACT_MESSAGE_UNKNOWN:
		return ANSWER_UNKNOWN;
	case FACT_MESSAGE_NONE:
		break;
	case FACT_MESSAGE_MCP:
		return answer_of(mcpmatch_holds(
		    &rule->mcp, facts->mcp_method, facts->mcp_tool));
	}
	return ANSWER_NO;
}

static enum answer
weigh_valid(const struct rule *rule, const struct facts *facts)
{
	return answer_of(rule->valid_from_us <= facts->now_us &&
			 facts->now_us < rule->valid_until_us);
}

void
rule_weigh(
    const struct rule *rule, const struct facts *facts, struct rule_match *ret)
{
	const enum answer answers[TERM_COUNT] = {
		[TERM_PORT] = weigh_port(rule, facts),
		[TERM_PROTOCOL] = weigh_protocol(rule, facts),
		[TERM_METHOD] = weigh_method(rule, facts),
		[TERM_PATH] = weigh_path(rule, facts, &ret->path_literal),
		[TERM_QUERY] = weigh_query(rule, facts),
		[TERM_UPGRADE] = weigh_upgrade(rule, facts),
		[TERM_EXE] = weigh_exe(rule, facts),
		[TERM_MCP] = weigh_mcp(rule, facts),
		[TERM_VALID] = weigh_valid(rule, facts),
	};

	ret->answer = ANSWER_YES;
	ret->failed = 0;
	ret->unknown = 0;
	for (unsigned term = 0; term < TERM_COUNT; term++) {
		if (answers[term] == ANSWER_NO)
			ret->failed |= 1U << term;
		if (answers[term] == ANSWER_UNKNOWN)
			ret->unknown |= 1U << term;
		if (answers[term] < ret->answer)
			ret->answer = answers[term];
	}
}

bool
rule_is_opaque(const struct rule *rule)
{
	return rule->passthrough || rule->protocol != RULE_HTTP;
}

static bool
texts_equal(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return strcmp(a, b) == 0;
}

bool
rule_opens_alike(const struct rule *a, const struct rule *b)
{
	return a->private_addresses == b->private_addresses &&
	       address_equals(&a->resolve, &b->resolve) &&
	       texts_equal(a->upstream_ca, b->upstream_ca);
}

bool
rule_handles_alike(const struct rule *a, const struct rule *b)
{
	return texts_equal(a->credential, b->credential) &&
	       a->clear == b->clear && a->echo == b->echo &&
	       a->log_mcp == b->log_mcp && quota_equals(&a->quota, &b->quota);
}

bool
rule_settings_equal(const struct rule *a, const struct rule *b)
{
	return rule_is_opaque(a) == rule_is_opaque(b) &&
	       rule_opens_alike(a, b) && rule_handles_alike(a, b);
}
