#include "policy/explain.h"

#include "policy/describe.h"
#include "policy/instant.h"

#include <string.h>

struct telling {
	const struct facts *facts;
	explain_line *line;
	void *arg;
};

static void
put_bytes(struct cursor_writer *out, struct cursor text)
{
	/* A sentence has room for the beginning of a long path. */
	cursor_put(out, text.at, text.left < 120 ? text.left : 120);
}

static void
say_port(const struct rule *rule, const struct facts *facts,
    struct cursor_writer *out)
{
	cursor_put_text(out, "it is for ");
	describe_ports(rule, out);
	cursor_put_text(out, ", not ");
	cursor_put_decimal(out, facts->port);
}

static void
say_protocol(const struct rule *rule, const struct facts *facts,
    struct cursor_writer *out)
{
	(void)facts;
	cursor_put_text(out, "it is for the protocol ");
	cursor_put_text(out, rule_protocol_name(rule->protocol));
}

static void
say_method(const struct rule *rule, const struct facts *facts,
    struct cursor_writer *out)
{
	cursor_put_text(out, "it is for ");
	describe_methods(rule, out);
	cursor_put_text(out, ", not ");
	cursor_put_text(out, facts->method == NULL ? "this" : facts->method);
}

static void
say_path(const struct rule *rule, const struct facts *facts,
    struct cursor_writer *out)
{
	cursor_put_text(out, "it is for ");
	describe_paths(rule, out);
	if (facts->path == NULL)
		return;
	cursor_put_text(out, ", not ");
	put_bytes(out, cursor_of(facts->path->text, facts->path->length));
}

static void
say_query(const struct rule *rule, const struct facts *facts,
    struct cursor_writer *out)
{
	(void)facts;
	cursor_put_text(out, "the query has not ");
	for (size_t i = 0; i < rule->query_count; i++) {
		cursor_put_text(out, i > 0 ? " and " : "");
		cursor_put_text(out, rule->queries[i].name);
		cursor_put_text(out, "=");
		cursor_put_text(out, rule->queries[i].value.text);
	}
}

static void
say_upgrade(const struct rule *rule, const struct facts *facts,
    struct cursor_writer *out)
{
	if (rule->action == RULE_DENY) {
		cursor_put_text(out, "it is about upgrades only");
		return;
	}
	cursor_put_text(out, "it does not allow an upgrade to ");
	put_bytes(out, facts->upgrade);
}

static void
say_exe(const struct rule *rule, const struct facts *facts,
    struct cursor_writer *out)
{
	cursor_put_text(out, "it is for the program ");
	describe_programs(rule, out);
	if (facts->exe == NULL)
		return;
	cursor_put_text(out, ", not ");
	put_bytes(out, cursor_of_text(facts->exe));
}

static void
say_mcp(const struct rule *rule, const struct facts *facts,
    struct cursor_writer *out)
{
	cursor_put_text(out, "it is for ");
	describe_messages(rule, out);
	if (facts->message != FACT_MESSAGE_MCP) {
		cursor_put_text(out, ", and this is none");
		return;
	}
	cursor_put_text(out, ", not ");
	put_bytes(out, facts->mcp_method);
	if (facts->mcp_tool.left > 0) {
		cursor_put_text(out, " of ");
		put_bytes(out, facts->mcp_tool);
	}
}

static void
say_valid(const struct rule *rule, const struct facts *facts,
    struct cursor_writer *out)
{
	char text[INSTANT_TEXT_MAX];
	bool early = facts->now_us < rule->valid_from_us;

	instant_print(early ? rule->valid_from_us : rule->valid_until_us, text);
	cursor_put_text(
	    out, early ? "it is valid only from " : "it was valid until ");
	cursor_put_text(out, text);
}

typedef void say_term(const struct rule *rule, const struct facts *facts,
    struct cursor_writer *out);

static say_term *const sayings[TERM_COUNT] = {
	[TERM_PORT] = say_port,
	[TERM_PROTOCOL] = say_protocol,
	[TERM_METHOD] = say_method,
	[TERM_PATH] = say_path,
	[TERM_QUERY] = say_query,
	[TERM_UPGRADE] = say_upgrade,
	[TERM_EXE] = say_exe,
	[TERM_MCP] = say_mcp,
	[TERM_VALID] = say_valid,
};

