#include "broker/mint_oauth.h"

#include "broker/issued.h"
#include "broker/keep.h"
#include "broker/mint_jwt.h"
#include "broker/parcel.h"
#include "broker/reading.h"
#include "schema/status.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	WORD_MAX = 1024, /* a client's id, a scope, an audience */
	ASSERTION_S = 60, /* long enough for one exchange */
	CLOCK_S = 10 /* that the other side's clock may be behind */
};

enum oauth_client {
	OAUTH_BASIC,
	OAUTH_POST, /* the secret in the form, for those who want it so */
	OAUTH_ASSERTION
};

static const char *const client_words[] = { "basic", "post", "private_key_jwt",
	NULL };

struct oauth {
	uint16_t endpoint;
	enum oauth_client client;
	enum mint_jwt_alg alg;
	char *token_url, *client_id, *key_id, *scope, *audience, *resource;
	char *subject_type, *requested_type;
};

struct oauth_state {
	struct parcel *parcel;
	struct keep_entry *kept; /* of a refresh token */
};

static void
free_oauth(void *arg)
{
	struct oauth *oauth = arg;

	if (oauth == NULL)
		return;
	free(oauth->token_url);
	free(oauth->client_id);
	free(oauth->key_id);
	free(oauth->scope);
	free(oauth->audience);
	free(oauth->resource);
	free(oauth->subject_type);
	free(oauth->requested_type);
	free(oauth);
}

static void
forget(void *arg)
{
	struct oauth_state *state = arg;

	if (state == NULL)
		return;
	parcel_free(state->parcel);
	keep_release(state->kept);
	free(state);
}

static char *
copy_of(const struct reading *reading, const char *key, enum reading_need need)
{
	const char *text = reading_text(reading, key, need, WORD_MAX);

	return text == NULL ? NULL : strdup(text);
}

static struct oauth *
read_common(const struct reading *reading, enum reading_need client)
{
	struct oauth *oauth = calloc(1, sizeof(*oauth));

	if (oauth == NULL)
		return NULL;
	oauth->token_url = copy_of(reading, "token_url", READING_REQUIRED);
	if (oauth->token_url != NULL)
		(void)!reading_url(
		    reading, "token_url", READING_REQUIRED, &oauth->endpoint);
	oauth->client_id = copy_of(reading, "client_id", client);
	oauth->scope = copy_of(reading, "scope", READING_OPTIONAL);
	oauth->audience = copy_of(reading, "audience", READING_OPTIONAL);
	oauth->resource = copy_of(reading, "resource", READING_OPTIONAL);
	return oauth;
}

static struct cursor
text_of(const char *text)
{
	return text == NULL ? cursor_of(NULL, 0) : cursor_of_text(text);
}

static struct oauth_state *
begin_state(struct mint_work *work, const char *grant_type)
{
	const struct oauth *oauth = work->credential->config;
	struct oauth_state *state = calloc(1, sizeof(*state));

	if (state == NULL)
		return NULL;
	work->state = state;
	state->parcel = parcel_new(oauth->endpoint, ERRAND_POST);
	parcel_field(
	    state->parcel, "accept", "application/json", cursor_of(NULL, 0));
	parcel_pair(state->parcel, "grant_type", text_of(grant_type));
	parcel_pair(state->parcel, "scope", text_of(oauth->scope));
	parcel_pair(state->parcel, "audience", text_of(oauth->audience));
	parcel_pair(state->parcel, "resource", text_of(oauth->resource));
	parcel_want(state->parcel, "access_token", "access_token");
	parcel_want(state->parcel, "token_type", "token_type");
	parcel_want(state->parcel, "expires_in", "expires_in");
	return state;
}

static enum mint_step
no_memory(struct mint_work *work)
{
	return mint_refuse(
	    work, "no memory to ask for %s", work->credential->name);
}

static enum mint_step
resume(struct mint_work *work, const struct errand_answer *answer)
{
	struct cursor type;

	if (!issued_well(work, answer))
		return MINT_REFUSED;
	/* RFC 6749 section 5.1 demands it; some leave it out. */
	if (errand_answer_find(answer, "token_type", &type) &&
	    (type.left != 6 ||
		strncasecmp((const char *)type.at, "bearer", 6) != 0))
		return mint_refuse(work,
		    "the issuer of %s gave a token that is no bearer token",
		    work->credential->name);
	return issued_bearer(
	    work, answer, "access_token", issued_life(answer, "expires_in"));
}

