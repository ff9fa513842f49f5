#include "policy/clause.h"

#include "policy/coherence.h"
#include "policy/instant.h"
#include "policy/member.h"
#include "policy/terms.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

/* Where a rule that asks does not say: long enough to fetch a person. */
#define ASK_TIMEOUT_S 300
#define ASK_GRANT_S 900
#define ASK_GRANT_USES 1

struct clause {
	const struct clause_context *context;
	const struct report *report; /* the context's */
	struct rule rule;
	struct coherence_stated stated;
};

/* Reads the value of one key. */
typedef void clause_reader(
    struct clause *clause, json_t *value, const struct place *place);

struct key {
	const char *name;
	clause_reader *read;
};

static bool
is_id_text(const char *text)
{
	return text[0] != '\0' &&
	       text[strspn(text,
		   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		   "0123456789-_.")] == '\0';
}

static void
read_id(struct clause *clause, json_t *value, const struct place *place)
{
	member_copy(
	    clause->report, value, place, LIMIT_RULE_ID, &clause->rule.id);
	if (clause->rule.id != NULL && !is_id_text(clause->rule.id))
		report_add(clause->report, place,
		    "use letters, digits, \"-\", \"_\" and \".\"",
		    "\"%s\" is no id", clause->rule.id);
}

static void
read_action(struct clause *clause, json_t *value, const struct place *place)
{
	static const char *const words[] = { "deny", "ask", "allow", NULL };
	size_t word = member_word(clause->report, value, place, words,
	    "write \"allow\", \"ask\" or \"deny\"");

	if (words[word] == NULL)
		return;
	clause->rule.action = (enum rule_action)word;
}

static void
read_protocol(struct clause *clause, json_t *value, const struct place *place)
{
	static const char *const words[] = { "http", "ssh", "tcp", "udp",
		NULL };
	size_t word = member_word(clause->report, value, place, words,
	    "write \"http\", \"ssh\", \"tcp\" or \"udp\"");

	if (words[word] != NULL)
		clause->rule.protocol = (enum rule_protocol)(RULE_HTTP + word);
}

static void
read_access(struct clause *clause, json_t *value, const struct place *place)
{
	static const char *const words[] = { "read", "write", "any", NULL };
	size_t word = member_word(clause->report, value, place, words,
	    "write \"read\", \"write\" or \"any\"");

	if (words[word] != NULL)
		clause->rule.access = (enum rule_access)word;
	clause->stated.access = true;
}

static void
read_tls(struct clause *clause, json_t *value, const struct place *place)
{
	static const char *const words[] = { "inspect", "passthrough", NULL };
	size_t word = member_word(clause->report, value, place, words,
	    "write \"inspect\" or \"passthrough\"");

	clause->rule.passthrough = word == 1;
	clause->stated.tls = true;
}

static const struct hostset *
find_set(const struct clause_context *context, const char *name)
{
	for (size_t i = 0; i < context->set_count; i++)
		if (strcmp(context->sets[i].name, name) == 0)
			return &context->sets[i];
	return NULL;
}

static void
add_host(struct clause *clause, struct hostlist *list, const char *text,
    const struct place *place)
{
	const struct hostset *set;

	if (text[0] != '@') {
		hostlist_add(list, text, place, clause->report);
		return;
	}
	set = find_set(clause->context, text);
	if (set == NULL)
		report_add(clause->report, place,
		    "name it in \"sets\", or use @apt, @cargo, @go, @npm or "
		    "@pip",
		    "there is no set \"%s\"", text);
	else
		hostlist_append(list, &set->hosts, clause->report);
}

static void
read_host(struct clause *clause, json_t *value, const struct place *place)
{
	size_t count = member_list(clause->report, value, place,
	    "write a list, as in [\"api.example.com\"]");
	struct hostlist list = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct place at = { .above = place, .index = i };
		const char *text = member_text(clause->report,
		    json_array_get(value, i), &at, LIMIT_PATTERN);

		if (text != NULL)
			add_host(clause, &list, text, &at);
	}
	clause->rule.hosts = list.items;
	clause->rule.host_count = list.count;
}

static void
check_cidr(
    struct clause *clause, const struct cidr *cidr, const struct place *place)
{
	static const struct cidr none = { .address = { .length = 4 },
		.bits = 8 };
	bool is_none =
	    cidr->address.length == 4
		? cidr_covers(&none, cidr)
		: cidr->bits == 128 &&
		      address_kind(&cidr->address) == ADDRESS_UNSPECIFIED;

	if (is_none && clause->rule.action != RULE_DENY)
		report_add(clause->report, place,
		    "name the address that is meant",
		    "the unspecified address is never connected to");
}

