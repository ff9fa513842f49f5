#include "policy/document.h"

#include "policy/clause.h"
#include "policy/member.h"
#include "policy/review.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The one version of the language there is. */
#define DOCUMENT_VERSION 1

struct document {
	const struct report *report;
	json_t *root;
	struct hostset *sets;
	size_t set_count;
	struct rule *rules;
	size_t rule_count;
	struct place *places; /* of each rule that was read */
	struct quota quota;
};

static void
document_done(struct document *document)
{
	for (size_t i = 0; i < document->set_count; i++)
		hostlist_done(&document->sets[i].hosts);
	for (size_t i = 0; i < document->rule_count; i++)
		rule_done(&document->rules[i]);
	free(document->sets);
	free(document->rules);
	free(document->places);
	json_decref(document->root);
}

static json_t *
parse(struct cursor text, const struct report *report)
{
	json_error_t error;
	json_t *root;

	if (text.left > LIMIT_POLICY_BYTES) {
		report_at(report, 0, 0,
		    "a policy of %zu bytes is too long, %d are allowed",
		    text.left, LIMIT_POLICY_BYTES);
		return NULL;
	}
	if (locate_depth(text) > LIMIT_JSON_DEPTH) {
		report_at(report, 0, 0,
		    "lists and objects stand more than %d deep in each other",
		    LIMIT_JSON_DEPTH);
		return NULL;
	}
	root = json_loadb(
	    (const char *)text.at, text.left, JSON_REJECT_DUPLICATES, &error);
	if (root == NULL)
		report_at(report, error.line < 0 ? 0 : (unsigned)error.line,
		    error.column < 0 ? 0 : (unsigned)error.column,
		    "this is not JSON: %s", error.text);
	return root;
}

static void
read_version(const struct document *document)
{
	struct place at = { .key = "version" };
	json_t *version = json_object_get(document->root, "version");

	if (version == NULL)
		report_add(document->report, NULL, "add \"version\": 1",
		    "a policy says which version of the language it is in");
	else if (!json_is_integer(version) ||
		 json_integer_value(version) != DOCUMENT_VERSION)
		report_add(document->report, &at, "write 1",
		    "this build reads version 1 of the language only");
}

/* What a document may say about itself, beside its rules. */
static void
read_texts(const struct document *document)
{
	static const char *const names[] = { "$schema", "name", "note" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct place at = { .key = names[i] };
		json_t *value = json_object_get(document->root, names[i]);

		if (value == NULL)
			continue;
		if (!json_is_string(value) || json_string_length(value) == 0 ||
		    json_string_length(value) > LIMIT_RULE_TEXT)
			report_add(document->report, &at,
			    "write a text of at most 500 bytes in quotes",
			    "\"%s\" must be a text", names[i]);
	}
}

static void
read_limits(struct document *document)
{
	struct place at = { .key = "limits" };
	json_t *limits = json_object_get(document->root, "limits");

	if (limits != NULL)
		member_quota(document->report, limits, &at, &document->quota);
}

