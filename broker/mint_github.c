#include "broker/mint_github.h"

#include "broker/base64.h"
#include "broker/issued.h"
#include "broker/mint_jwt.h"
#include "broker/parcel.h"
#include "broker/reading.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	REPOSITORY_MAX = 100,
	REPOSITORIES_MAX = 500, /* GitHub's own limit */
	NAME_BYTES = 24,
	/* GitHub takes ten minutes at most, by its own clock. */
	ASSERTION_S = 540,
	CLOCK_S = 60
};

static const char git_user[] = "x-access-token:";

struct github {
	uint16_t issue, revoke; /* endpoints */
	char app_id[NAME_BYTES];
	json_t *repositories, *permissions;
};

struct github_state {
	struct parcel *parcel;
};

static void
free_github(void *arg)
{
	struct github *github = arg;

	if (github == NULL)
		return;
	json_decref(github->repositories);
	json_decref(github->permissions);
	free(github);
}

static void
forget(void *arg)
{
	struct github_state *state = arg;

	if (state == NULL)
		return;
	parcel_free(state->parcel);
	free(state);
}

static void
read_endpoints(const struct reading *reading, struct github *github)
{
	const char *api = reading_text(
	    reading, "api_url", READING_OPTIONAL, LIMIT_ERRAND_URL / 2);
	json_int_t installation = 0;
	char url[LIMIT_ERRAND_URL];

	if (api == NULL)
		api = "https://api.github.com";
	if (!reading_integer(
		reading, "installation", 1, INT64_MAX, &installation) &&
	    reading_value(reading, "installation", READING_REQUIRED) == NULL)
		return;
	if (snprintf(url, sizeof(url),
		"%s/app/installations/%lld/access_tokens", api,
		(long long)installation) > 0)
		(void)!reading_endpoint(
		    reading, "api_url", url, &github->issue);
	if (snprintf(url, sizeof(url), "%s/installation/token", api) > 0)
		(void)!reading_endpoint(
		    reading, "api_url", url, &github->revoke);
}

static void
read_permissions(const struct reading *reading, struct github *github)
{
	struct place place, at;
	struct reading inner;
	const char *key;
	json_t *value;

	if (!reading_object(
		reading, "permissions", READING_REQUIRED, &place, &inner))
		return;
	if (json_object_size(inner.object) == 0)
		reading_blame(reading, "permissions",
		    "write what is needed, as in {\"contents\": \"read\"}",
		    "a token without permissions has all of them");
	json_object_foreach(inner.object, key, value)
	{
		at = (struct place){ .above = inner.place, .key = key };
		if (!json_is_string(value))
			report_add(reading->report, &at,
			    "write \"read\", \"write\" or \"admin\"",
			    "this must be a text");
	}
	github->permissions = json_incref(inner.object);
}

static void *
read_github(const struct reading *reading)
{
	struct github *github = calloc(1, sizeof(*github));
	json_int_t app = 0;

	if (github == NULL)
		return NULL;
	if (reading_integer(reading, "app_id", 1, INT64_MAX, &app)) {
		if (snprintf(github->app_id, sizeof(github->app_id), "%lld",
			(long long)app) < 0)
			github->app_id[0] = '\0';
	} else {
		(void)!reading_value(reading, "app_id", READING_REQUIRED);
	}
	read_endpoints(reading, github);
	github->repositories = json_incref(reading_texts(
	    reading, "repositories", READING_REQUIRED, REPOSITORY_MAX));
	if (json_array_size(github->repositories) > REPOSITORIES_MAX)
		reading_blame(reading, "repositories",
		    "use several credentials",
		    "GitHub takes %d repositories at most", REPOSITORIES_MAX);
	read_permissions(reading, github);
	return github;
}

static int
check_github(const struct credential *credential, struct problem *reterr)
{
	return mint_jwt_check(
	    MINT_JWT_RS256, secret_bytes(credential->secret), reterr);
}

static void
put_body(const struct github *github, struct parcel *parcel)
{
	struct json *j = parcel_json(parcel);
	const char *key;
	json_t *value;

	if (j == NULL)
		return;
	json_open(j, NULL, '{');
	json_open(j, "repositories", '[');
	for (size_t i = 0; i < json_array_size(github->repositories); i++)
		json_text(j, NULL,
		    json_string_value(json_array_get(github->repositories, i)));
	json_close(j, ']');
	json_open(j, "permissions", '{');
	json_object_foreach(github->permissions, key, value)
	{
		json_text(j, key, json_string_value(value));
	}
	json_close(j, '}');
	json_close(j, '}');
}

