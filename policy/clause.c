#include "policy/clause.h"

#include "policy/coherence.h"
#include "policy/instant.h"
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

/* The text of a string no longer than most, or NULL and a report. */
static const char *
text_of(struct clause *clause, json_t *value, const struct place *place,
    size_t most)
{
	if (!json_is_string(value)) {
		report_add(clause->report, place, "write a text in quotes",
		    "this must be a text");
		return NULL;
	}
	if (json_string_length(value) > most) {
		report_add(clause->report, place, "write a shorter one",
		    "this text has %zu bytes, and %zu are allowed",
		    json_string_length(value), most);
		return NULL;
	}
	return json_string_value(value);
}

static void
copy_text(struct clause *clause, json_t *value, const struct place *place,
    size_t most, char **ret)
{
	const char *text = text_of(clause, value, place, most);

	if (text == NULL)
		return;
	*ret = strdup(text);
	if (*ret == NULL)
		report_no_memory(clause->report);
}

static bool
flag_of(struct clause *clause, json_t *value, const struct place *place)
{
	if (!json_is_boolean(value))
		report_add(clause->report, place, "write true or false",
		    "this must be true or false");
	return json_is_true(value);
}

/* The number of a word in a list, or count and a report. */
static size_t
word_of(struct clause *clause, json_t *value, const struct place *place,
    const char *const *words, const char *cure)
{
	const char *text = json_string_value(value);
	size_t i = 0;

	while (
	    words[i] != NULL && (text == NULL || strcmp(words[i], text) != 0))
		i++;
	if (words[i] == NULL)
		report_add(clause->report, place, cure,
		    "this is none of the words for it");
	return i;
}

/* An array with something in it; 0 and a report when it is none. */
static size_t
list_of(struct clause *clause, json_t *value, const struct place *place,
    const char *cure)
{
	if (!json_is_array(value)) {
		report_add(clause->report, place, cure, "this must be a list");
		return 0;
	}
	if (json_array_size(value) == 0)
		report_add(clause->report, place, cure,
		    "an empty list matches nothing");
	return json_array_size(value);
}

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
	copy_text(clause, value, place, LIMIT_RULE_ID, &clause->rule.id);
	if (clause->rule.id != NULL && !is_id_text(clause->rule.id))
		report_add(clause->report, place,
		    "use letters, digits, \"-\", \"_\" and \".\"",
		    "\"%s\" is no id", clause->rule.id);
}