static bool
is_set_name(const char *name)
{
	return name[0] == '@' && name[1] != '\0' &&
	       name[1 + strspn(name + 1,
			    "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

static void
read_set(struct document *document, const char *name, json_t *value,
    const struct place *place)
{
	struct hostset *set = &document->sets[document->set_count++];

	set->name = name;
	if (!is_set_name(name))
		report_key(document->report, place,
		    "write \"@\" and small letters, digits or \"-\"",
		    "\"%s\" is no name for a set", name);
	if (!json_is_array(value) || json_array_size(value) == 0) {
		report_add(document->report, place,
		    "write a list with hosts, as in [\"a.example.com\"]",
		    "the set \"%s\" is empty", name);
		return;
	}
	for (size_t i = 0; i < json_array_size(value); i++) {
		struct place at = { .above = place, .index = i };
		const char *text = json_string_value(json_array_get(value, i));

		if (text == NULL || text[0] == '@')
			report_add(document->report, &at,
			    "write host names; sets hold no other sets",
			    "this is not a host");
		else
			hostlist_add(&set->hosts, text, &at, document->report);
	}
}

static void
read_sets(struct document *document)
{
	struct place place = { .key = "sets" };
	json_t *sets = json_object_get(document->root, "sets"), *value;
	const char *name;

	if (sets == NULL)
		return;
	if (!json_is_object(sets)) {
		report_add(document->report, &place,
		    "write {\"@mirrors\": [\"a.example.com\"]}",
		    "\"sets\" must be an object");
		return;
	}
	document->sets =
	    calloc(json_object_size(sets) + 1, sizeof(*document->sets));
	if (document->sets == NULL) {
		report_no_memory(document->report);
		return;
	}
	json_object_foreach(sets, name, value)
	{
		struct place at = { .above = &place, .key = name };

		read_set(document, name, value, &at);
	}
}

/* rules_place outlives the places of the rules that point to it. */
static void
read_rules(struct document *document, const struct place *rules_place)
{
	const struct clause_context context = { .report = document->report,
		.sets = document->sets,
		.set_count = document->set_count };
	json_t *rules = json_object_get(document->root, "rules");
	size_t count = json_array_size(rules);

	if (!json_is_array(rules) || count > LIMIT_RULES) {
		report_add(document->report, rules == NULL ? NULL : rules_place,
		    "write \"rules\": […]; an empty list denies everything",
		    "\"rules\" must be a list, of at most %d", LIMIT_RULES);
		return;
	}
	document->rules = calloc(count + 1, sizeof(*document->rules));
	document->places = calloc(count + 1, sizeof(*document->places));
	if (document->rules == NULL || document->places == NULL) {
		report_no_memory(document->report);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		size_t at = document->rule_count;

		document->places[at] =
		    (struct place){ .above = rules_place, .index = i };
		if (clause_read(&context, json_array_get(rules, i),
			&document->places[at], &document->rules[at]))
			document->rule_count++;
	}
}

static void
read_document(struct document *document, const struct place *rules_place)
{
	static const char *const names[] = { "$schema", "version", "name",
		"note", "sets", "rules", "limits", NULL };

	if (!json_is_object(document->root)) {
		report_add(document->report, NULL,
		    "write {\"version\": 1, \"rules\": []}",
		    "a policy must be an object");
		return;
	}
	member_keys(document->report, document->root, NULL, names);
	read_version(document);
	read_texts(document);
	read_limits(document);
	read_sets(document);
	read_rules(document, rules_place);
}

/* Hands the rules over; NULL when there is no memory, which is reported. */
static struct policy *
compile(struct document *document, const char *name)
{
	const char *own =
	    json_string_value(json_object_get(document->root, "name"));
	struct policy *policy = policy_new(own == NULL ? name : own,
	    STEAL(document->rules), document->rule_count);

	document->rule_count = 0;
	if (policy == NULL)
		report_no_memory(document->report);
	else
		policy_set_quota(policy, &document->quota);
	return policy;
}

int
document_load(struct cursor text, const char *name, struct policy **ret,
    struct problems *reterr)
{
	const struct report report = { .text = text, .problems = reterr };
	struct document document = { .report = &report };
	const struct place rules_place = { .key = "rules" };
	struct policy *policy = NULL;
	size_t before = report_count(&report);

	document.root = parse(text, &report);
	if (document.root != NULL) {
		read_document(&document, &rules_place);
		policy = compile(&document, name);
	}
	if (policy != NULL)
		review_policy(policy, document.places, &report);
	document_done(&document);
	if (report_count(&report) == before && policy != NULL) {
		*ret = policy;
		return STATUS_OK;
	}
	policy_unref(policy);
	report_sort(reterr);
	return STATUS_PROBLEM;
}
