#include "policy/condition.h"

#include "policy/asker.h"
#include "policy/automaton.h"
#include "policy/instant.h"
#include "schema/status.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The conditions on one thing. */
struct choice {
	const struct condition *list[LIMIT_REGION_CONDITIONS];
	size_t count;
	int64_t now_us;
};

static struct facts
blank_facts(void)
{
	return (struct facts){ .stage = STAGE_REQUEST,
		.last = true,
		.protocol = FACT_PROTOCOL_HTTP,
		.method = "GET",
		.query = cursor_of("", 0),
		.upgrade = cursor_of("", 0) };
}

/* Whether all conditions hold for facts in which only one thing is set. */
static bool
all_hold(
    const struct choice *choice, enum rule_term term, const struct facts *facts)
{
	for (size_t i = 0; i < choice->count; i++) {
		const struct condition *c = choice->list[i];
		struct rule_match match;
		bool holds;

		rule_weigh(c->rule, facts, &match);
		holds = ((match.failed | match.unknown) >> term & 1) == 0;
		if (c->git)
			holds = strcmp(facts->method, "POST") == 0;
		if (holds == c->negated)
			return false;
	}
	return true;
}

/* ---- names and addresses ---- */

static int
sample_name(const struct choice *choice, struct cursor_writer *out)
{
	struct automaton_list lists[LIMIT_REGION_CONDITIONS];
	struct automaton_word *word = calloc(1, sizeof(*word));
	int status = STATUS_NO_MEMORY;

	for (size_t i = 0; i < choice->count; i++)
		lists[i] = (struct automaton_list){
			.hosts = choice->list[i]->rule->hosts,
			.count = choice->list[i]->rule->host_count,
			.negated = choice->list[i]->negated,
		};
	if (word != NULL)
		status =
		    automaton_find(AUTOMATON_NAMES, lists, choice->count, word);
	if (status == STATUS_OK)
		cursor_put(out, word->text, word->length);
	free(word);
	return status;
}

/* As policy/index finds rules: the internet is no way to a special address. */
static bool
rule_reaches(const struct rule *rule, const struct address *address)
{
	bool special = address_kind(address) != ADDRESS_PUBLIC;

	for (size_t i = 0; i < rule->address_count; i++)
		if (cidr_contains(&rule->addresses[i], address) &&
		    (!special || rule->action == RULE_DENY ||
			!cidr_is_wide(&rule->addresses[i])))
			return true;
	return false;
}

static bool
try_address(const struct choice *choice, const struct address *candidate,
    struct cursor_writer *out)
{
	struct address address = *candidate;
	char text[ADDRESS_TEXT_MAX];

	if (address.length == 16)
		address = address_v6(candidate->bytes);
	for (size_t i = 0; i < choice->count; i++)
		if (rule_reaches(choice->list[i]->rule, &address) ==
		    choice->list[i]->negated)
			return false;
	address_print(&address, text);
	cursor_put_text(out, text);
	return true;
}

/* Where a range begins, and behind its end. */
static bool
try_range(const struct choice *choice, const struct cidr *cidr,
    struct cursor_writer *out)
{
	struct address last = cidr_last(cidr), next;

	return try_address(choice, &cidr->address, out) ||
	       (address_next(&last, &next) && try_address(choice, &next, out));
}

/* The first address of any set of these stands at one of their edges. */
static int
sample_address(const struct choice *choice, struct cursor_writer *out)
{
	struct address edge;

	for (size_t i = 0; i < choice->count; i++) {
		const struct rule *rule = choice->list[i]->rule;

		for (size_t k = 0; k < rule->address_count; k++)
			if (try_range(choice, &rule->addresses[k], out))
				return STATUS_OK;
	}
	for (size_t i = 0; address_kind_edge(i, &edge); i++)
		if (try_address(choice, &edge, out))
			return STATUS_OK;
	return STATUS_NOT_FOUND;
}

/* ---- ports, methods, upgrades, times ---- */

static bool
try_port(const struct choice *choice, unsigned port, struct cursor_writer *out)
{
	struct facts facts = blank_facts();

	if (port == 0 || port > UINT16_MAX)
		return false;
	facts.port = (uint16_t)port;
	if (!all_hold(choice, TERM_PORT, &facts))
		return false;
	cursor_put_decimal(out, port);
	return true;
}

