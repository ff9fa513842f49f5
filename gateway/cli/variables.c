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

/* Which of them it is; the count when it is none. */
static size_t
find(const struct variables *variables, const char *name)
{
	size_t at = 0;

	while (at < variables->count &&
	       strcmp(variables->list[at].name, name) != 0)
		at++;
	return at;
}

/* Copies both. */
static int
put(struct variables *variables, const char *name, const char *value,
    struct problem *reterr)
{
	size_t bytes = strlen(name) + strlen(value) + 2;
	struct variable *one = &variables->list[find(variables, name)];

	/* One that is said again counts again: it is a bound, no sum. */
	if (variables->count >= LIMIT_VARIABLES ||
	    bytes > LIMIT_PLAN_ENVIRONMENT - variables->bytes)
		return problem_set(reterr,
		    "with %.80s there are more than %d variables, or %d bytes "
		    "of them (env.invalid)",
		    name, LIMIT_VARIABLES, LIMIT_PLAN_ENVIRONMENT);
	variables->bytes += bytes;
	if (one == &variables->list[variables->count]) {
		one->name = strdup(name);
		variables->count += one->name != NULL;
	}
	free(one->value);
	one->value = one->name == NULL ? NULL : strdup(value);
	return one->value != NULL
		   ? STATUS_OK
		   : problem_set(reterr, "there is no memory for a variable");
}

static int
refuse(const char *name, const char *what, struct problem *reterr)
{
	(void)problem_set(reterr,
	    "%s would hand the sandbox %s of this shell (env.credential)", name,
	    what);
	return problem_cure(reterr,
	    "if it is meant, write the value out: %s=VALUE; a key belongs "
	    "into the credential file",
	    name);
}

/* Whether a variable named alone takes the caller's value. */
static int
check_pass(const char *name, struct problem *reterr)
{
	if (is_listed(name, secret_names, COUNT(secret_names)))
		return refuse(name, "what looks like a credential", reterr);
	if (is_listed(name, loader_names, COUNT(loader_names)))
		return refuse(name, "what programs load or reach", reterr);
	return STATUS_OK;
}

static int
check_name(const char *text, size_t length, struct problem *reterr)
{
	if (length <= LIMIT_VARIABLE_NAME && is_name(text, length))
		return STATUS_OK;
	(void)problem_set(reterr,
	    "\"%.80s\" does not begin with the name of a variable "
	    "(env.invalid)",
	    text);
	return problem_cure(
	    reterr, "use letters, digits and underscores, as in NAME=VALUE");
}

int
variables_pass(
    struct variables *variables, const char *name, struct problem *reterr)
{
	const char *value = secure_getenv(name);
	int status = check_name(name, strlen(name), reterr);

	if (status == STATUS_OK)
		status = check_pass(name, reterr);
	if (status != STATUS_OK)
		return status;
	if (value != NULL)
		return put(variables, name, value, reterr);
	(void)problem_set(reterr, "%s is not set here (env.invalid)", name);
	return problem_cure(reterr, "set it, or write its value out");
}

int
variables_set(struct variables *variables, const char *name, const char *value,
    struct problem *reterr)
{
	int status = check_name(name, strlen(name), reterr);

	return status == STATUS_OK ? put(variables, name, value, reterr)
				   : status;
}

int
variables_add(
    struct variables *variables, const char *text, struct problem *reterr)
{
	const char *equals = strchr(text, '=');
	size_t length = equals == NULL ? strlen(text) : (size_t)(equals - text);
	char name[LIMIT_VARIABLE_NAME + 1];
	int status = check_name(text, length, reterr);

	if (status != STATUS_OK)
		return status;
	memcpy(name, text, length);
	name[length] = '\0';
	return equals == NULL ? variables_pass(variables, name, reterr)
			      : put(variables, name, equals + 1, reterr);
}

int
variables_add_defaults(struct variables *variables, struct problem *reterr)
{
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < COUNT(defaults); i++) {
		const char *value = secure_getenv(defaults[i]);

		if (value != NULL &&
		    find(variables, defaults[i]) == variables->count)
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