static void
say_failed(const struct rule *rule, const struct facts *facts, unsigned failed,
    struct cursor_writer *out)
{
	bool first = true;

	/* What is not HTTP fails whatever is said about HTTP. */
	if ((failed >> TERM_PROTOCOL & 1) != 0)
		failed &= 1U << TERM_PROTOCOL | 1U << TERM_PORT |
			  1U << TERM_EXE | 1U << TERM_VALID;
	for (unsigned term = 0; term < TERM_COUNT; term++) {
		if ((failed >> term & 1) == 0)
			continue;
		if (!first)
			cursor_put_text(out, "; ");
		sayings[term](rule, facts, out);
		first = false;
	}
}

static void
say_unknown(unsigned unknown, struct cursor_writer *out)
{
	bool first = true;

	cursor_put_text(out, "not known yet: ");
	for (unsigned term = 0; term < TERM_COUNT; term++) {
		if ((unknown >> term & 1) == 0)
			continue;
		if (!first)
			cursor_put_text(out, ", ");
		cursor_put_text(out, rule_term_name((enum rule_term)term));
		first = false;
	}
}

/* A sentence that does not fit ends early; its NUL always has room. */
static void
tell(const struct telling *telling, const struct rule *rule, char *why,
    const struct cursor_writer *out)
{
	why[out->used] = '\0';
	telling->line(rule, why, telling->arg);
}

static void
on_step(const struct rule *rule, const struct rule_match *match, void *arg)
{
	const struct telling *telling = arg;
	char why[EXPLAIN_WHY_MAX];
	struct cursor_writer out = cursor_writer_of(why, sizeof(why) - 1);

	switch (match->answer) {
	case ANSWER_YES:
		telling->line(rule, NULL, telling->arg);
		return;
	case ANSWER_UNKNOWN:
		say_unknown(match->unknown, &out);
		break;
	case ANSWER_NO:
		say_failed(rule, telling->facts, match->failed, &out);
		break;
	}
	tell(telling, rule, why, &out);
}

/* What people expect "example.com" and "*.example.com" to cover as well. */
static const char *
resembles(const struct hostmatch *match, const struct hostname *name)
{
	struct hostname other = { .length = match->length };

	memcpy(other.text, match->text, match->length);
	if (match->kind == HOSTMATCH_EXACT && hostname_is_below(name, &other))
		return "it names this host only, and nothing below it: ";
	if (match->kind == HOSTMATCH_SUFFIX && hostname_equals(name, &other))
		return "it covers only names below, not this host itself: ";
	return NULL;
}

static void
tell_resembling(const struct telling *telling, const struct rule *rule)
{
	char why[EXPLAIN_WHY_MAX], host[HOSTMATCH_TEXT_MAX];

	for (size_t i = 0; i < rule->host_count; i++) {
		struct cursor_writer out =
		    cursor_writer_of(why, sizeof(why) - 1);
		const char *text =
		    resembles(&rule->hosts[i], &telling->facts->host);

		if (text == NULL)
			continue;
		hostmatch_print(&rule->hosts[i], host);
		cursor_put_text(&out, text);
		cursor_put_text(&out, host);
		tell(telling, rule, why, &out);
		return;
	}
}

static bool
has_host(const struct rule *rule, const struct hostname *name)
{
	for (size_t i = 0; i < rule->host_count; i++)
		if (hostmatch_holds(&rule->hosts[i], name))
			return true;
	return false;
}

void
explain_policy(const struct policy *policy, const struct facts *facts,
    explain_line *line, void *arg, struct verdict *ret)
{
	struct telling telling = { .facts = facts, .line = line, .arg = arg };

	policy_decide(policy, facts, on_step, &telling, ret);
	for (size_t i = 0; facts->by_name && i < policy_rule_count(policy);
	     i++) {
		const struct rule *rule = policy_rule(policy, i);

		if (!has_host(rule, &facts->host))
			tell_resembling(&telling, rule);
	}
}
