#include "policy/terms.h"

#include "policy/member.h"
#include "policy/report.h"
#include "policy/rule.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

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
read_tokens(const struct report *report, json_t *value,
    const struct place *place, const char *cure, char ***ret)
{
	size_t count = member_list(report, value, place, cure);
	char **tokens = calloc(count + 1, sizeof(*tokens));

	*ret = tokens;
	if (tokens == NULL) {
		report_no_memory(report);
		return;
	}
	for (size_t i = 0, at = 0; i < count; i++) {
		struct place element = { .above = place, .index = i };
		const char *text = member_text(report, json_array_get(value, i),
		    &element, LIMIT_HTTP_METHOD);

		if (text == NULL)
			continue;
		if (!is_token(text)) {
			report_add(report, &element, cure,
			    "\"%s\" has a character that cannot stand here",
			    text);
			continue;
		}
		tokens[at] = strdup(text);
		if (tokens[at] == NULL) {
			report_no_memory(report);
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

void
terms_read_methods(struct rule *rule, json_t *value, const struct place *place,
    const struct report *report)
{
	static const char lower[] = "abcdefghijklmnopqrstuvwxyz";

	read_tokens(report, value, place,
	    "write a list of methods, as in [\"GET\", \"POST\"]",
	    &rule->methods);
	rule->method_count = count_tokens(rule->methods);
	rule->access = RULE_METHODS;
	for (size_t i = 0; i < rule->method_count; i++) {
		struct place at = { .above = place, .index = i };

		if (strpbrk(rule->methods[i], lower) != NULL)
			report_add(report, &at, "write it in capitals",
			    "methods are compared with their case, and no "
			    "client sends \"%s\"",
			    rule->methods[i]);
	}
}

void
terms_read_upgrade(struct rule *rule, json_t *value, const struct place *place,
    const struct report *report)
{
	read_tokens(report, value, place,
	    "write a list of protocols, as in [\"websocket\"]",
	    &rule->upgrades);
	rule->upgrade_count = count_tokens(rule->upgrades);
	for (size_t i = 0; i < rule->upgrade_count; i++)
		for (char *c = rule->upgrades[i]; *c != '\0'; c++)
			if (*c >= 'A' && *c <= 'Z')
				*c = (char)(*c + ('a' - 'A'));
}

static void
add_path(struct rule *rule, const char *text, const struct place *place,
    const struct report *report)
{
	int status = pathmatch_init_path(
	    &rule->paths[rule->path_count], text, strlen(text));

	if (status == STATUS_OK) {
		rule->path_count++;
		return;
	}
	if (status == STATUS_NO_MEMORY)
		report_no_memory(report);
	else if (strchr(text, '?') != NULL)
		report_add(report, place,
		    "write what follows \"?\" under \"query\"",
		    "\"%s\" has a query", text);
	else
		report_add(report, place,
		    "begin with \"/\"; \"*\" stands for one segment and "
		    "\"**\" for any number; no \"//\", no dot segments",
		    "no path could ever match \"%s\"", text);
}

void
terms_read_path(struct rule *rule, json_t *value, const struct place *place,
    const struct report *report)
{
	size_t count = member_list(
	    report, value, place, "write a list, as in [\"/v1/**\"]");

	rule->paths = calloc(count + 1, sizeof(*rule->paths));
	if (rule->paths == NULL) {
		report_no_memory(report);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct place at = { .above = place, .index = i };
		const char *text = member_text(
		    report, json_array_get(value, i), &at, LIMIT_PATTERN);

		if (text != NULL)
			add_path(rule, text, &at, report);
	}
}

void
terms_read_query(struct rule *rule, json_t *value, const struct place *place,
    const struct report *report)
{
	size_t count = json_object_size(value);
	const char *name;
	json_t *glob;

	if (count == 0) {
		report_add(report, place,
		    "write an object, as in {\"state\": \"open*\"}",
		    "this must be an object with something in it");
		return;
	}
	rule->queries = calloc(count, sizeof(*rule->queries));
	if (rule->queries == NULL) {
		report_no_memory(report);
		return;
	}
	json_object_foreach(value, name, glob)
	{
		struct place at = { .above = place, .key = name };
		const char *text =
		    member_text(report, glob, &at, LIMIT_PATTERN);

		if (text == NULL)
			continue;
		if (querymatch_init(&rule->queries[rule->query_count], name,
			text, strlen(text)) == STATUS_OK)
			rule->query_count++;
		else
			report_no_memory(report);
	}
}

static void
add_exe(struct rule *rule, const char *text, const struct place *place,
    const struct report *report)
{
	int status =
	    exematch_init(&rule->exes[rule->exe_count], text, strlen(text));

	if (status == STATUS_OK)
		rule->exe_count++;
	else if (status == STATUS_NO_MEMORY)
		report_no_memory(report);
	else
		report_add(report, place,
		    "write the whole path, as in \"/usr/bin/git\" or "
		    "\"/usr/lib/git-core/**\", or \"sha256:\" and 64 "
		    "digits",
		    "no program could ever match \"%s\"", text);
}

void
terms_read_exe(struct rule *rule, json_t *value, const struct place *place,
    const struct report *report)
{
	size_t count = member_list(
	    report, value, place, "write a list, as in [\"/usr/bin/git\"]");

	rule->exes = calloc(count + 1, sizeof(*rule->exes));
	if (rule->exes == NULL) {
		report_no_memory(report);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct place at = { .above = place, .index = i };
		const char *text = member_text(
		    report, json_array_get(value, i), &at, LIMIT_PATTERN);

		if (text != NULL)
			add_exe(rule, text, &at, report);
	}
}

/* The globs of one list in "mcp"; nothing when it is not stated. */
static void
read_globs(const struct report *report, json_t *value,
    const struct place *place, struct pathmatch **ret, size_t *ret_count)
{
	struct pathmatch *globs;
	size_t count;

	if (value == NULL)
		return;
	count = member_list(
	    report, value, place, "write a list, as in [\"read_*\"]");
	globs = calloc(count + 1, sizeof(*globs));
	*ret = globs;
	if (globs == NULL)
		report_no_memory(report);
	for (size_t i = 0; globs != NULL && i < count; i++) {
		struct place at = { .above = place, .index = i };
		const char *text = member_text(
		    report, json_array_get(value, i), &at, LIMIT_PATTERN);

		if (text == NULL)
			continue;
		if (pathmatch_init_text(
			&globs[*ret_count], text, strlen(text)) == STATUS_OK)
			(*ret_count)++;
		else
			report_no_memory(report);
	}
}

void
terms_read_mcp(struct rule *rule, json_t *value, const struct place *place,
    const struct report *report)
{
	static const char *const names[] = { "methods", "tools", NULL };
	struct place methods = { .above = place, .key = "methods" };
	struct place tools = { .above = place, .key = "tools" };
	struct mcpmatch *mcp = &rule->mcp;

	if (!json_is_object(value) || json_object_size(value) == 0) {
		report_add(report, place,
		    "write {\"methods\": [\"tools/*\"], \"tools\": "
		    "[\"read_*\"]}",
		    "this must be an object with \"methods\" or \"tools\"");
		return;
	}
	member_keys(report, value, place, names);
	read_globs(report, json_object_get(value, "methods"), &methods,
	    &mcp->methods, &mcp->method_count);
	read_globs(report, json_object_get(value, "tools"), &tools, &mcp->tools,
	    &mcp->tool_count);
}