static void
add_address(struct clause *clause, const char *text, const struct place *place)
{
	struct rule *rule = &clause->rule;
	struct cidr cidr;
	int status = cidr_parse(text, strlen(text), &cidr);

	if (status == STATUS_OK) {
		check_cidr(clause, &cidr, place);
		rule->addresses[rule->address_count++] = cidr;
		return;
	}
	if (status == STATUS_REFUSED)
		report_add(clause->report, place,
		    "clear the bits behind the prefix, or write one address "
		    "without \"/\"",
		    "\"%s\" has bits set behind its prefix", text);
	else
		report_add(clause->report, place,
		    "write an address or a range, as in 192.0.2.0/24 or "
		    "2001:db8::/32; an IPv4 address in its own form",
		    "\"%s\" is no address", text);
}

static void
read_address(struct clause *clause, json_t *value, const struct place *place)
{
	size_t count = member_list(clause->report, value, place,
	    "write a list, as in [\"192.0.2.0/24\"]");

	clause->rule.addresses =
	    calloc(count + 1, sizeof(*clause->rule.addresses));
	if (clause->rule.addresses == NULL) {
		report_no_memory(clause->report);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct place at = { .above = place, .index = i };
		const char *text = member_text(clause->report,
		    json_array_get(value, i), &at, LIMIT_PATTERN);

		if (text != NULL)
			add_address(clause, text, &at);
	}
}

static bool
port_of(json_t *value, struct port_range *ret)
{
	json_int_t port = json_integer_value(value);

	if (json_is_string(value))
		return port_range_parse(json_string_value(value),
			   json_string_length(value), ret) == STATUS_OK;
	if (!json_is_integer(value) || port < 1 || port > UINT16_MAX)
		return false;
	*ret = (struct port_range){ (uint16_t)port, (uint16_t)port };
	return true;
}

static void
read_port(struct clause *clause, json_t *value, const struct place *place)
{
	static const char cure[] = "write a list of ports from 1 to 65535 and "
				   "ranges, as in [443, \"8000-8099\"]";
	size_t count = member_list(clause->report, value, place, cure);
	struct rule *rule = &clause->rule;

	clause->stated.port = true;
	if (count > LIMIT_PORT_RANGES) {
		report_add(clause->report, place, "write ranges",
		    "there are %zu ports, and %d are allowed", count,
		    LIMIT_PORT_RANGES);
		return;
	}
	rule->ports = calloc(count + 1, sizeof(*rule->ports));
	if (rule->ports == NULL) {
		report_no_memory(clause->report);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct place at = { .above = place, .index = i };
		struct port_range *port = &rule->ports[rule->port_count];

		if (port_of(json_array_get(value, i), port))
			rule->port_count++;
		else
			report_add(
			    clause->report, &at, cure, "this is no port");
	}
}

static void
read_methods(struct clause *clause, json_t *value, const struct place *place)
{
	if (clause->stated.access)
		report_add(clause->report, place, "keep one of the two",
		    "\"methods\" stands instead of \"access\"");
	terms_read_methods(&clause->rule, value, place, clause->report);
}

static void
read_mcp(struct clause *clause, json_t *value, const struct place *place)
{
	clause->stated.mcp = true;
	terms_read_mcp(&clause->rule, value, place, clause->report);
}

static void
read_upgrade(struct clause *clause, json_t *value, const struct place *place)
{
	terms_read_upgrade(&clause->rule, value, place, clause->report);
}

static void
read_path(struct clause *clause, json_t *value, const struct place *place)
{
	terms_read_path(&clause->rule, value, place, clause->report);
}

static void
read_query(struct clause *clause, json_t *value, const struct place *place)
{
	terms_read_query(&clause->rule, value, place, clause->report);
}

static void
read_exe(struct clause *clause, json_t *value, const struct place *place)
{
	terms_read_exe(&clause->rule, value, place, clause->report);
}

static void
read_instant(struct clause *clause, json_t *value, const struct place *place,
    int64_t *ret)
{
	const char *text = json_string_value(value);

	if (value == NULL)
		return;
	if (text == NULL ||
	    instant_parse(cursor_of_text(text), ret) != STATUS_OK)
		report_add(clause->report, place,
		    "write date, time and zone, as in "
		    "\"2026-03-01T09:00:00Z\"",
		    "this is no point in time");
}

