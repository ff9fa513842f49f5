#include "broker/mint_gcp.h"

#include "broker/issued.h"
#include "broker/mint_jwt.h"
#include "broker/parcel.h"
#include "broker/reading.h"
#include "broker/subject.h"
#include "schema/status.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_URL "https://oauth2.googleapis.com/token"
#define STS_URL "https://sts.googleapis.com/v1/token"
#define IAM_URL "https://iamcredentials.googleapis.com/v1"
#define TOKEN_TYPE "urn:ietf:params:oauth:token-type:"
#define CLOUD_SCOPE "https://www.googleapis.com/auth/cloud-platform"

enum {
	WORD_MAX = 1024,
	MAIL_MAX = 254,
	ASSERTION_S = 300,
	CLOCK_S = 10
};

struct gcp {
	uint16_t token, impersonate; /* endpoints */
	char *token_url, *scope, *audience, *subject_type;
	bool impersonates;
};

struct gcp_state {
	struct parcel *parcel;
	bool impersonating; /* the second exchange is under way */
};

static void
free_gcp(void *arg)
{
	struct gcp *gcp = arg;

	if (gcp == NULL)
		return;
	free(gcp->token_url);
	free(gcp->scope);
	free(gcp->audience);
	free(gcp->subject_type);
	free(gcp);
}

static void
forget(void *arg)
{
	struct gcp_state *state = arg;

	if (state == NULL)
		return;
	parcel_free(state->parcel);
	free(state);
}

static char *
copy_of(const struct reading *reading, const char *key, enum reading_need need)
{
	const char *text = reading_text(reading, key, need, WORD_MAX);

	return text == NULL ? NULL : strdup(text);
}

/* The member "token_url", or Google's own. */
static void
read_token_url(
    const struct reading *reading, struct gcp *gcp, const char *usual)
{
	gcp->token_url = copy_of(reading, "token_url", READING_OPTIONAL);
	if (gcp->token_url == NULL)
		gcp->token_url = strdup(usual);
	if (gcp->token_url != NULL)
		(void)!reading_endpoint(
		    reading, "token_url", gcp->token_url, &gcp->token);
}

static struct gcp_state *
begin_state(struct mint_work *work, uint16_t endpoint, struct gcp_state *state)
{
	if (state == NULL)
		state = calloc(1, sizeof(*state));
	if (state == NULL)
		return NULL;
	work->state = state;
	parcel_free(state->parcel);
	state->parcel = parcel_new(endpoint, ERRAND_POST);
	parcel_field(
	    state->parcel, "accept", "application/json", cursor_of(NULL, 0));
	return state;
}

static enum mint_step
no_memory(struct mint_work *work)
{
	return mint_refuse(
	    work, "no memory to ask for %s", work->credential->name);
}

/* ---- the key of a service account ---- */

static void *
read_account(const struct reading *reading)
{
	struct gcp *gcp = calloc(1, sizeof(*gcp));

	if (gcp == NULL)
		return NULL;
	gcp->scope = copy_of(reading, "scope", READING_REQUIRED);
	read_token_url(reading, gcp, TOKEN_URL);
	return gcp;
}

struct account {
	const char *mail, *key, *key_id;
};

/* The file that Google gives; subject, which acts for people, is not read. */
static json_t *
load_account(const struct secret *secret, struct account *ret)
{
	struct cursor text = secret_bytes(secret);
	json_error_t error;
	json_t *root = json_loadb(
	    (const char *)text.at, text.left, JSON_REJECT_DUPLICATES, &error);

	if (json_unpack_ex(root, &error, 0, "{s:s, s:s, s:s}", "client_email",
		&ret->mail, "private_key", &ret->key, "private_key_id",
		&ret->key_id) == 0)
		return root;
	json_decref(root);
	return NULL;
}

static int
check_account(const struct credential *credential, struct problem *reterr)
{
	struct account account;
	json_t *root = load_account(credential->secret, &account);
	int status;

	if (root == NULL)
		return problem_set(
		    reterr, "it is not the JSON key of a service account");
	status =
	    mint_jwt_check(MINT_JWT_RS256, cursor_of_text(account.key), reterr);
	json_decref(root);
	return status;
}

static struct secret *
sign_account(struct mint_work *work)
{
	const struct gcp *gcp = work->credential->config;
	struct account account;
	json_t *root = load_account(work->credential->secret, &account);
	struct mint_jwt jwt = { .alg = MINT_JWT_RS256,
		.audience = gcp->token_url,
		.scope = gcp->scope,
		.issued_s = work->now_s - CLOCK_S,
		.expires_s = work->now_s + ASSERTION_S };
	struct secret *assertion;

	if (root == NULL)
		return NULL;
	jwt.key_id = account.key_id;
	jwt.issuer = account.mail;
	assertion = mint_jwt_sign(&jwt, cursor_of_text(account.key));
	json_decref(root);
	return assertion;
}

static enum mint_step
begin_account(struct mint_work *work)
{
	const struct gcp *gcp = work->credential->config;
	struct secret *assertion = sign_account(work);
	struct gcp_state *state = begin_state(work, gcp->token, NULL);

	if (assertion == NULL || state == NULL) {
		secret_free(assertion);
		return no_memory(work);
	}
	parcel_pair(state->parcel, "grant_type",
	    cursor_of_text("urn:ietf:params:oauth:grant-type:jwt-bearer"));
	parcel_pair(state->parcel, "assertion", secret_bytes(assertion));
	secret_free(assertion);
	parcel_want(state->parcel, "access_token", "access_token");
	parcel_want(state->parcel, "expires_in", "expires_in");
	issued_want(state->parcel);
	return issued_send(work, state->parcel);
}

