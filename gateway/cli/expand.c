#include "gateway/cli/expand.h"

#include "gateway/cli/owned.h"
#include "gateway/cli/splice.h"
#include "policy/document.h"
#include "policy/netmatch.h"
#include "policy/report.h"
#include "schema/json.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_SIZE 4096
#define PEM_CERTIFICATE "-----BEGIN CERTIFICATE-----"
#define PEM_ANY "-----BEGIN "

/* What stands for a part that could not be had, so that the rest is read. */
static const char no_authority[] = "\"" PEM_CERTIFICATE "\"";
static const char no_host[] = "nowhere.invalid";

/* One policy while it is expanded. */
struct work {
	const struct report *report;
	const char *path;
	sets_writable *writable;
	const void *arg;
	json_t *root;
	struct splices splices;
	struct cursor_writer added; /* members for "sets" */
};

void
expansion_done(struct expansion *expansion)
{
	if (expansion == NULL)
		return;
	free(expansion->text);
	policy_unref(expansion->policy);
	memset(expansion, 0, sizeof(*expansion));
}

/* Adds a problem at a place of the document. */
static void
tell(const struct work *work, const struct place *place,
    const struct problem *problem)
{
	report_add(work->report, place, problem->cure, "%s", problem->text);
}

/* Only certificates: what is put in is kept in the audit, readable. */
static int
pem_of(struct cursor text, const char *path, char **ret, struct problem *reterr)
{
	size_t size = 2 * text.left + 3;
	struct cursor_writer out;
	struct json json = json_to(&out);
	const char *all = text.left == 0 ? "" : (const char *)text.at;
	const char *start = strstr(all, PEM_ANY);

	if (start == NULL || strstr(all, PEM_CERTIFICATE) == NULL) {
		(void)problem_set(reterr, "%s holds no certificate", path);
		return problem_cure(reterr, "it must be in PEM form");
	}
	if (strstr(all, "PRIVATE KEY-----") != NULL) {
		(void)problem_set(reterr, "%s holds a private key", path);
		return problem_cure(
		    reterr, "name a file with nothing but certificates");
	}
	*ret = calloc(size, 1);
	if (*ret == NULL)
		return problem_set(reterr, "there is no memory for %s", path);
	out = cursor_writer_of(*ret, size - 1);
	json_text(&json, NULL, start);
	if (cursor_written(&out))
		return STATUS_OK;
	free(STEAL(*ret));
	return problem_set(reterr, "%s holds more than certificates", path);
}

/* The file of one "upstream_ca", as a JSON text to be freed. */
static int
read_authority(const struct work *work, const char *name, char **ret,
    struct problem *reterr)
{
	char path[PATH_SIZE];
	struct cursor text = { 0 };
	int status;

	if (!owned_resolve(work->path, name, path, sizeof(path)))
		return problem_set(reterr, "this path is too long");
	status = owned_read(
	    path, LIMIT_POLICY_BYTES, work->writable, work->arg, &text, reterr);
	if (status != STATUS_OK)
		return status;
	status = pem_of(text, path, ret, reterr);
	free(unconst(text.at));
	return status;
}

static void
splice_at(struct work *work, const struct place *place, const char *text)
{
	struct located located;

	if (!locate(work->report->text, place, &located))
		report_add(work->report, place,
		    "write the keys that lead here without escapes",
		    "this value cannot be found again in the text");
	else if (!splices_add(&work->splices, &located, text))
		report_no_memory(work->report);
}

static void
expand_authority(struct work *work, json_t *rule, const struct place *place)
{
	const struct place at = { .above = place, .key = "upstream_ca" };
	const char *name =
	    json_string_value(json_object_get(rule, "upstream_ca"));
	struct problem problem;
	char *text = NULL;

	if (name == NULL || strncmp(name, PEM_ANY, strlen(PEM_ANY)) == 0)
		return;
	if (read_authority(work, name, &text, &problem) != STATUS_OK)
		tell(work, &at, &problem);
	splice_at(work, &at, text == NULL ? no_authority : text);
	free(text);
}

static bool
rule_has_port(json_t *ports, uint16_t port)
{
	json_t *value;
	size_t i;

	json_array_foreach(ports, i, value)
	{
		struct port_range range = { 0, 0 };

		if (json_is_integer(value) && json_integer_value(value) == port)
			return true;
		if (json_is_string(value) &&
		    port_range_parse(json_string_value(value),
			json_string_length(value), &range) == STATUS_OK &&
		    port_ranges_hold(&range, 1, port))
			return true;
	}
	return false;
}

/* A host of a set may listen elsewhere, and then the rule must say so. */
static void
check_ports(const struct work *work, const struct toolhosts *hosts,
    json_t *rule, const struct place *place)
{
	for (size_t i = 0; i < hosts->count; i++) {
		const struct toolhost *host = &hosts->list[i];

		if (host->port == 0 ||
		    rule_has_port(json_object_get(rule, "port"), host->port))
			continue;
		report_add(work->report, place,
		    "list that port under \"port\" of this rule",
		    "%s, of this set, listens on port %u", host->name.text,
		    host->port);
	}
}

/* Writes "@name":["host",…] once for each name. */
static void
add_set(struct work *work, const char *name, const struct toolhosts *hosts)
{
	struct json json = json_to(&work->added);

	json.comma = work->added.used > 0;
	json_open(&json, name, '[');
	for (size_t i = 0; i < hosts->count; i++)
		json_text(&json, NULL, hosts->list[i].name.text);
	if (hosts->count == 0)
		json_text(&json, NULL, no_host);
	json_close(&json, ']');
}

