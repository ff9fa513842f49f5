#include "broker/catalog.h"

#include "broker/agent.h"
#include "broker/kinds.h"
#include "broker/reading.h"
#include "broker/vault.h"
#include "schema/status.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct catalog {
	char *text; /* to say where things stand in it */
	size_t length;
	char *issuer;
	struct credential *list;
	size_t count;
	bool needed[LIMIT_CREDENTIALS];
	struct agents agents;
	struct reading_urls endpoints;
	struct vault vault;
};

static const char *const top_keys[] = { "$schema", "version", "note", "issuer",
	"credentials", "identities", NULL };

static const char *const entry_keys[] = { "kind", "note", "source", "hosts",
	"placeholder", NULL };

void
catalog_free(struct catalog *catalog)
{
	if (catalog == NULL)
		return;
	for (size_t i = 0; i < catalog->count; i++) {
		struct credential *credential = &catalog->list[i];

		if (credential->mint->free != NULL)
			credential->mint->free(credential->config);
		scope_done(&credential->scope);
		source_done(&credential->source);
	}
	free(catalog->list);
	agents_done(&catalog->agents);
	vault_done(&catalog->vault);
	reading_urls_done(&catalog->endpoints);
	free(catalog->issuer);
	free(catalog->text);
	free(catalog);
}

/* ---- one credential ---- */

static const struct mint *
read_kind(const struct reading *reading)
{
	const char *kind = reading_text(reading, "kind", READING_REQUIRED, 64);
	const struct mint *mint = kind == NULL ? NULL : kinds_find(kind);

	if (kind != NULL && mint == NULL)
		reading_blame(reading, "kind",
		    "exeat-credentials(5) lists the kinds",
		    "\"%.60s\" is no kind of credential", kind);
	return mint;
}

static void
read_hosts(const struct reading *reading, struct credential *credential)
{
	enum reading_need need =
	    credential->mint->has_hosts ? READING_REQUIRED : READING_OPTIONAL;
	json_t *hosts = reading_texts(reading, "hosts", need, LIMIT_HOST + 8);
	struct place list = { .above = reading->place, .key = "hosts" };
	json_t *item;
	size_t i;

	json_array_foreach(hosts, i, item)
	{
		struct place at = { .above = &list, .index = i };
		const char *text = json_string_value(item);
		int status = scope_add(&credential->scope, text);

		if (status == STATUS_FULL)
			report_add(reading->report, &at, "",
			    "there are more than %d hosts",
			    LIMIT_CREDENTIAL_HOSTS);
		else if (status == STATUS_NO_MEMORY)
			report_no_memory(reading->report);
		else if (status != STATUS_OK)
			report_add(reading->report, &at,
			    "write a host as in api.example.com, "
			    "*.example.com or api.example.com:8443",
			    "\"%.100s\" is no host", text);
		if (status == STATUS_FULL || status == STATUS_NO_MEMORY)
			break;
	}
}

static void
read_source(const struct reading *reading, struct credential *credential)
{
	const struct mint *mint = credential->mint;
	bool there = json_object_get(reading->object, "source") != NULL;

	if (there && !mint->has_source)
		reading_blame(reading, "source", "take it out",
		    "a credential of kind %s stores no secret", mint->kind);
	else if (!there && mint->has_source && !mint->may_lack_source)
		reading_blame(reading, NULL,
		    "add \"source\": {\"file\": \"path\"}",
		    "nothing says where its secret comes from");
	else if (there)
		(void)!source_parse(reading, &credential->source);
}

/* Where it may stand besides the place that the kind has for it. */
static void
read_stead(const struct reading *reading, struct credential *credential)
{
	static const char *const words[] = { "path", "query", "body" };
	json_t *list = reading_texts(reading, "in", READING_OPTIONAL, 8);
	struct place all = { .above = reading->place, .key = "in" };
	size_t i, used = 0;
	json_t *item;

	json_array_foreach(list, i, item)
	{
		struct place at = { .above = &all, .index = i };
		const char *word = json_string_value(item);
		size_t which = 0;

		while (which < 3 && strcmp(words[which], word) != 0)
			which++;
		if (which == 3 ||
		    strchr(credential->stead, words[which][0]) != NULL) {
			report_add(reading->report, &at,
			    "write \"path\", \"query\" or \"body\", each once",
			    "no placeholder stands in \"%.20s\"", word);
			return;
		}
		credential->stead[used++] = words[which][0];
	}
}

