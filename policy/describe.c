#include "policy/describe.h"

#include "policy/instant.h"

#include <string.h>

/* More of a list than a person reads. */
#define SHOWN 6

/* Puts what separates the item i of count from the one before. */
static bool
separate(struct cursor_writer *out, size_t i, size_t count)
{
	if (i == SHOWN) {
		cursor_put_text(out, " and ");
		cursor_put_decimal(out, count - SHOWN);
		cursor_put_text(out, " more");
		return false;
	}
	if (i > 0)
		cursor_put_text(out, i + 1 == count ? " and " : ", ");
	return true;
}

static void
put_host(const struct hostmatch *host, struct cursor_writer *out)
{
	char text[HOSTMATCH_TEXT_MAX];

	hostmatch_print(host, text);
	if (host->kind == HOSTMATCH_SUFFIX && host->length == 0) {
		cursor_put_text(out, "EVERY host");
		return;
	}
	if (host->kind == HOSTMATCH_SUFFIX) {
		cursor_put_text(out, "all names below ");
		cursor_put_text(out, host->text);
		cursor_put_text(out, " (not itself)");
		return;
	}
	cursor_put_text(out, text);
	/* Every program looks for it where it runs itself. */
	if (strcmp(host->text, "localhost") == 0)
		cursor_put_text(out,
		    " (in a sandbox that is the sandbox itself: give a server "
		    "of this machine another name, with \"resolve\")");
}

static void
put_cidr(const struct cidr *cidr, struct cursor_writer *out)
{
	char text[ADDRESS_TEXT_MAX];

	address_print(&cidr->address, text);
	cursor_put_text(out, text);
	if (cidr->bits == cidr->address.length * 8)
		return;
	cursor_put_u8(out, '/');
	cursor_put_decimal(out, cidr->bits);
}

void
describe_targets(const struct rule *rule, struct cursor_writer *out)
{
	for (size_t i = 0; i < rule->host_count; i++) {
		if (!separate(out, i, rule->host_count))
			return;
		put_host(&rule->hosts[i], out);
	}
	if (rule->address_count > 0)
		cursor_put_text(out, "the address ");
	for (size_t i = 0; i < rule->address_count; i++) {
		if (!separate(out, i, rule->address_count))
			return;
		put_cidr(&rule->addresses[i], out);
	}
}

void
describe_ports(const struct rule *rule, struct cursor_writer *out)
{
	if (rule->port_count == 0) {
		cursor_put_text(out, "any port");
		return;
	}
	cursor_put_text(out,
	    rule->port_count == 1 && rule->ports[0].first == rule->ports[0].last
		? "port "
		: "ports ");
	for (size_t i = 0; i < rule->port_count; i++) {
		if (!separate(out, i, rule->port_count))
			return;
		cursor_put_decimal(out, rule->ports[i].first);
		if (rule->ports[i].first == rule->ports[i].last)
			continue;
		cursor_put_u8(out, '-');
		cursor_put_decimal(out, rule->ports[i].last);
	}
}

static void
put_texts(char *const *texts, size_t count, struct cursor_writer *out)
{
	for (size_t i = 0; i < count; i++) {
		if (!separate(out, i, count))
			return;
		cursor_put_text(out, texts[i]);
	}
}

void
describe_methods(const struct rule *rule, struct cursor_writer *out)
{
	switch (rule->access) {
	case RULE_READ:
		cursor_put_text(out, "GET, HEAD, OPTIONS and git fetch");
		break;
	case RULE_WRITE:
		cursor_put_text(out, "every method");
		break;
	case RULE_FULL:
		cursor_put_text(out, "every method and upgrade");
		break;
	case RULE_METHODS:
		put_texts(rule->methods, rule->method_count, out);
		break;
	case RULE_ACCESS_COUNT:
		break;
	}
}

void
describe_paths(const struct rule *rule, struct cursor_writer *out)
{
	for (size_t i = 0; i < rule->path_count; i++) {
		if (!separate(out, i, rule->path_count))
			return;
		cursor_put_text(out, rule->paths[i].text);
	}
}

void
describe_programs(const struct rule *rule, struct cursor_writer *out)
{
	for (size_t i = 0; i < rule->exe_count; i++) {
		if (!separate(out, i, rule->exe_count))
			return;
		exematch_print(&rule->exes[i], out);
	}
}

static void
put_globs(const struct pathmatch *globs, size_t count, const char *before,
    struct cursor_writer *out)
{
	if (count > 0)
		cursor_put_text(out, before);
	for (size_t i = 0; i < count; i++) {
		if (!separate(out, i, count))
			return;
		cursor_put_text(out, globs[i].text);
	}
}

void
describe_messages(const struct rule *rule, struct cursor_writer *out)
{
	const struct mcpmatch *mcp = &rule->mcp;

	cursor_put_text(
	    out, mcp->method_count > 0 ? "MCP messages" : "MCP calls of tools");
	put_globs(mcp->methods, mcp->method_count, " ", out);
	put_globs(mcp->tools, mcp->tool_count,
	    mcp->method_count > 0 ? ", of tools only " : " ", out);
}

void
describe_quota(const struct quota *quota, struct cursor_writer *out)
{
	static const char *const units[] = {
		[QUOTA_REQUESTS] = " requests a minute",
		[QUOTA_CONNECTIONS] = " connections at once",
		[QUOTA_BYTES_OUT] = " bytes out",
		[QUOTA_BYTES_IN] = " bytes in",
	};
	const char *before = "at most ";

	for (size_t i = 0; i < QUOTA_KIND_COUNT; i++) {
		if (quota->most[i] == 0)
			continue;
		cursor_put_text(out, before);
		cursor_put_decimal(out, quota->most[i]);
		cursor_put_text(out, units[i]);
		before = ", ";
	}
}