/* ---- client credentials ---- */

static void *
read_client(const struct reading *reading)
{
	struct oauth *oauth = read_common(reading, READING_REQUIRED);

	if (oauth == NULL)
		return NULL;
	oauth->client = (enum oauth_client)reading_word(
	    reading, "client_auth", client_words, OAUTH_BASIC);
	oauth->alg = (enum mint_jwt_alg)reading_word(
	    reading, "alg", mint_jwt_algs, MINT_JWT_RS256);
	oauth->key_id = copy_of(reading, "key_id", READING_OPTIONAL);
	return oauth;
}

static int
check_client(const struct credential *credential, struct problem *reterr)
{
	const struct oauth *oauth = credential->config;

	if (oauth->client != OAUTH_ASSERTION)
		return STATUS_OK;
	return mint_jwt_check(
	    oauth->alg, secret_bytes(credential->secret), reterr);
}

/* RFC 7523 section 3. */
static bool
add_assertion(struct mint_work *work, struct parcel *parcel)
{
	const struct oauth *oauth = work->credential->config;
	struct mint_jwt jwt = { .alg = oauth->alg,
		.key_id = oauth->key_id,
		.issuer = oauth->client_id,
		.subject = oauth->client_id,
		.audience = oauth->token_url,
		.issued_s = work->now_s - CLOCK_S,
		.expires_s = work->now_s + ASSERTION_S,
		.numbered = true };
	struct secret *assertion =
	    mint_jwt_sign(&jwt, secret_bytes(work->credential->secret));

	if (assertion == NULL)
		return false;
	parcel_pair(parcel, "client_id", text_of(oauth->client_id));
	parcel_pair(parcel, "client_assertion_type",
	    text_of("urn:ietf:params:oauth:client-assertion-type:jwt-bearer"));
	parcel_pair(parcel, "client_assertion", secret_bytes(assertion));
	secret_free(assertion);
	return true;
}

static enum mint_step
begin_client(struct mint_work *work)
{
	const struct oauth *oauth = work->credential->config;
	struct cursor key = secret_bytes(work->credential->secret);
	struct oauth_state *state = begin_state(work, "client_credentials");
	bool well = state != NULL;

	if (well && oauth->client == OAUTH_ASSERTION) {
		well = add_assertion(work, state->parcel);
	} else if (well && oauth->client == OAUTH_BASIC) {
		parcel_basic(state->parcel, oauth->client_id, key);
	} else if (well) {
		parcel_pair(
		    state->parcel, "client_id", text_of(oauth->client_id));
		parcel_pair(state->parcel, "client_secret", key);
	}
	if (!well)
		return no_memory(work);
	issued_want(state->parcel);
	return issued_send(work, state->parcel);
}

const struct mint mint_oauth2_client = {
	.kind = "oauth2_client",
	.has_source = true,
	.has_hosts = true,
	.keys = (const char *const[]){ "token_url", "ca", "client_id",
	    "client_auth", "alg", "key_id", "scope", "audience", "resource",
	    NULL },
	.read = read_client,
	.free = free_oauth,
	.check = check_client,
	.begin = begin_client,
	.resume = resume,
	.forget = forget,
};

/* ---- refresh ---- */

static void *
read_refresh(const struct reading *reading)
{
	return read_common(reading, READING_REQUIRED);
}

/* A token that the owner has put there anew begins a family of its own. */
static bool
name_family(const struct credential *credential, char *out, size_t size)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	struct cursor key = secret_bytes(credential->secret);
	unsigned length;
	int used;

	if (EVP_Digest(key.at, key.left, digest, &length, EVP_sha256(), NULL) !=
	    1)
		return false;
	used =
	    snprintf(out, size, "refresh-%s-%02x%02x%02x%02x%02x%02x%02x%02x",
		credential->name, digest[0], digest[1], digest[2], digest[3],
		digest[4], digest[5], digest[6], digest[7]);
	return used > 0 && (size_t)used < size;
}