/* An AWS SDK signs with what it is told there, Google's sends it. */
static void
read_metadata(const struct reading *reading, const struct mint *mint)
{
	const char *cloud =
	    reading_text(reading, "metadata", READING_OPTIONAL, 8);
	bool signs = strcmp(mint->kind, "sigv4") == 0 ||
		     strcmp(mint->kind, "aws_web_identity") == 0;

	if (cloud == NULL)
		return;
	if (strcmp(cloud, "aws") != 0 && strcmp(cloud, "gcp") != 0)
		reading_blame(reading, "metadata", "write \"aws\" or \"gcp\"",
		    "no metadata service of \"%.8s\" has a look-alike", cloud);
	else if (signs != (strcmp(cloud, "aws") == 0))
		reading_blame(reading, "metadata",
		    "\"aws\" is for kinds that sign, \"gcp\" for the others",
		    "a credential of kind %s is not for the SDKs of \"%.8s\"",
		    mint->kind, cloud);
}

/* It is the command that makes it; here it is only looked at. */
static void
read_placeholder(const struct reading *reading, struct credential *credential)
{
	static const char *const keys[] = { "env", "secret_env", "shape", "in",
		"metadata", NULL };
	struct place place;
	struct reading inner;
	enum reading_need need;

	if (!reading_object(
		reading, "placeholder", READING_OPTIONAL, &place, &inner))
		return;
	reading_known(&inner, keys, NULL);
	need = json_object_get(inner.object, "metadata") == NULL
		   ? READING_REQUIRED
		   : READING_OPTIONAL;
	(void)!reading_text(&inner, "env", need, LIMIT_VARIABLE_NAME);
	(void)!reading_text(
	    &inner, "secret_env", READING_OPTIONAL, LIMIT_VARIABLE_NAME);
	(void)!reading_text(&inner, "shape", READING_OPTIONAL, 32);
	read_stead(&inner, credential);
	read_metadata(&inner, credential->mint);
}

static void
read_credential(
    struct catalog *catalog, const struct reading *reading, const char *name)
{
	struct credential *credential = &catalog->list[catalog->count];
	const struct mint *mint;

	if (!reading_is_name(name)) {
		reading_blame(reading, NULL,
		    "use at most 64 letters, digits, \"-\", \"_\" and \".\"",
		    "\"%.100s\" is no name of a credential", name);
		return;
	}
	mint = read_kind(reading);
	if (mint == NULL)
		return;
	*credential = (struct credential){ .mint = mint };
	memcpy(credential->name, name, strlen(name) + 1);
	catalog->count++;
	reading_known(reading, entry_keys, mint->keys);
	read_hosts(reading, credential);
	read_source(reading, credential);
	read_placeholder(reading, credential);
	credential->config = mint->read == NULL ? NULL : mint->read(reading);
}

/* What a vault holds may be the secret of another kind. */
static void
find_origin(struct catalog *catalog, const struct report *report,
    struct credential *credential)
{
	struct place all = { .key = "credentials" };
	struct place one = { .above = &all, .key = credential->name };
	struct place at = { .above = &one, .key = "source" };
	const struct credential *origin;

	if (credential->source.kind != SOURCE_CREDENTIAL)
		return;
	origin = catalog_find(catalog, credential->source.name);
	if (origin != NULL && strcmp(origin->mint->kind, "vault") == 0 &&
	    strcmp(credential->mint->kind, "vault") != 0) {
		credential->origin = origin;
		return;
	}
	report_add(report, &at,
	    "name a credential of kind vault; one of kind vault needs a "
	    "source of another form",
	    "no secret comes from \"%.64s\"", credential->source.name);
}

/* ---- the file ---- */