static struct github_state *
begin_state(struct mint_work *work, uint16_t endpoint,
    enum errand_method method, struct cursor token)
{
	struct github_state *state = calloc(1, sizeof(*state));

	if (state == NULL)
		return NULL;
	work->state = state;
	state->parcel = parcel_new(endpoint, method);
	parcel_field(state->parcel, "authorization", "Bearer ", token);
	parcel_field(state->parcel, "accept", "application/vnd.github+json",
	    cursor_of(NULL, 0));
	parcel_field(state->parcel, "x-github-api-version", "2022-11-28",
	    cursor_of(NULL, 0));
	return state;
}

static enum mint_step
begin_github(struct mint_work *work)
{
	const struct github *github = work->credential->config;
	struct mint_jwt jwt = { .alg = MINT_JWT_RS256,
		.issuer = github->app_id,
		.issued_s = work->now_s - CLOCK_S,
		.expires_s = work->now_s + ASSERTION_S };
	struct secret *assertion =
	    mint_jwt_sign(&jwt, secret_bytes(work->credential->secret));
	struct github_state *state = NULL;

	if (assertion != NULL)
		state = begin_state(
		    work, github->issue, ERRAND_POST, secret_bytes(assertion));
	secret_free(assertion);
	if (state == NULL)
		return mint_refuse(
		    work, "no memory to ask for %s", work->credential->name);
	put_body(github, state->parcel);
	parcel_want(state->parcel, "token", "token");
	parcel_want(state->parcel, "expires_at", "expires_at");
	issued_want(state->parcel);
	return issued_send(work, state->parcel);
}

/* As git wants it: "x-access-token:" and the token. */
static enum mint_step
grant_basic(struct mint_work *work, struct cursor token)
{
	size_t user = sizeof(git_user) - 1;
	struct secret *pair = secret_room(user + token.left), *text = NULL;
	enum mint_step step;

	if (pair != NULL) {
		memcpy(secret_fill(pair), git_user, user);
		memcpy(secret_fill(pair) + user, token.at, token.left);
		text = base64_encode(secret_bytes(pair));
	}
	if (text != NULL)
		step = issued_header(
		    work, "authorization", "Basic ", secret_bytes(text));
	else
		step = mint_refuse(
		    work, "no memory for %s", work->credential->name);
	secret_free(pair);
	secret_free(text);
	return step;
}

static enum mint_step
resume_github(struct mint_work *work, const struct errand_answer *answer)
{
	struct cursor token, until;
	uint32_t life = 0;

	if (!issued_well(work, answer))
		return MINT_REFUSED;
	if (errand_answer_find(answer, "expires_at", &until))
		life = issued_until(until, work->now_s);
	if (strncmp(work->question->host, "api.", 4) == 0 ||
	    !errand_answer_find(answer, "token", &token) || life == 0)
		return issued_bearer(work, answer, "token", life);
	work->grant->lease_ms = life;
	return grant_basic(work, token);
}

/* The token as it stands in a grant: behind Bearer, or in Basic. */
static struct secret *
token_of(const struct grant *grant)
{
	struct cursor text = secret_bytes(grant->fields[0].value);
	struct secret *pair, *token = NULL;
	struct cursor both;

	if (cursor_literal(&text, "Bearer "))
		return secret_new(text);
	if (!cursor_literal(&text, "Basic "))
		return NULL;
	pair = base64_decode(text);
	if (pair == NULL)
		return NULL;
	both = secret_bytes(pair);
	if (cursor_literal(&both, git_user))
		token = secret_new(both);
	secret_free(pair);
	return token;
}

static enum mint_step
give_back(struct mint_work *work)
{
	const struct github *github = work->credential->config;
	struct secret *token = token_of(work->grant);
	struct github_state *state = NULL;

	if (token != NULL)
		state = begin_state(
		    work, github->revoke, ERRAND_DELETE, secret_bytes(token));
	secret_free(token);
	if (state == NULL)
		return mint_refuse(
		    work, "no memory to give %s back", work->credential->name);
	return issued_send(work, state->parcel);
}

const struct mint mint_github_app = {
	.kind = "github_app",
	.has_source = true,
	.has_hosts = true,
	.by_scope = true,
	.keys = (const char *const[]){ "app_id", "installation", "repositories",
	    "permissions", "api_url", "ca", NULL },
	.read = read_github,
	.free = free_github,
	.check = check_github,
	.begin = begin_github,
	.resume = resume_github,
	.give_back = give_back,
	.forget = forget,
};