static int
sample_port(const struct choice *choice, struct cursor_writer *out)
{
	static const unsigned usual[] = { 443, 80, 22, 1 };

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (try_port(choice, usual[i], out))
			return STATUS_OK;
	for (size_t i = 0; i < choice->count; i++) {
		const struct rule *rule = choice->list[i]->rule;

		for (size_t k = 0; k < rule->port_count; k++)
			if (try_port(choice, rule->ports[k].first, out) ||
			    try_port(choice, rule->ports[k].last + 1U, out))
				return STATUS_OK;
	}
	return STATUS_NOT_FOUND;
}

static bool
try_method(
    const struct choice *choice, const char *method, struct cursor_writer *out)
{
	struct facts facts = blank_facts();

	facts.method = method;
	if (!all_hold(choice, TERM_METHOD, &facts))
		return false;
	cursor_put_text(out, method);
	return true;
}

/* A word that stands in none of the rules' lists, by its number. */
static bool
is_unlisted(const struct choice *choice, const char *word, bool methods)
{
	for (size_t i = 0; i < choice->count; i++) {
		const struct rule *rule = choice->list[i]->rule;
		char *const *words = methods ? rule->methods : rule->upgrades;
		size_t count =
		    methods ? rule->method_count : rule->upgrade_count;

		for (size_t k = 0; k < count; k++)
			if (strcmp(words[k], word) == 0)
				return false;
	}
	return true;
}

#define FRESH_MAX 32

static void
fresh_word(const struct choice *choice, bool methods, char out[FRESH_MAX])
{
	size_t number = 0;

	do {
		int length = snprintf(out, FRESH_MAX, "%s%zu",
		    methods ? "OTHER" : "other", number++);

		assert(length > 0 && length < FRESH_MAX);
	} while (!is_unlisted(choice, out, methods));
}

static int
sample_method(const struct choice *choice, struct cursor_writer *out)
{
	static const char *const usual[] = { "GET", "POST", "PUT", "PATCH",
		"DELETE", "HEAD", "OPTIONS" };
	char fresh[FRESH_MAX];

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (try_method(choice, usual[i], out))
			return STATUS_OK;
	for (size_t i = 0; i < choice->count; i++) {
		const struct rule *rule = choice->list[i]->rule;

		for (size_t k = 0; k < rule->method_count; k++)
			if (try_method(choice, rule->methods[k], out))
				return STATUS_OK;
	}
	fresh_word(choice, true, fresh);
	return try_method(choice, fresh, out) ? STATUS_OK : STATUS_NOT_FOUND;
}

static bool
try_upgrade(
    const struct choice *choice, const char *token, struct cursor_writer *out)
{
	struct facts facts = blank_facts();

	facts.upgrade = cursor_of_text(token);
	if (!all_hold(choice, TERM_UPGRADE, &facts))
		return false;
	cursor_put_text(out, token);
	return true;
}

static int
sample_upgrade(const struct choice *choice, struct cursor_writer *out)
{
	char fresh[FRESH_MAX];

	if (try_upgrade(choice, "", out) ||
	    try_upgrade(choice, "websocket", out))
		return STATUS_OK;
	for (size_t i = 0; i < choice->count; i++) {
		const struct rule *rule = choice->list[i]->rule;

		for (size_t k = 0; k < rule->upgrade_count; k++)
			if (try_upgrade(choice, rule->upgrades[k], out))
				return STATUS_OK;
	}
	fresh_word(choice, false, fresh);
	return try_upgrade(choice, fresh, out) ? STATUS_OK : STATUS_NOT_FOUND;
}

static bool
try_time(const struct choice *choice, int64_t at_us, struct cursor_writer *out)
{
	static const int64_t end_us = INT64_C(253402300800) * 1000000;
	struct facts facts = blank_facts();
	char text[INSTANT_TEXT_MAX];

	if (at_us < 0 || at_us >= end_us)
		return false;
	facts.now_us = at_us;
	if (!all_hold(choice, TERM_VALID, &facts))
		return false;
	instant_print(at_us, text);
	if (at_us != choice->now_us)
		cursor_put_text(out, text);
	return true;
}