static void
read_credentials(struct catalog *catalog, const struct reading *top)
{
	struct place place = { .key = "credentials" }, at;
	struct reading all, one;
	const char *name;
	json_t *value;

	if (!reading_object(top, "credentials", READING_REQUIRED, &place, &all))
		return;
	if (json_object_size(all.object) > LIMIT_CREDENTIALS) {
		reading_blame(&all, NULL, "",
		    "there are more than %d credentials", LIMIT_CREDENTIALS);
		return;
	}
	catalog->list =
	    calloc(json_object_size(all.object) + 1, sizeof(*catalog->list));
	if (catalog->list == NULL) {
		report_no_memory(top->report);
		return;
	}
	json_object_foreach(all.object, name, value)
	{
		(void)value;
		if (reading_object(&all, name, READING_REQUIRED, &at, &one))
			read_credential(catalog, &one, name);
	}
	for (size_t i = 0; i < catalog->count; i++)
		find_origin(catalog, top->report, &catalog->list[i]);
}

static void
read_top(struct catalog *catalog, const struct reading *top)
{
	json_int_t version = 0;
	uint16_t endpoint;
	const char *issuer;

	if (!json_is_object(top->object)) {
		report_add(top->report, NULL,
		    "write {\"version\": 1, \"credentials\": {}}",
		    "a credential file must be an object");
		return;
	}
	reading_known(top, top_keys, NULL);
	if (reading_value(top, "version", READING_REQUIRED) != NULL)
		(void)!reading_integer(top, "version", 1, 1, &version);
	issuer =
	    reading_text(top, "issuer", READING_OPTIONAL, LIMIT_ERRAND_URL);
	/* The same spelling as an endpoint's; nothing is ever fetched from it.
	 */
	if (issuer != NULL) {
		struct reading_urls aside = { .count = 0 };
		struct reading reading = *top;

		reading.endpoints = &aside;
		if (reading_endpoint(&reading, "issuer", issuer, &endpoint))
			catalog->issuer = strdup(issuer);
		reading_urls_done(&aside);
	}
	read_credentials(catalog, top);
	agents_read(top, &catalog->agents);
}