/* Locks the family and gives the newest token of it. */
static enum mint_step
take_family(struct mint_work *work, struct oauth_state *state,
    const struct secret **ret)
{
	const struct credential *credential = work->credential;
	struct problem problem = { .text = "" };
	char name[LIMIT_CREDENTIAL_NAME + 32];
	const struct secret *kept;
	int status;

	if (work->run->keep == NULL)
		return mint_refuse(work,
		    "there is no folder to keep the renewed token of %s in",
		    credential->name);
	if (!name_family(credential, name, sizeof(name)))
		return no_memory(work);
	status = keep_take(work->run->keep, name, &state->kept, &problem);
	if (status == STATUS_AGAIN) {
		(void)mint_refuse(
		    work, "another run is renewing %s", credential->name);
		return MINT_AGAIN;
	}
	if (status != STATUS_OK)
		return mint_refuse(
		    work, "%s: %s", credential->name, problem.text);
	kept = keep_secret(state->kept);
	*ret = kept != NULL ? kept : credential->secret;
	return MINT_ERRAND;
}

static enum mint_step
begin_refresh(struct mint_work *work)
{
	const struct oauth *oauth = work->credential->config;
	struct oauth_state *state = begin_state(work, "refresh_token");
	const struct secret *token = work->credential->secret;
	enum mint_step step;

	if (state == NULL)
		return no_memory(work);
	step = take_family(work, state, &token);
	if (step != MINT_ERRAND)
		return step;
	parcel_pair(state->parcel, "client_id", text_of(oauth->client_id));
	parcel_pair(state->parcel, "refresh_token", secret_bytes(token));
	parcel_want(state->parcel, "refresh_token", "refresh_token");
	issued_want(state->parcel);
	return issued_send(work, state->parcel);
}

static enum mint_step
resume_refresh(struct mint_work *work, const struct errand_answer *answer)
{
	struct oauth_state *state = work->state;
	struct problem problem = { .text = "" };
	struct cursor token;

	/* From here on the old one may be worth nothing: the disk first. */
	if (answer->end == ERRAND_ANSWERED &&
	    errand_answer_find(answer, "refresh_token", &token) &&
	    token.left > 0 &&
	    keep_put(state->kept, token, &problem) != STATUS_OK)
		return mint_refuse(work, "%s was renewed, and %s",
		    work->credential->name, problem.text);
	keep_release(STEAL(state->kept));
	return resume(work, answer);
}

const struct mint mint_oauth2_refresh = {
	.kind = "oauth2_refresh",
	.has_source = true,
	.has_hosts = true,
	.keys = (const char *const[]){ "token_url", "ca", "client_id", "scope",
	    "audience", "resource", NULL },
	.read = read_refresh,
	.free = free_oauth,
	.begin = begin_refresh,
	.resume = resume_refresh,
	.forget = forget,
};

/* ---- exchange at a foreign issuer ---- */

#define TOKEN_TYPE "urn:ietf:params:oauth:token-type:"

static void *
read_exchange(const struct reading *reading)
{
	struct oauth *oauth = read_common(reading, READING_OPTIONAL);

	if (oauth == NULL)
		return NULL;
	oauth->subject_type =
	    copy_of(reading, "subject_token_type", READING_OPTIONAL);
	oauth->requested_type =
	    copy_of(reading, "requested_token_type", READING_OPTIONAL);
	return oauth;
}

static enum mint_step
begin_exchange(struct mint_work *work)
{
	const struct oauth *oauth = work->credential->config;
	struct oauth_state *state = begin_state(
	    work, "urn:ietf:params:oauth:grant-type:token-exchange");

	if (state == NULL)
		return no_memory(work);
	parcel_pair(state->parcel, "client_id", text_of(oauth->client_id));
	parcel_pair(state->parcel, "subject_token",
	    secret_bytes(work->credential->secret));
	parcel_pair(state->parcel, "subject_token_type",
	    text_of(oauth->subject_type != NULL ? oauth->subject_type
						: TOKEN_TYPE "access_token"));
	parcel_pair(state->parcel, "requested_token_type",
	    text_of(oauth->requested_type != NULL ? oauth->requested_type
						  : TOKEN_TYPE "access_token"));
	issued_want(state->parcel);
	return issued_send(work, state->parcel);
}

const struct mint mint_token_exchange = {
	.kind = "token_exchange",
	.has_source = true,
	.has_hosts = true,
	.keys = (const char *const[]){ "token_url", "ca", "client_id", "scope",
	    "audience", "resource", "subject_token_type",
	    "requested_token_type", NULL },
	.read = read_exchange,
	.free = free_oauth,
	.begin = begin_exchange,
	.resume = resume,
	.forget = forget,
};