static void
read_action(struct clause *clause, json_t *value, const struct place *place)
{
	static const char *const words[] = { "deny", "ask", "allow", NULL };
	size_t word = word_of(clause, value, place, words,
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
	size_t word = word_of(clause, value, place, words,
	    "write \"http\", \"ssh\", \"tcp\" or \"udp\"");

	if (words[word] != NULL)
		clause->rule.protocol = (enum rule_protocol)(RULE_HTTP + word);
}

static void
read_access(struct clause *clause, json_t *value, const struct place *place)
{
	static const char *const words[] = { "read", "write", "any", NULL };
	size_t word = word_of(clause, value, place, words,
	    "write \"read\", \"write\" or \"any\"");

	if (words[word] != NULL)
		clause->rule.access = (enum rule_access)word;
	clause->stated.access = true;
}

static void
read_tls(struct clause *clause, json_t *value, const struct place *place)
{
	static const char *const words[] = { "inspect", "passthrough", NULL };
	size_t word = word_of(clause, value, place, words,
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
	size_t count = list_of(
	    clause, value, place, "write a list, as in [\"api.example.com\"]");
	struct hostlist list = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct place at = { .above = place, .index = i };
		const char *text = text_of(
		    clause, json_array_get(value, i), &at, LIMIT_PATTERN);

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
	size_t count = list_of(
	    clause, value, place, "write a list, as in [\"192.0.2.0/24\"]");

	clause->rule.addresses =
	    calloc(count + 1, sizeof(*clause->rule.addresses));
	if (clause->rule.addresses == NULL) {
		report_no_memory(clause->report);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct place at = { .above = place, .index = i };
		const char *text = text_of(
		    clause, json_array_get(value, i), &at, LIMIT_PATTERN);

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
	size_t count = list_of(clause, value, place, cure);
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

/* RFC 9110 section 5.6.2. */
static bool
is_token(const char *text)
{
	return text[0] != '\0' &&
	       text[strspn(text,
		   "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
		   "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
}

/* A list of tokens, copied; what a token is for stands in the cure. */
static void
read_tokens(struct clause *clause, json_t *value, const struct place *place,
    const char *cure, char ***ret)
{
	size_t count = list_of(clause, value, place, cure);
	char **tokens = calloc(count + 1, sizeof(*tokens));

	*ret = tokens;
	if (tokens == NULL) {
		report_no_memory(clause->report);
		return;
	}
	for (size_t i = 0, at = 0; i < count; i++) {
		struct place element = { .above = place, .index = i };
		const char *text = text_of(clause, json_array_get(value, i),
		    &element, LIMIT_HTTP_METHOD);

		if (text == NULL)
			continue;
		if (!is_token(text)) {
			report_add(clause->report, &element, cure,
			    "\"%s\" has a character that cannot stand here",
			    text);
			continue;
		}
		tokens[at] = strdup(text);
		if (tokens[at] == NULL) {
			report_no_memory(clause->report);
			return;
		}
		at++;
	}
}

static size_t
count_tokens(char *const *tokens)
{
	size_t count = 0;

	while (tokens != NULL && tokens[count] != NULL)
		count++;
	return count;
}

static void
read_methods(struct clause *clause, json_t *value, const struct place *place)
{
	struct rule *rule = &clause->rule;
	static const char lower[] = "abcdefghijklmnopqrstuvwxyz";

	if (clause->stated.access)
		report_add(clause->report, place, "keep one of the two",
		    "\"methods\" stands instead of \"access\"");
	read_tokens(clause, value, place,
	    "write a list of methods, as in [\"GET\", \"POST\"]",
	    &rule->methods);
	rule->method_count = count_tokens(rule->methods);
	rule->access = RULE_METHODS;
	for (size_t i = 0; i < rule->method_count; i++) {
		struct place at = { .above = place, .index = i };

		if (strpbrk(rule->methods[i], lower) != NULL)
			report_add(clause->report, &at, "write it in capitals",
			    "methods are compared with their case, and no "
			    "client sends \"%s\"",
			    rule->methods[i]);
	}
}

static void
read_upgrade(struct clause *clause, json_t *value, const struct place *place)
{
	struct rule *rule = &clause->rule;

	read_tokens(clause, value, place,
	    "write a list of protocols, as in [\"websocket\"]",
	    &rule->upgrades);
	rule->upgrade_count = count_tokens(rule->upgrades);
	for (size_t i = 0; i < rule->upgrade_count; i++)
		for (char *c = rule->upgrades[i]; *c != '\0'; c++)
			if (*c >= 'A' && *c <= 'Z')
				*c = (char)(*c + ('a' - 'A'));
}

static void
add_path(struct clause *clause, const char *text, const struct place *place)
{
	struct rule *rule = &clause->rule;
	int status = pathmatch_init_path(
	    &rule->paths[rule->path_count], text, strlen(text));

	if (status == STATUS_OK) {
		rule->path_count++;
		return;
	}
	if (status == STATUS_NO_MEMORY)
		report_no_memory(clause->report);
	else if (strchr(text, '?') != NULL)
		report_add(clause->report, place,
		    "write what follows \"?\" under \"query\"",
		    "\"%s\" has a query", text);
	else
		report_add(clause->report, place,
		    "begin with \"/\"; \"*\" stands for one segment and "
		    "\"**\" for any number; no \"//\", no dot segments",
		    "no path could ever match \"%s\"", text);
}

static void
read_path(struct clause *clause, json_t *value, const struct place *place)
{
	size_t count =
	    list_of(clause, value, place, "write a list, as in [\"/v1/**\"]");

	clause->rule.paths = calloc(count + 1, sizeof(*clause->rule.paths));
	if (clause->rule.paths == NULL) {
		report_no_memory(clause->report);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct place at = { .above = place, .index = i };
		const char *text = text_of(
		    clause, json_array_get(value, i), &at, LIMIT_PATTERN);

		if (text != NULL)
			add_path(clause, text, &at);
	}
}

static void
read_query(struct clause *clause, json_t *value, const struct place *place)
{
	size_t count = json_object_size(value);
	struct rule *rule = &clause->rule;
	const char *name;
	json_t *glob;

	if (count == 0) {
		report_add(clause->report, place,
		    "write an object, as in {\"state\": \"open*\"}",
		    "this must be an object with something in it");
		return;
	}
	rule->queries = calloc(count, sizeof(*rule->queries));
	if (rule->queries == NULL) {
		report_no_memory(clause->report);
		return;
	}
	json_object_foreach(value, name, glob)
	{
		struct place at = { .above = place, .key = name };
		const char *text = text_of(clause, glob, &at, LIMIT_PATTERN);

		if (text == NULL)
			continue;
		if (querymatch_init(&rule->queries[rule->query_count], name,
			text, strlen(text)) == STATUS_OK)
			rule->query_count++;
		else
			report_no_memory(clause->report);
	}
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
	clause_known_keys(clause->report, value, place, names);
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
	clause->rule.private_addresses = flag_of(clause, value, place);
	clause->stated.private_addresses = true;
}

static void
read_wide(struct clause *clause, json_t *value, const struct place *place)
{
	clause->rule.wide = flag_of(clause, value, place);
}

static void
read_resolve(struct clause *clause, json_t *value, const struct place *place)
{
	const char *text = text_of(clause, value, place, LIMIT_PATTERN);

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
	copy_text(clause, value, place, LIMIT_POLICY_BYTES,
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
	copy_text(clause, value, place, LIMIT_RULE_TEXT, &clause->rule.reason);
}

static void
read_note(struct clause *clause, json_t *value, const struct place *place)
{
	copy_text(clause, value, place, LIMIT_RULE_TEXT, &clause->rule.note);
}

static void
read_count(struct clause *clause, json_t *value, const struct place *place,
    uint32_t most, uint32_t *ret)
{
	json_int_t number = json_integer_value(value);

	if (value == NULL)
		return;
	if (!json_is_integer(value) || number < 1 || number > most) {
		report_add(clause->report, place, "write a whole number",
		    "this must be a number from 1 to %u", most);
		return;
	}
	*ret = (uint32_t)number;
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
	clause_known_keys(clause->report, value, place, names);
	read_count(clause, json_object_get(value, "timeout_s"), &timeout,
	    LIMIT_ASK_S, &ask->timeout_s);
	read_count(clause, json_object_get(value, "grant_s"), &grant,
	    LIMIT_ASK_S, &ask->grant_s);
	read_count(clause, json_object_get(value, "grant_uses"), &uses,
	    LIMIT_ASK_USES, &ask->grant_uses);
}

static void
read_later(struct clause *clause, json_t *value, const struct place *place)
{
	(void)value;
	report_add(clause->report, place, "leave it out until it can be",
	    "\"%s\" cannot be honoured by this build yet", place->key);
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
	{ "clear", read_later },
	{ "credential", read_later },
	{ "echo", read_later },
	{ "exe", read_later },
	{ "limits", read_later },
	{ "log", read_later },
	{ "mcp", read_later },
};

enum {
	KEY_COUNT = sizeof(keys) / sizeof(keys[0])
};

/* How many letters to change, add or drop to make one word of the other. */
static size_t
distance(const char *a, const char *b)
{
	size_t row[32], length = strlen(b);

	if (length >= sizeof(row) / sizeof(row[0]))
		return SIZE_MAX;
	for (size_t k = 0; k <= length; k++)
		row[k] = k;
	for (size_t i = 0; a[i] != '\0'; i++) {
		size_t corner = row[0];

		row[0] = i + 1;
		for (size_t k = 1; k <= length; k++) {
			size_t best = corner + (a[i] != b[k - 1]);

			corner = row[k];
			if (corner + 1 < best)
				best = corner + 1;
			if (row[k - 1] + 1 < best)
				best = row[k - 1] + 1;
			row[k] = best;
		}
	}
	return row[length];
}

/* The name nearest to what was written, if it can have been meant. */
static const char *
nearest(const char *written, const char *const *names)
{
	const char *best = NULL;
	size_t least = 3;

	if (strlen(written) > LIMIT_RULE_ID)
		return NULL;
	for (size_t i = 0; names[i] != NULL; i++) {
		size_t far = distance(written, names[i]);

		if (far >= least || far >= strlen(names[i]) ||
		    far >= strlen(written))
			continue;
		least = far;
		best = names[i];
	}
	return best;
}

static bool
is_known(const char *key, const char *const *names)
{
	for (size_t i = 0; names[i] != NULL; i++)
		if (strcmp(key, names[i]) == 0)
			return true;
	return false;
}

static void
report_unknown(const struct report *report, const struct place *place,
    const char *const *names)
{
	char cure[PROBLEM_CURE_MAX];
	struct cursor_writer out = cursor_writer_of(cure, sizeof(cure) - 1);
	const char *meant = nearest(place->key, names);

	cursor_put_text(&out, meant == NULL ? "the keys are " : "write ");
	for (size_t i = 0; meant == NULL && names[i] != NULL; i++) {
		cursor_put_text(&out, i == 0 ? "" : ", ");
		cursor_put_text(&out, names[i]);
	}
	if (meant != NULL) {
		cursor_put_u8(&out, '"');
		cursor_put_text(&out, meant);
		cursor_put_u8(&out, '"');
	}
	cure[out.used] = '\0';
	report_key(
	    report, place, cure, "there is no key \"%s\" here", place->key);
}

void
clause_known_keys(const struct report *report, json_t *object,
    const struct place *place, const char *const *names)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		struct place at = { .above = place, .key = key };

		if (!is_known(key, names))
			report_unknown(report, &at, names);
	}
}

static void
check_keys(
    const struct clause *clause, json_t *value, const struct place *place)
{
	const char *names[KEY_COUNT + 1];

	for (size_t i = 0; i < KEY_COUNT; i++)
		names[i] = keys[i].name;
	names[KEY_COUNT] = NULL;
	clause_known_keys(clause->report, value, place, names);
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