static int
sample_time(const struct choice *choice, struct cursor_writer *out)
{
	if (try_time(choice, choice->now_us, out) || try_time(choice, 0, out))
		return STATUS_OK;
	for (size_t i = 0; i < choice->count; i++) {
		const struct rule *rule = choice->list[i]->rule;

		if (try_time(choice, rule->valid_from_us, out) ||
		    try_time(choice, rule->valid_until_us, out))
			return STATUS_OK;
	}
	return STATUS_NOT_FOUND;
}

/* ---- paths ---- */

static int
sample_path(const struct choice *choice, struct cursor_writer *out)
{
	static const uint16_t tokens[] = { PATHMATCH_STARS, '/', 'g', 'i', 't',
		'-', 'u', 'p', 'l', 'o', 'a', 'd', '-', 'p', 'a', 'c', 'k' };
	const struct pathmatch git = { .tokens = unconst(tokens),
		.length = sizeof(tokens) / sizeof(tokens[0]),
		.path = true };
	struct automaton_list lists[LIMIT_REGION_CONDITIONS];
	struct automaton_word *word = calloc(1, sizeof(*word));
	int status = STATUS_NO_MEMORY;

	for (size_t i = 0; i < choice->count; i++) {
		const struct condition *c = choice->list[i];

		lists[i] = (struct automaton_list){
			.paths = c->git ? &git : c->rule->paths,
			.count = c->git ? 1 : c->rule->path_count,
			.negated = c->negated,
		};
	}
	if (word != NULL)
		status =
		    automaton_find(AUTOMATON_PATHS, lists, choice->count, word);
	if (status == STATUS_OK)
		cursor_put(out, word->text, word->length);
	free(word);
	return status;
}

/* ---- queries ---- */

/*
 * What a condition asks of the values of its parameter.  A query that readers
 * would not agree about never opens and always denies.
 */
enum demand {
	DEMAND_ALL, /* some value, and each of them matched */
	DEMAND_NOT_ALL,
	DEMAND_SOME, /* a value that is matched */
	DEMAND_NONE
};

static enum demand
demand_of(const struct condition *c)
{
	if (c->rule->action == RULE_DENY)
		return c->negated ? DEMAND_NONE : DEMAND_SOME;
	return c->negated ? DEMAND_NOT_ALL : DEMAND_ALL;
}

static const struct querymatch *
match_of(const struct condition *c)
{
	return &c->rule->queries[c->query];
}

static void
put_escaped(struct cursor_writer *out, const char *text, size_t length)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];

		if ((byte >= '0' && byte <= '9') ||
		    ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z')) {
			cursor_put_u8(out, byte);
			continue;
		}
		cursor_put_u8(out, '%');
		cursor_put_u8(out, (uint8_t)digits[byte >> 4]);
		cursor_put_u8(out, (uint8_t)digits[byte & 15]);
	}
}

/* A value that all demands on one name admit, and the one that asks for it. */
static int
put_value(const struct choice *choice, const struct condition *asks,
    struct cursor_writer *out)
{
	struct automaton_list lists[LIMIT_REGION_CONDITIONS];
	struct automaton_word *word = calloc(1, sizeof(*word));
	const char *name = match_of(asks)->name;
	int status = STATUS_NO_MEMORY;
	size_t count = 0;

	for (size_t i = 0; i < choice->count; i++) {
		const struct condition *c = choice->list[i];
		enum demand demand = demand_of(c);

		if (strcmp(match_of(c)->name, name) != 0 ||
		    (c != asks && demand != DEMAND_ALL &&
			demand != DEMAND_NONE))
			continue;
		lists[count] = (struct automaton_list){
			.paths = &match_of(c)->value,
			.count = 1,
			.negated = c->negated,
		};
		count++;
	}
	if (word != NULL)
		status = automaton_find(AUTOMATON_TEXTS, lists, count, word);
	if (status == STATUS_OK) {
		if (out->used > 0)
			cursor_put_u8(out, '&');
		put_escaped(out, name, strlen(name));
		cursor_put_u8(out, '=');
		put_escaped(out, word->text, word->length);
	}
	free(word);
	return status;
}

