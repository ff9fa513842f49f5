#include "broker/mint_vault.h"

#include "broker/issued.h"
#include "broker/parcel.h"
#include "broker/reading.h"
#include "broker/subject.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WORD_MAX = 200,
	/* What it reads does not change by the minute, but may be renewed. */
	LEASE_MS = 900000
};

struct vault_place {
	uint16_t login, read, logout; /* endpoints */
	char *role, *header;
	char path[WORD_MAX + 16]; /* of the value in the answer */
};

enum vault_step {
	VAULT_LOGIN,
	VAULT_READ,
	VAULT_LOGOUT
};

struct vault_state {
	enum vault_step step;
	struct parcel *parcel;
	struct secret *token;
};

static void
free_place(void *arg)
{
	struct vault_place *place = arg;

	if (place == NULL)
		return;
	free(place->role);
	free(place->header);
	free(place);
}

static void
forget(void *arg)
{
	struct vault_state *state = arg;

	if (state == NULL)
		return;
	parcel_free(state->parcel);
	secret_free(state->token);
	free(state);
}

static void
read_endpoint(const struct reading *reading, const char *shape,
    const char *middle, uint16_t *ret)
{
	const char *address = reading_text(
	    reading, "address", READING_OPTIONAL, LIMIT_ERRAND_URL / 2);
	char url[LIMIT_ERRAND_URL + 1];

	if (address == NULL || middle == NULL)
		return;
	if (snprintf(url, sizeof(url), "%s/v1/%s%s%s", address, shape, middle,
		shape[0] == '\0' || strcmp(shape, "auth/token/") == 0
		    ? ""
		    : "/login") > 0)
		(void)!reading_endpoint(reading, "address", url, ret);
}

static void *
read_place(const struct reading *reading)
{
	struct vault_place *place = calloc(1, sizeof(*place));
	const char *mount =
	    reading_text(reading, "mount", READING_OPTIONAL, WORD_MAX);
	const char *role =
	    reading_text(reading, "role", READING_REQUIRED, WORD_MAX);
	const char *path =
	    reading_text(reading, "path", READING_REQUIRED, WORD_MAX);
	const char *field =
	    reading_text(reading, "field", READING_REQUIRED, WORD_MAX);
	const char *header = reading_text(
	    reading, "header", READING_OPTIONAL, LIMIT_GRANT_FIELD_NAME);

	if (place == NULL)
		return NULL;
	(void)!reading_text(
	    reading, "address", READING_REQUIRED, LIMIT_ERRAND_URL / 2);
	read_endpoint(
	    reading, "auth/", mount == NULL ? "jwt" : mount, &place->login);
	read_endpoint(reading, "", path, &place->read);
	read_endpoint(reading, "auth/token/", "revoke-self", &place->logout);
	place->role = role == NULL ? NULL : strdup(role);
	place->header = header == NULL ? NULL : strdup(header);
	/* The second version of KV, where the path has "/data/" in it. */
	if (field != NULL && path != NULL &&
	    snprintf(place->path, sizeof(place->path), "%s%s",
		strstr(path, "/data/") != NULL ? "data/data/" : "data/",
		field) < 0)
		place->path[0] = '\0';
	return place;
}

static enum mint_step
no_memory(struct mint_work *work)
{
	return mint_refuse(
	    work, "no memory to ask for %s", work->credential->name);
}

static enum mint_step
begin_login(struct mint_work *work)
{
	const struct vault_place *place = work->credential->config;
	struct cursor token = subject_token(work);
	struct vault_state *state;
	struct json *j;

	if (token.left == 0)
		return MINT_REFUSED;
	state = calloc(1, sizeof(*state));
	if (state == NULL)
		return no_memory(work);
	work->state = state;
	state->parcel = parcel_new(place->login, ERRAND_POST);
	j = parcel_json(state->parcel);
	if (j != NULL) {
		json_open(j, NULL, '{');
		json_text(j, "role", place->role);
		json_bytes(j, "jwt", token);
		json_close(j, '}');
	}
	parcel_want(state->parcel, "token", "auth/client_token");
	issued_want(state->parcel);
	return issued_send(work, state->parcel);
}

/* The next exchange, with the token of the login. */
static enum mint_step
go_on(struct mint_work *work, enum vault_step step, uint16_t endpoint,
    enum errand_method method)
{
	const struct vault_place *place = work->credential->config;
	struct vault_state *state = work->state;

	state->step = step;
	parcel_free(state->parcel);
	state->parcel = parcel_new(endpoint, method);
	parcel_field(
	    state->parcel, "x-vault-token", "", secret_bytes(state->token));
	if (step == VAULT_READ)
		parcel_want(state->parcel, "value", place->path);
	issued_want(state->parcel);
	return issued_send(work, state->parcel);
}

static enum mint_step
take_login(struct mint_work *work, const struct errand_answer *answer)
{
	const struct vault_place *place = work->credential->config;
	struct vault_state *state = work->state;
	struct cursor token;

	if (!errand_answer_find(answer, "token", &token) || token.left == 0)
		return mint_refuse(work, "the vault of %s gave no token",
		    work->credential->name);
	state->token = secret_new(token);
	if (state->token == NULL)
		return no_memory(work);
	return go_on(work, VAULT_READ, place->read, ERRAND_GET);
}

static enum mint_step
take_value(struct mint_work *work, const struct errand_answer *answer)
{
	const struct vault_place *place = work->credential->config;
	struct cursor value;
	enum mint_step step;

	if (!errand_answer_find(answer, "value", &value) || value.left == 0)
		return mint_refuse(work, "the vault has no such field of %s",
		    work->credential->name);
	work->grant->lease_ms = LEASE_MS;
	step = place->header != NULL
		   ? issued_header(work, place->header, "", value)
		   : issued_header(work, "authorization", "Bearer ", value);
	if (step != MINT_GRANTED)
		return step;
	return go_on(work, VAULT_LOGOUT, place->logout, ERRAND_POST);
}

static enum mint_step
resume_vault(struct mint_work *work, const struct errand_answer *answer)
{
	const struct vault_state *state = work->state;

	/* A login that is not taken back runs out by itself. */
	if (state->step == VAULT_LOGOUT)
		return MINT_GRANTED;
	if (!issued_well(work, answer))
		return MINT_REFUSED;
	return state->step == VAULT_LOGIN ? take_login(work, answer)
					  : take_value(work, answer);
}

const struct mint mint_vault = {
	.kind = "vault",
	.has_source = true,
	.keys = (const char *const[]){ "address", "mount", "role", "path",
	    "field", "header", "ca", NULL },
	.read = read_place,
	.free = free_place,
	.begin = begin_login,
	.resume = resume_vault,
	.forget = forget,
};
