#include "gateway/cli/lookalike.h"

#include "gateway/cli/credfile.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "abcdefghijklmnopqrstuvwxyz0123456789";
static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/* What programs check of a key before they send it. */
static const struct shape {
	const char *prefix;
	size_t length; /* behind it */
	const char *alphabet;
} shapes[] = {
	{ "ghp_", 36, letters },
	{ "ghs_", 36, letters },
	{ "gho_", 36, letters },
	{ "glpat-", 20, letters },
	{ "sk-ant-", 95, letters },
	{ "sk-", 48, letters },
	{ "AKIA", 16, capitals },
	{ "ASIA", 16, capitals },
};

/* By its word in the file, and what its keys begin with. */
static const struct {
	const char *word, *shape;
} clouds[] = {
	[ORDER_CLOUD_NONE] = { "", "" },
	[ORDER_CLOUD_AWS] = { "aws", "ASIA" },
	[ORDER_CLOUD_GCP] = { "gcp", "ya29." },
};
static_assert(sizeof(clouds) / sizeof(clouds[0]) == ORDER_CLOUD_COUNT,
    "each cloud has its word");

enum {
	ANY_LENGTH = 40, /* of a prefix that is not in the list */
	PREFIX_MAX = 32,
	AWS_SECRET = 40
};

void
lookalikes_done(struct lookalikes *lookalikes)
{
	free(STEAL(lookalikes->list));
	lookalikes->count = 0;
}

static const struct shape *
find_shape(const char *prefix)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (strcmp(shapes[i].prefix, prefix) == 0)
			return &shapes[i];
	return NULL;
}

/* Each of length letters by chance, none more likely than another. */
static int
draw(const char *alphabet, size_t length, char *out)
{
	size_t count = strlen(alphabet), least = 256 - 256 % count;

	for (size_t i = 0; i < length; i++) {
		unsigned char byte;

		do {
			if (getrandom(&byte, 1, 0) != 1)
				return STATUS_SYSTEM;
		} while (byte >= least);
		out[i] = alphabet[byte % count];
	}
	out[length] = '\0';
	return STATUS_OK;
}

static int
make_value(const char *prefix, char out[LIMIT_PLACEHOLDER + 1])
{
	const struct shape *shape = find_shape(prefix);
	size_t used = strlen(prefix);

	if (used > PREFIX_MAX)
		return STATUS_TOO_LONG;
	memcpy(out, prefix, used + 1);
	return draw(shape == NULL ? letters : shape->alphabet,
	    shape == NULL ? ANY_LENGTH : shape->length, out + used);
}

/* Somebody's own value stays. */
static int
set(struct variables *variables, const char *name, const char *value,
    struct problem *reterr)
{
	char text[LIMIT_VARIABLE_NAME + LIMIT_PLACEHOLDER + 2];
	int length;

	for (size_t i = 0; i < variables->count; i++)
		if (strcmp(variables->list[i].name, name) == 0)
			return STATUS_OK;
	length = snprintf(text, sizeof(text), "%s=%s", name, value);
	if (length < 0 || (size_t)length >= sizeof(text))
		return problem_set(
		    reterr, "the variable %.100s is too long", name);
	return variables_add(variables, text, reterr);
}

static struct order_lure *
next(struct lookalikes *lookalikes, const char *credential)
{
	struct order_lure *lure;

	if (lookalikes->list == NULL || lookalikes->count == LIMIT_NEEDLES)
		return NULL;
	lure = &lookalikes->list[lookalikes->count++];
	*lure = (struct order_lure){ .signs = false };
	memcpy(lure->credential, credential, strlen(credential) + 1);
	return lure;
}

static const char *
text_of(json_t *placeholder, const char *key)
{
	return json_string_value(json_object_get(placeholder, key));
}

static enum order_cloud
cloud_of(json_t *placeholder)
{
	const char *word = text_of(placeholder, "metadata");

	for (size_t i = 0; word != NULL && i < ORDER_CLOUD_COUNT; i++)
		if (strcmp(clouds[i].word, word) == 0)
			return (enum order_cloud)i;
	return ORDER_CLOUD_NONE;
}