static void
put_requests(const struct rule *rule, struct cursor_writer *out)
{
	describe_methods(rule, out);
	if (rule->upgrade_count > 0) {
		cursor_put_text(out, rule->action == RULE_DENY
					 ? ", upgraded to "
					 : ", also upgraded to ");
		put_texts(rule->upgrades, rule->upgrade_count, out);
	}
	if (rule->path_count > 0) {
		cursor_put_text(out, ", at the path ");
		describe_paths(rule, out);
	}
	for (size_t i = 0; i < rule->query_count; i++) {
		cursor_put_text(out, ", with ");
		cursor_put_text(out, rule->queries[i].name);
		cursor_put_text(out, "=");
		cursor_put_text(out, rule->queries[i].value.text);
		cursor_put_text(out, " in the query");
	}
	if (mcpmatch_is_stated(&rule->mcp)) {
		cursor_put_text(out, ", with ");
		describe_messages(rule, out);
	}
}

static void
put_protocol(const struct rule *rule, struct cursor_writer *out)
{
	switch (rule->protocol) {
	case RULE_ANY_PROTOCOL:
		if (rule->access != RULE_FULL || rule->path_count > 0 ||
		    rule->query_count > 0 || rule->upgrade_count > 0 ||
		    mcpmatch_is_stated(&rule->mcp))
			put_requests(rule, out);
		else
			cursor_put_text(out, "everything");
		break;
	case RULE_HTTP:
		cursor_put_text(out, "HTTP and HTTPS: ");
		put_requests(rule, out);
		break;
	case RULE_SSH:
		cursor_put_text(out, "SSH");
		break;
	case RULE_TCP:
		cursor_put_text(out, "any TCP connection, unread");
		break;
	case RULE_UDP:
		cursor_put_text(out, "UDP, unread");
		break;
	case RULE_PROTOCOL_COUNT:
		break;
	}
}

static void
put_validity(const struct rule *rule, struct cursor_writer *out)
{
	char text[INSTANT_TEXT_MAX];

	if (rule->valid_from_us != INT64_MIN) {
		instant_print(rule->valid_from_us, text);
		cursor_put_text(out, "; from ");
		cursor_put_text(out, text);
	}
	if (rule->valid_until_us != INT64_MAX) {
		instant_print(rule->valid_until_us, text);
		cursor_put_text(out, "; until ");
		cursor_put_text(out, text);
	}
}

static void
put_ask(const struct rule_ask *ask, struct cursor_writer *out)
{
	cursor_put_text(out, "; no answer within ");
	cursor_put_decimal(out, ask->timeout_s);
	cursor_put_text(out, " s is a no, and a yes is good for ");
	cursor_put_decimal(out, ask->grant_uses);
	cursor_put_text(out,
	    ask->grant_uses == 1 ? " request within " : " requests within ");
	cursor_put_decimal(out, ask->grant_s);
	cursor_put_text(out, " s");
}

/* What becomes of a request that goes on, beside where it goes. */
static void
put_handling(const struct rule *rule, struct cursor_writer *out)
{
	static const char *const echoes[] = {
		[RULE_ECHO_PASS] = "",
		[RULE_ECHO_MASK] = ", and blotted out where it comes back",
		[RULE_ECHO_FLAG] = ", and noted where it comes back",
	};

	if (rule->credential != NULL) {
		cursor_put_text(out, "; with the credential ");
		cursor_put_text(out, rule->credential);
		cursor_put_text(out, rule->clear ? ", also in clear" : "");
		cursor_put_text(out, echoes[rule->echo]);
	}
	if (rule->log_mcp)
		cursor_put_text(out, "; MCP messages are recorded");
	if (quota_is_stated(&rule->quota)) {
		cursor_put_text(out, "; ");
		describe_quota(&rule->quota, out);
	}
}

static void
put_settings(const struct rule *rule, struct cursor_writer *out)
{
	char text[ADDRESS_TEXT_MAX];

	if (rule->passthrough)
		cursor_put_text(out, "; TLS passes unread");
	if (rule->private_addresses)
		cursor_put_text(
		    out, "; may lead to private and local addresses");
	if (address_is_set(&rule->resolve)) {
		address_print(&rule->resolve, text);
		cursor_put_text(out, "; always at ");
		cursor_put_text(out, text);
	}
	if (rule->action == RULE_ASK)
		put_ask(&rule->ask, out);
	if (rule->upstream_ca != NULL)
		cursor_put_text(out, "; with an authority of its own");
}

void
describe_rule(const struct rule *rule, struct cursor_writer *out)
{
	static const char *const verbs[] = {
		[RULE_DENY] = "denies ",
		[RULE_ASK] = "asks before ",
		[RULE_ALLOW] = "allows ",
	};

	cursor_put_text(out, verbs[rule->action]);
	put_protocol(rule, out);
	cursor_put_text(out, "; to ");
	describe_targets(rule, out);
	cursor_put_text(out, "; on ");
	describe_ports(rule, out);
	if (rule->exe_count > 0) {
		cursor_put_text(out, "; by the program ");
		describe_programs(rule, out);
	}
	put_validity(rule, out);
	put_settings(rule, out);
	put_handling(rule, out);
}