static bool
is_added(const struct work *work, const char *name)
{
	char key[16];
	int length = snprintf(key, sizeof(key), "\"%s\":", name);

	return length > 0 && length < (int)sizeof(key) &&
	       work->added.used > 0 &&
	       memmem(work->added.bytes, work->added.used, key,
		   (size_t)length) != NULL;
}

static void
expand_set(struct work *work, const char *name, json_t *rule,
    const struct place *place)
{
	json_t *own = json_object_get(work->root, "sets");
	struct problem problem;
	struct toolhosts hosts = { 0 };

	if (!sets_is_known(name) || json_object_get(own, name) != NULL)
		return;
	if (sets_of(name, work->writable, work->arg, &hosts, &problem) !=
	    STATUS_OK)
		tell(work, place, &problem);
	check_ports(work, &hosts, rule, place);
	if (!is_added(work, name))
		add_set(work, name, &hosts);
	toolhosts_done(&hosts);
}

static void
expand_rule(struct work *work, json_t *rule, const struct place *place)
{
	const struct place hosts_place = { .above = place, .key = "host" };
	json_t *hosts = json_object_get(rule, "host"), *host;
	size_t i;

	expand_authority(work, rule, place);
	json_array_foreach(hosts, i, host)
	{
		const struct place at = { .above = &hosts_place, .index = i };

		if (json_is_string(host))
			expand_set(work, json_string_value(host), rule, &at);
	}
}

/* Puts the gathered sets in, before the end of the object they belong to. */
static void
place_sets(struct work *work, char *buffer, size_t size)
{
	const struct place sets_place = { .key = "sets" };
	json_t *own = json_object_get(work->root, "sets");
	bool inside = json_is_object(own);
	json_t *object = inside ? own : work->root;
	const char *comma = json_object_size(object) > 0 ? "," : "";
	struct located located;

	if (work->added.used == 0 || (own != NULL && !inside))
		return;
	if (!cursor_written(&work->added) ||
	    snprintf(buffer, size, "%s%s%.*s%s", comma,
		inside ? "" : "\"sets\":{", (int)work->added.used,
		(const char *)work->added.bytes,
		inside ? "" : "}") >= (int)size) {
		report_no_memory(work->report);
		return;
	}
	if (!locate(work->report->text, inside ? &sets_place : NULL, &located))
		return;
	splices_before_end(work->report->text, &located);
	if (!splices_add(&work->splices, &located, buffer))
		report_no_memory(work->report);
}

/* All that is to be put in; problems go to the report. */
static void
gather(struct work *work)
{
	const struct place rules_place = { .key = "rules" };
	json_t *rules = json_object_get(work->root, "rules"), *rule;
	char *buffer = calloc(2, LIMIT_POLICY_BYTES);
	size_t i;

	if (buffer == NULL) {
		report_no_memory(work->report);
		return;
	}
	work->added = cursor_writer_of(buffer, LIMIT_POLICY_BYTES / 2);
	json_array_foreach(rules, i, rule)
	{
		const struct place at = { .above = &rules_place, .index = i };

		expand_rule(work, rule, &at);
	}
	place_sets(work, buffer + LIMIT_POLICY_BYTES / 2, LIMIT_POLICY_BYTES);
	free(buffer);
}

/* Loads the expanded text, and tells problems where the owner finds them. */
static int
load(struct work *work, struct expansion *made, struct problems *reterr)
{
	struct problems problems = { 0 };
	int status;

	if (!splices_apply(&work->splices, work->report->text, &made->text,
		&made->length)) {
		report_no_memory(work->report);
		return STATUS_PROBLEM;
	}
	status = document_load(cursor_of(made->text, made->length), work->path,
	    &made->policy, &problems);
	for (size_t i = 0; i < problems.count; i++) {
		struct problem *problem = &problems.list[i];

		problem->column = splices_column(
		    &work->splices, problem->line, problem->column);
		problems_add(reterr, problem);
	}
	reterr->dropped += problems.dropped;
	problems_done(&problems);
	return status;
}

int
expand_text(struct cursor text, const char *path, sets_writable *writable,
    const void *arg, struct expansion *ret, struct problems *reterr)
{
	const struct report report = { .text = text, .problems = reterr };
	struct work work = { .report = &report,
		.path = path,
		.writable = writable,
		.arg = arg };
	struct expansion made = { 0 };
	size_t before = report_count(&report);
	int status;

	if (text.left <= LIMIT_POLICY_BYTES &&
	    locate_depth(text) <= LIMIT_JSON_DEPTH)
		work.root = json_loadb((const char *)text.at, text.left,
		    JSON_REJECT_DUPLICATES, NULL);
	/* What does not read at all is for the loader to explain. */
	if (json_is_object(work.root))
		gather(&work);
	status = load(&work, &made, reterr);
	splices_done(&work.splices);
	json_decref(work.root);
	if (status != STATUS_OK || report_count(&report) != before) {
		report_sort(reterr);
		expansion_done(&made);
		return STATUS_PROBLEM;
	}
	*ret = made;
	return STATUS_OK;
}

int
expand_file(const char *path, sets_writable *writable, const void *arg,
    struct expansion *ret, struct problems *reterr)
{
	struct problem problem;
	struct cursor text = { 0 };
	int status = owned_read(
	    path, LIMIT_POLICY_BYTES, writable, arg, &text, &problem);

	if (status != STATUS_OK) {
		problems_add(reterr, &problem);
		return status;
	}
	status = expand_text(text, path, writable, arg, ret, reterr);
	free(unconst(text.at));
	return status;
}