static void
read_valid(struct clause *clause, json_t *value, const struct place *place)
{
	static const char *const names[] = { "from", "until", NULL };
	struct place from = { .above = place, .key = "from" };
	struct place until = { .above = place, .key = "until" };
	struct rule *rule = &clause->rule;

	if (!json_is_object(value) || json_object_size(value) == 0) {
		report_add(clause->report, place,
		    "write {\"from\": …, \"until\": …}",
		    "this must be an object with \"from\" or \"until\"");
		return;
	}
	member_keys(clause->report, value, place, names);
	read_instant(clause, json_object_get(value, "from"), &from,
	    &rule->valid_from_us);
	read_instant(clause, json_object_get(value, "until"), &until,
	    &rule->valid_until_us);
	if (rule->valid_from_us >= rule->valid_until_us)
		report_add(clause->report, place,
		    "let \"until\" be later than \"from\"",
		    "this time ends before it begins");
}

static void
read_private(struct clause *clause, json_t *value, const struct place *place)
{
	clause->rule.private_addresses =
	    member_flag(clause->report, value, place);
	clause->stated.private_addresses = true;
}

static void
read_wide(struct clause *clause, json_t *value, const struct place *place)
{
	clause->rule.wide = member_flag(clause->report, value, place);
}

static void
read_resolve(struct clause *clause, json_t *value, const struct place *place)
{
	const char *text =
	    member_text(clause->report, value, place, LIMIT_PATTERN);

	if (text == NULL)
		return;
	if (address_parse(text, strlen(text), &clause->rule.resolve) !=
	    STATUS_OK)
		report_add(clause->report, place,
		    "write an address, as in \"10.1.2.3\"",
		    "\"%s\" is no address", text);
	else if (address_kind(&clause->rule.resolve) == ADDRESS_UNSPECIFIED)
		report_add(clause->report, place,
		    "write the host's own address",
		    "the unspecified address is never connected to");
}

static void
read_upstream_ca(
    struct clause *clause, json_t *value, const struct place *place)
{
	member_copy(clause->report, value, place, LIMIT_POLICY_BYTES,
	    &clause->rule.upstream_ca);
	if (clause->rule.upstream_ca != NULL &&
	    strncmp(clause->rule.upstream_ca, "-----BEGIN ", 11) != 0)
		report_add(clause->report, place,
		    "name a file with certificates in PEM form, and let exeat "
		    "read it",
		    "this is not the text of a certificate");
}

static void
read_reason(struct clause *clause, json_t *value, const struct place *place)
{
	member_copy(clause->report, value, place, LIMIT_RULE_TEXT,
	    &clause->rule.reason);
}

static void
read_note(struct clause *clause, json_t *value, const struct place *place)
{
	member_copy(
	    clause->report, value, place, LIMIT_RULE_TEXT, &clause->rule.note);
}

static void
read_count(struct clause *clause, json_t *value, const struct place *place,
    uint32_t most, uint32_t *ret)
{
	uint64_t count = *ret;

	member_count(clause->report, value, place, most, &count);
	*ret = (uint32_t)count;
}

static void
read_ask(struct clause *clause, json_t *value, const struct place *place)
{
	static const char *const names[] = { "timeout_s", "grant_s",
		"grant_uses", NULL };
	struct place timeout = { .above = place, .key = "timeout_s" };
	struct place grant = { .above = place, .key = "grant_s" };
	struct place uses = { .above = place, .key = "grant_uses" };
	struct rule_ask *ask = &clause->rule.ask;

	clause->stated.ask = true;
	if (!json_is_object(value)) {
		report_add(clause->report, place,
		    "write {\"timeout_s\": 300, \"grant_s\": 900, "
		    "\"grant_uses\": 1}",
		    "this must be an object");
		return;
	}
	member_keys(clause->report, value, place, names);
	read_count(clause, json_object_get(value, "timeout_s"), &timeout,
	    LIMIT_ASK_S, &ask->timeout_s);
	read_count(clause, json_object_get(value, "grant_s"), &grant,
	    LIMIT_ASK_S, &ask->grant_s);
	read_count(clause, json_object_get(value, "grant_uses"), &uses,
	    LIMIT_ASK_USES, &ask->grant_uses);
}

static void
read_credential(struct clause *clause, json_t *value, const struct place *place)
{
	struct rule *rule = &clause->rule;

	member_copy(clause->report, value, place, LIMIT_CREDENTIAL_NAME,
	    &rule->credential);
	if (rule->credential != NULL && !is_id_text(rule->credential))
		report_add(clause->report, place,
		    "use letters, digits, \"-\", \"_\" and \".\"; the secret "
		    "itself never stands in a policy",
		    "this is no name of a credential");
}

static void
read_clear(struct clause *clause, json_t *value, const struct place *place)
{
	clause->rule.clear = member_flag(clause->report, value, place);
	clause->stated.clear = true;
}