static enum mint_step
resume_account(struct mint_work *work, const struct errand_answer *answer)
{
	if (!issued_well(work, answer))
		return MINT_REFUSED;
	return issued_bearer(
	    work, answer, "access_token", issued_life(answer, "expires_in"));
}

const struct mint mint_gcp_service_account = {
	.kind = "gcp_service_account",
	.has_source = true,
	.has_hosts = true,
	.keys = (const char *const[]){ "scope", "token_url", "ca", NULL },
	.read = read_account,
	.free = free_gcp,
	.check = check_account,
	.begin = begin_account,
	.resume = resume_account,
	.forget = forget,
};

/* ---- a workload identity ---- */

static void
read_impersonation(const struct reading *reading, struct gcp *gcp)
{
	const char *account = reading_text(
	    reading, "service_account", READING_OPTIONAL, MAIL_MAX);
	const char *base = reading_text(
	    reading, "iam_url", READING_OPTIONAL, LIMIT_ERRAND_URL / 2);
	char url[LIMIT_ERRAND_URL + 1];

	if (account == NULL)
		return;
	if (base == NULL)
		base = IAM_URL;
	gcp->impersonates = true;
	if (snprintf(url, sizeof(url),
		"%s/projects/-/serviceAccounts/%s:generateAccessToken", base,
		account) > 0)
		(void)!reading_endpoint(
		    reading, "service_account", url, &gcp->impersonate);
}

static void *
read_workload(const struct reading *reading)
{
	struct gcp *gcp = calloc(1, sizeof(*gcp));

	if (gcp == NULL)
		return NULL;
	gcp->scope = copy_of(reading, "scope", READING_REQUIRED);
	gcp->audience = copy_of(reading, "audience", READING_REQUIRED);
	gcp->subject_type =
	    copy_of(reading, "subject_token_type", READING_OPTIONAL);
	read_token_url(reading, gcp, STS_URL);
	read_impersonation(reading, gcp);
	return gcp;
}

static void
put_text(struct json *j, const char *key, const char *value)
{
	if (j != NULL)
		json_text(j, key, value);
}

static enum mint_step
begin_workload(struct mint_work *work)
{
	const struct gcp *gcp = work->credential->config;
	struct cursor token = subject_token(work);
	struct gcp_state *state;

	if (token.left == 0)
		return MINT_REFUSED;
	state = begin_state(work, gcp->token, NULL);
	if (state == NULL)
		return no_memory(work);
	/* Google refuses a request that shows who asks. */
	parcel_pair(state->parcel, "grant_type",
	    cursor_of_text("urn:ietf:params:oauth:grant-type:token-exchange"));
	parcel_pair(state->parcel, "audience", cursor_of_text(gcp->audience));
	parcel_pair(state->parcel, "scope",
	    cursor_of_text(gcp->impersonates ? CLOUD_SCOPE : gcp->scope));
	parcel_pair(state->parcel, "requested_token_type",
	    cursor_of_text(TOKEN_TYPE "access_token"));
	parcel_pair(state->parcel, "subject_token_type",
	    cursor_of_text(gcp->subject_type != NULL ? gcp->subject_type
						     : TOKEN_TYPE "jwt"));
	parcel_pair(state->parcel, "subject_token", token);
	parcel_want(state->parcel, "access_token", "access_token");
	parcel_want(state->parcel, "expires_in", "expires_in");
	issued_want(state->parcel);
	return issued_send(work, state->parcel);
}

/* The second exchange: a token of the service account for ours. */
static enum mint_step
impersonate(struct mint_work *work, struct cursor token)
{
	const struct gcp *gcp = work->credential->config;
	struct gcp_state *state =
	    begin_state(work, gcp->impersonate, work->state);
	struct json *j;

	if (state == NULL)
		return no_memory(work);
	state->impersonating = true;
	parcel_field(state->parcel, "authorization", "Bearer ", token);
	j = parcel_json(state->parcel);
	if (j != NULL) {
		json_open(j, NULL, '{');
		json_open(j, "scope", '[');
		put_text(j, NULL, gcp->scope);
		json_close(j, ']');
		put_text(j, "lifetime", "3600s");
		json_close(j, '}');
	}
	parcel_want(state->parcel, "accessToken", "accessToken");
	parcel_want(state->parcel, "expireTime", "expireTime");
	issued_want(state->parcel);
	return issued_send(work, state->parcel);
}

static enum mint_step
resume_workload(struct mint_work *work, const struct errand_answer *answer)
{
	const struct gcp *gcp = work->credential->config;
	const struct gcp_state *state = work->state;
	struct cursor text;

	if (!issued_well(work, answer))
		return MINT_REFUSED;
	if (state->impersonating)
		return issued_bearer(work, answer, "accessToken",
		    errand_answer_find(answer, "expireTime", &text)
			? issued_until(text, work->now_s)
			: 0);
	if (gcp->impersonates &&
	    errand_answer_find(answer, "access_token", &text))
		return impersonate(work, text);
	return issued_bearer(
	    work, answer, "access_token", issued_life(answer, "expires_in"));
}

const struct mint mint_gcp_workload_identity = {
	.kind = "gcp_workload_identity",
	.has_source = true,
	.has_hosts = true,
	.keys =
	    (const char *const[]){ "scope", "audience", "subject_token_type",
		"token_url", "ca", "service_account", "iam_url", NULL },
	.read = read_workload,
	.free = free_gcp,
	.begin = begin_workload,
	.resume = resume_workload,
	.forget = forget,
};