static json_t *
parse(const struct report *report)
{
	json_error_t error;
	json_t *root;

	if (report->text.left > LIMIT_CREDENTIALS_BYTES) {
		report_at(report, 0, 0,
		    "the credential file has more than %d bytes",
		    LIMIT_CREDENTIALS_BYTES);
		return NULL;
	}
	if (locate_depth(report->text) > LIMIT_JSON_DEPTH) {
		report_at(report, 0, 0,
		    "objects and lists stand more than %d deep in each other",
		    LIMIT_JSON_DEPTH);
		return NULL;
	}
	root = json_loadb((const char *)report->text.at, report->text.left,
	    JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (root == NULL)
		report_at(report, error.line < 0 ? 0 : (unsigned)error.line,
		    error.column < 0 ? 0 : (unsigned)error.column,
		    "this is no JSON: %s", error.text);
	return root;
}

int
catalog_load(struct cursor text, struct catalog **ret, struct problems *reterr)
{
	const struct report report = { .text = text, .problems = reterr };
	struct catalog *catalog = calloc(1, sizeof(*catalog));
	struct reading top = { .report = &report };
	size_t before = report_count(&report);

	if (catalog != NULL && text.left > 0)
		catalog->text = malloc(text.left);
	if (catalog == NULL || catalog->text == NULL ||
	    vault_init(&catalog->vault) != STATUS_OK) {
		report_no_memory(&report);
		catalog_free(catalog);
		return STATUS_PROBLEM;
	}
	memcpy(catalog->text, text.at, text.left);
	catalog->length = text.left;
	top.endpoints = &catalog->endpoints;
	top.object = parse(&report);
	if (top.object != NULL)
		read_top(catalog, &top);
	json_decref(top.object);
	if (report_count(&report) == before) {
		*ret = catalog;
		return STATUS_OK;
	}
	catalog_free(catalog);
	report_sort(reterr);
	return STATUS_PROBLEM;
}

/* ---- what is in it ---- */

size_t
catalog_count(const struct catalog *catalog)
{
	return catalog->count;
}

const struct credential *
catalog_at(const struct catalog *catalog, size_t number)
{
	return number < catalog->count ? &catalog->list[number] : NULL;
}

const struct credential *
catalog_find(const struct catalog *catalog, const char *name)
{
	for (size_t i = 0; i < catalog->count; i++)
		if (strcmp(catalog->list[i].name, name) == 0)
			return &catalog->list[i];
	return NULL;
}

size_t
catalog_number(
    const struct catalog *catalog, const struct credential *credential)
{
	return (size_t)(credential - catalog->list);
}

const char *
catalog_issuer(const struct catalog *catalog)
{
	return catalog->issuer;
}

const struct agents *
catalog_agents(const struct catalog *catalog)
{
	return &catalog->agents;
}

bool
catalog_endpoint(
    const struct catalog *catalog, size_t number, struct errand_endpoint *ret)
{
	if (number >= catalog->endpoints.count)
		return false;
	*ret = catalog->endpoints.list[number];
	return true;
}

/* ---- what a run is to have ---- */

int
catalog_need(struct catalog *catalog, const char *name)
{
	/* One whose secret another one mints needs that one too. */
	for (size_t i = 0; i <= catalog->count; i++) {
		const struct credential *credential =
		    catalog_find(catalog, name);

		if (credential == NULL)
			return STATUS_NOT_FOUND;
		catalog->needed[catalog_number(catalog, credential)] = true;
		if (credential->source.kind != SOURCE_CREDENTIAL)
			return STATUS_OK;
		name = credential->source.name;
	}
	return STATUS_NOT_FOUND;
}

void
catalog_need_all(struct catalog *catalog)
{
	for (size_t i = 0; i < catalog->count; i++)
		catalog->needed[i] = true;
}

bool
catalog_is_needed(
    const struct catalog *catalog, const struct credential *credential)
{
	return catalog->needed[catalog_number(catalog, credential)];
}

static bool
is_wanted(const struct catalog *catalog, size_t number)
{
	return number < catalog->count && catalog->needed[number] &&
	       catalog->list[number].source.kind == SOURCE_GIVEN &&
	       catalog->list[number].secret == NULL;
}

bool
catalog_want(
    const struct catalog *catalog, size_t *at, struct brokerage_want *ret)
{
	const struct source *source;
	size_t length;

	while (*at < catalog->count && !is_wanted(catalog, *at))
		(*at)++;
	if (*at == catalog->count)
		return false;
	source = &catalog->list[*at].source;
	length = strlen(source->name);
	ret->number = (uint16_t)*at;
	ret->source = source->from;
	memcpy(ret->name, source->name, length + 1);
	(*at)++;
	return true;
}

/* Says it at the place in the file where the source stands. */
static void
blame_source(const struct catalog *catalog, size_t number,
    const struct problem *problem, struct problems *reterr)
{
	const struct credential *credential = &catalog->list[number];
	const struct report report = {
		.text = cursor_of(catalog->text, catalog->length),
		.problems = reterr,
	};
	struct place all = { .key = "credentials" };
	struct place one = { .above = &all, .key = credential->name };
	struct place at = { .above = &one, .key = "source" };

	report_add(&report, &at, problem->cure,
	    "the secret of %s, %s %.200s: %s", credential->name,
	    brokerage_source_name(credential->source.from),
	    credential->source.name, problem->text);
}

static int
take_secret(struct catalog *catalog, size_t number, struct secret *secret,
    struct problem *reterr)
{
	struct credential *credential = &catalog->list[number];

	credential->secret =
	    vault_put(&catalog->vault, credential->name, secret);
	if (credential->secret == NULL)
		return problem_set(reterr, "there is no memory for it");
	if (credential->mint->check == NULL)
		return STATUS_OK;
	return credential->mint->check(credential, reterr);
}

int
catalog_give(
    struct catalog *catalog, size_t number, int fd, struct problems *reterr)
{
	struct secret *secret = NULL;
	struct problem problem = { .text = "" };
	int status;

	if (!is_wanted(catalog, number))
		return STATUS_REFUSED;
	status = source_read(
	    catalog->list[number].source.from, fd, &secret, &problem);
	if (status == STATUS_OK)
		status = take_secret(catalog, number, secret, &problem);
	if (status != STATUS_OK)
		blame_source(catalog, number, &problem, reterr);
	return status;
}

int
catalog_lack(struct catalog *catalog, size_t number,
    const struct problem *problem, struct problems *reterr)
{
	if (!is_wanted(catalog, number))
		return STATUS_REFUSED;
	blame_source(catalog, number, problem, reterr);
	return STATUS_OK;
}