static void
read_echo(struct clause *clause, json_t *value, const struct place *place)
{
	static const char *const words[] = { "mask", "flag", NULL };
	size_t word = member_word(
	    clause->report, value, place, words, "write \"mask\" or \"flag\"");

	if (words[word] != NULL)
		clause->rule.echo = (enum rule_echo)(RULE_ECHO_MASK + word);
}

static void
read_limits(struct clause *clause, json_t *value, const struct place *place)
{
	member_quota(clause->report, value, place, &clause->rule.quota);
}

static void
read_log(struct clause *clause, json_t *value, const struct place *place)
{
	static const char *const words[] = { "mcp", NULL };
	static const char cure[] = "write [\"mcp\"]";
	size_t count = member_list(clause->report, value, place, cure);

	for (size_t i = 0; i < count; i++) {
		struct place at = { .above = place, .index = i };

		if (member_word(clause->report, json_array_get(value, i), &at,
			words, cure) == 0)
			clause->rule.log_mcp = true;
	}
}

/*
 * In the order in which they are read: what others are judged by first.
 */
static const struct key keys[] = {
	{ "id", read_id },
	{ "action", read_action },
	{ "protocol", read_protocol },
	{ "access", read_access },
	{ "tls", read_tls },
	{ "wide", read_wide },
	{ "host", read_host },
	{ "address", read_address },
	{ "port", read_port },
	{ "methods", read_methods },
	{ "path", read_path },
	{ "query", read_query },
	{ "upgrade", read_upgrade },
	{ "valid", read_valid },
	{ "private", read_private },
	{ "resolve", read_resolve },
	{ "upstream_ca", read_upstream_ca },
	{ "reason", read_reason },
	{ "note", read_note },
	{ "ask", read_ask },
	{ "exe", read_exe },
	{ "mcp", read_mcp },
	{ "credential", read_credential },
	{ "clear", read_clear },
	{ "echo", read_echo },
	{ "log", read_log },
	{ "limits", read_limits },
};

enum {
	KEY_COUNT = sizeof(keys) / sizeof(keys[0])
};

static void
check_keys(
    const struct clause *clause, json_t *value, const struct place *place)
{
	const char *names[KEY_COUNT + 1];

	for (size_t i = 0; i < KEY_COUNT; i++)
		names[i] = keys[i].name;
	names[KEY_COUNT] = NULL;
	member_keys(clause->report, value, place, names);
}

static void
read_keys(struct clause *clause, json_t *value, const struct place *place)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		struct place at = { .above = place, .key = keys[i].name };
		json_t *member = json_object_get(value, keys[i].name);

		if (member != NULL)
			keys[i].read(clause, member, &at);
	}
	if (json_object_get(value, "id") == NULL)
		report_add(clause->report, place,
		    "add \"id\" with a short name: the audit and refusals "
		    "name the rule by it",
		    "a rule needs an \"id\"");
	if (json_object_get(value, "host") == NULL &&
	    json_object_get(value, "address") == NULL)
		report_add(clause->report, place,
		    "add \"host\" or \"address\"; \"host\": [\"*\"] means "
		    "every host",
		    "this rule does not say where to");
}

/* What an opening rule means where it says nothing; a deny means all. */
static void
put_defaults(struct clause *clause)
{
	struct rule *rule = &clause->rule;
	bool denies = rule->action == RULE_DENY;

	if (rule->protocol == RULE_ANY_PROTOCOL && !denies)
		rule->protocol = RULE_HTTP;
	if (clause->stated.access || rule->access == RULE_METHODS)
		return;
	rule->access =
	    denies || rule->protocol != RULE_HTTP ? RULE_FULL : RULE_READ;
}

bool
clause_read(const struct clause_context *context, json_t *value,
    const struct place *place, struct rule *ret)
{
	size_t before = report_count(context->report);
	struct clause clause = { .context = context,
		.report = context->report,
		.rule = { .action = RULE_ALLOW,
		    .valid_from_us = INT64_MIN,
		    .valid_until_us = INT64_MAX,
		    .ask = { .timeout_s = ASK_TIMEOUT_S,
			.grant_s = ASK_GRANT_S,
			.grant_uses = ASK_GRANT_USES } } };

	if (!json_is_object(value)) {
		report_add(clause.report, place,
		    "write {\"id\": …, \"host\": […]}",
		    "a rule must be an object");
		return false;
	}
	check_keys(&clause, value, place);
	read_keys(&clause, value, place);
	put_defaults(&clause);
	coherence_check(&clause.rule, &clause.stated, place, clause.report);
	if (report_count(context->report) != before) {
		rule_done(&clause.rule);
		return false;
	}
	*ret = clause.rule;
	return true;
}
