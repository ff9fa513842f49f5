#include "gateway/cli/variables.h"

#include "schema/limits.h"
#include "schema/status.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const char *const defaults[] = { "LANG", "TERM", "TZ" };

/* Names that tell of a credential, wherever the word stands in them. */
static const char *const secret_names[] = { "*TOKEN*", "*SECRET*", "*PASSWORD*",
	"*PASSWD*", "*PASSPHRASE*", "*KEY*", "*AUTH*", "*CREDENTIAL*",
	"*COOKIE*", "*SESSION*", "*DSN*", "*DATABASE_URL*" };

/* Names that make programs load code, or talk to somebody outside. */
static const char *const loader_names[] = { "LD_*", "BASH_ENV", "ENV",
	"NODE_OPTIONS", "PYTHON*", "PERL5*", "RUBY*", "JAVA_TOOL_OPTIONS",
	"GIT_*", "SSH_*", "DOCKER_HOST", "DBUS_*", "XDG_RUNTIME_DIR",
	"KUBECONFIG", "*_PROXY" };

static bool
is_listed(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fnmatch(list[i], name, FNM_CASEFOLD) == 0)
			return true;
	return false;
}

static bool
is_name(const char *text, size_t length)
{
	if (length == 0 || isdigit((unsigned char)text[0]))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return false;
	return true;
}

static struct variable *
find(struct variables *variables, const char *name)
{
	for (size_t i = 0; i < variables->count; i++)
		if (strcmp(variables->list[i].name, name) == 0)
			return &variables->list[i];
	return NULL;
}

/* Copies both. */
static int
put(struct variables *variables, const char *name, const char *value,
    struct problem *reterr)
{
	struct variable *one = find(variables, name);
	char *copy = strdup(value);

	if (copy == NULL)
		return problem_set(reterr, "there is no memory for a variable");
	if (one != NULL) {
		free(one->value);
		one->value = copy;
		return STATUS_OK;
	}
	if (variables->count >= LIMIT_VARIABLES) {
		free(copy);
		return problem_set(reterr, "more than %d variables are named",
		    LIMIT_VARIABLES);
	}
	one = &variables->list[variables->count];
	one->value = copy;
	one->name = strdup(name);
	if (one->name == NULL) {
		free(STEAL(one->value));
		return problem_set(reterr, "there is no memory for a variable");
	}
	variables->count++;
	return STATUS_OK;
}

static int
refuse(const char *name, const char *what, struct problem *reterr)
{
	(void)problem_set(reterr,
	    "--env %s would hand the sandbox %s of this shell", name, what);
	return problem_cure(reterr,
	    "if it is meant, write the value out: --env %s=VALUE", name);
}

/* The caller's value of a variable named alone. */
static int
look_up(const char *name, const char **ret, struct problem *reterr)
{
	const char *value;

	if (is_listed(name, secret_names, COUNT(secret_names)))
		return refuse(name, "what looks like a credential", reterr);
	if (is_listed(name, loader_names, COUNT(loader_names)))
		return refuse(name, "what programs load or reach", reterr);
	value = secure_getenv(name);
	if (value == NULL) {
		(void)problem_set(reterr, "--env %s: it is not set here", name);
		return problem_cure(
		    reterr, "set it, or write --env %s=VALUE", name);
	}
	*ret = value;
	return STATUS_OK;
}

int
variables_add(
    struct variables *variables, const char *text, struct problem *reterr)
{
	const char *equals = strchr(text, '=');
	size_t length = equals == NULL ? strlen(text) : (size_t)(equals - text);
	const char *value = equals == NULL ? "" : equals + 1;
	char name[LIMIT_VARIABLE_NAME + 1];
	int status = STATUS_OK;

	if (length > LIMIT_VARIABLE_NAME || !is_name(text, length)) {
		(void)problem_set(reterr,
		    "--env %.80s does not begin with the name of a variable",
		    text);
		return problem_cure(reterr, "write --env NAME=VALUE");
	}
	memcpy(name, text, length);
	name[length] = '\0';
	if (equals == NULL)
		status = look_up(name, &value, reterr);
	if (status != STATUS_OK)
		return status;
	return put(variables, name, value, reterr);
}

int
variables_add_defaults(struct variables *variables, struct problem *reterr)
{
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < COUNT(defaults); i++) {
		const char *value = secure_getenv(defaults[i]);

		if (value != NULL && find(variables, defaults[i]) == NULL)
			status = put(variables, defaults[i], value, reterr);
	}
	return status;
}

void
variables_done(struct variables *variables)
{
	if (variables == NULL)
		return;
	for (size_t i = 0; i < variables->count; i++) {
		free(variables->list[i].name);
		free(variables->list[i].value);
	}
	*variables = (struct variables){ .count = 0 };
}