/* One credential for one service: an SDK takes what it is told. */
static int
join_cloud(struct lookalikes *lookalikes, struct order_lure *lure,
    enum order_cloud cloud, struct problem *reterr)
{
	for (size_t i = 0; i < lookalikes->count; i++) {
		const struct order_lure *other = &lookalikes->list[i];

		if (cloud == ORDER_CLOUD_NONE || other->cloud != cloud)
			continue;
		(void)problem_set(reterr,
		    "%s and %s would both be told by the metadata service of "
		    "%s",
		    other->credential, lure->credential, clouds[cloud].word);
		return problem_cure(
		    reterr, "take \"metadata\" out of one of them");
	}
	lure->cloud = cloud;
	return STATUS_OK;
}

/* The key that belongs to a placeholder that is signed with. */
static int
make_secret(struct lookalikes *lookalikes, struct variables *variables,
    const struct order_lure *lure, const char *env, struct problem *reterr)
{
	struct order_lure *secret = next(lookalikes, lure->credential);

	if (secret == NULL ||
	    draw(letters, AWS_SECRET, secret->value) != STATUS_OK)
		return problem_set(reterr, "no placeholder can be made for %s",
		    lure->credential);
	secret->signs = true;
	secret->cloud = lure->cloud;
	return env == NULL ? STATUS_OK
			   : set(variables, env, secret->value, reterr);
}

static int
make_one(struct lookalikes *lookalikes, struct variables *variables,
    const char *credential, json_t *placeholder, struct problem *reterr)
{
	const char *env = text_of(placeholder, "env");
	const char *secret_env = text_of(placeholder, "secret_env");
	const char *prefix = text_of(placeholder, "shape");
	enum order_cloud cloud = cloud_of(placeholder);
	struct order_lure *lure = next(lookalikes, credential);
	int status = STATUS_OK;

	if (prefix == NULL)
		prefix = clouds[cloud].shape;
	if (lure == NULL || make_value(prefix, lure->value) != STATUS_OK)
		return problem_set(
		    reterr, "no placeholder can be made for %s", credential);
	status = join_cloud(lookalikes, lure, cloud, reterr);
	if (status == STATUS_OK && env != NULL)
		status = set(variables, env, lure->value, reterr);
	if (status == STATUS_OK &&
	    (secret_env != NULL || cloud == ORDER_CLOUD_AWS))
		status = make_secret(
		    lookalikes, variables, lure, secret_env, reterr);
	/* Older SDKs know the container's service by this path alone. */
	if (status == STATUS_OK && cloud == ORDER_CLOUD_AWS && env == NULL)
		status =
		    set(variables, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
			"/v1/aws", reterr);
	return status;
}

int
lookalikes_make(const char *file, const struct needs *needs,
    struct variables *variables, struct lookalikes *ret, struct problem *reterr)
{
	struct lookalikes lookalikes = { .count = 0 };
	int status = STATUS_OK;
	json_t *root;

	*ret = lookalikes;
	root = needs->count == 0 ? NULL : credfile_load(file);
	if (root == NULL)
		return STATUS_OK;
	lookalikes.list = calloc(LIMIT_NEEDLES, sizeof(*lookalikes.list));
	if (lookalikes.list == NULL)
		status = problem_set(reterr, "no memory for placeholders");
	for (size_t i = 0; status == STATUS_OK && i < needs->count; i++) {
		json_t *placeholder = json_object_get(
		    credfile_find(root, needs->names[i]), "placeholder");

		if (json_is_object(placeholder))
			status = make_one(&lookalikes, variables,
			    needs->names[i], placeholder, reterr);
	}
	json_decref(root);
	if (status == STATUS_OK)
		*ret = lookalikes;
	else
		lookalikes_done(&lookalikes);
	return status;
}