/* Whether there is a parameter of this name at all. */
static bool
is_present(const struct choice *choice, const char *name)
{
	for (size_t i = 0; i < choice->count; i++) {
		enum demand demand = demand_of(choice->list[i]);

		if ((demand == DEMAND_ALL || demand == DEMAND_SOME) &&
		    strcmp(match_of(choice->list[i])->name, name) == 0)
			return true;
	}
	return false;
}

/* Whether this one asks for a value, or others of its name do so already. */
static bool
asks_for_value(const struct choice *choice, size_t at)
{
	const char *name = match_of(choice->list[at])->name;
	enum demand own = demand_of(choice->list[at]);

	if (own == DEMAND_NONE || !is_present(choice, name))
		return false;
	for (size_t i = 0; own == DEMAND_ALL && i < choice->count; i++) {
		enum demand other = demand_of(choice->list[i]);
		bool asks = other == DEMAND_SOME || other == DEMAND_NOT_ALL ||
			    (other == DEMAND_ALL && i < at);

		if (asks && strcmp(match_of(choice->list[i])->name, name) == 0)
			return false;
	}
	return true;
}

static int
put_clear_query(const struct choice *choice, struct cursor_writer *out)
{
	for (size_t i = 0; i < choice->count; i++) {
		int status;

		if (!asks_for_value(choice, i))
			continue;
		status = put_value(choice, choice->list[i], out);
		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

/* What was made must be what rules find, or nothing has been proved. */
static bool
query_satisfies(const struct choice *choice, struct cursor query)
{
	for (size_t i = 0; i < choice->count; i++) {
		const struct condition *c = choice->list[i];
		enum querymatch_answer answer =
		    querymatch_weigh(match_of(c), query);
		bool holds = c->rule->action == RULE_DENY
				 ? answer != QUERYMATCH_NONE
				 : answer == QUERYMATCH_ALL;

		if (holds == c->negated)
			return false;
	}
	return true;
}

static int
sample_query(const struct choice *choice, struct cursor_writer *out)
{
	static const char unclear[] = "%";
	char *text = calloc(1, LIMIT_HTTP_URI);
	struct cursor_writer clear = cursor_writer_of(text, LIMIT_HTTP_URI);
	int status = STATUS_NO_MEMORY;

	if (text != NULL)
		status = put_clear_query(choice, &clear);
	if (status == STATUS_OK &&
	    (!cursor_written(&clear) ||
		!query_satisfies(choice, cursor_of(text, clear.used))))
		status = STATUS_FULL;
	if (status == STATUS_OK)
		cursor_put(out, text, clear.used);
	free(text);
	if (status == STATUS_NOT_FOUND &&
	    query_satisfies(choice, cursor_of_text(unclear))) {
		cursor_put_text(out, unclear);
		return STATUS_OK;
	}
	return status;
}

static struct asker
asker_of(const struct choice *choice)
{
	struct asker asker = { .count = choice->count };

	for (size_t i = 0; i < choice->count; i++)
		asker.list[i] = (struct asker_condition){ choice->list[i]->rule,
			choice->list[i]->negated };
	return asker;
}

int
condition_sample(enum condition_term term, const struct condition *list,
    size_t count, int64_t now_us, struct cursor_writer *out)
{
	struct choice choice = { .now_us = now_us };
	struct asker asker;

	assert(count <= LIMIT_REGION_CONDITIONS);
	for (size_t i = 0; i < count; i++)
		if (list[i].term == term)
			choice.list[choice.count++] = &list[i];
	switch (term) {
	case CONDITION_TARGET:
		if (choice.count > 0 && choice.list[0]->rule->host_count == 0)
			return sample_address(&choice, out);
		return sample_name(&choice, out);
	case CONDITION_PORT:
		return sample_port(&choice, out);
	case CONDITION_METHOD:
		return sample_method(&choice, out);
	case CONDITION_UPGRADE:
		return sample_upgrade(&choice, out);
	case CONDITION_PATH:
		return sample_path(&choice, out);
	case CONDITION_QUERY:
		return sample_query(&choice, out);
	case CONDITION_EXE:
		asker = asker_of(&choice);
		return asker_sample_program(&asker, out);
	case CONDITION_MCP:
		asker = asker_of(&choice);
		return asker_sample_message(&asker, out);
	case CONDITION_VALID:
		return sample_time(&choice, out);
	case CONDITION_TERM_COUNT:
		break;
	}
	return STATUS_FULL;
}
