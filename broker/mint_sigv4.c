#include "broker/mint_sigv4.h"

#include "broker/reading.h"
#include "schema/status.h"

#include <jansson.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	KEY_BYTES = 32,
	WORD_MAX = 64, /* a region, a service */
	DAY_BYTES = 8,
	/* A gateway asks again, so that its use is seen. */
	STATIC_LEASE_MS = 300000,
	/* S3 takes a time a quarter of an hour off. */
	CLOCK_S = 900
};

/* ---- which scopes ---- */

void
mint_sigv4_read(const struct reading *reading, struct mint_sigv4_scope *ret)
{
	ret->regions = json_incref(
	    reading_texts(reading, "regions", READING_REQUIRED, WORD_MAX));
	ret->services = json_incref(
	    reading_texts(reading, "services", READING_REQUIRED, WORD_MAX));
}

void
mint_sigv4_done(struct mint_sigv4_scope *scope)
{
	json_decref(scope->regions);
	json_decref(scope->services);
}

static bool
has_word(json_t *list, struct cursor word)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i,
	    item) if (cursor_equals(word, json_string_value(item))) return true;
	return false;
}

static bool
is_day_of(struct cursor day, int64_t when_s)
{
	char text[DAY_BYTES + 1];
	time_t seconds = (time_t)when_s;
	struct tm tm;

	return gmtime_r(&seconds, &tm) != NULL &&
	       strftime(text, sizeof(text), "%Y%m%d", &tm) == DAY_BYTES &&
	       cursor_equals(day, text);
}

bool
mint_sigv4_admits(struct mint_work *work, const struct mint_sigv4_scope *scope)
{
	struct cursor rest = cursor_of_text(work->question->scope);
	struct cursor day, region, service;
	const char *name = work->credential->name;

	if (!cursor_until(&rest, '/', &day) ||
	    !cursor_until(&rest, '/', &region)) {
		(void)mint_refuse(work,
		    "%s signs for a day, a region and a service, and \"%s\" "
		    "is none",
		    name, work->question->scope);
		return false;
	}
	service = rest;
	if (!is_day_of(day, work->now_s - CLOCK_S) &&
	    !is_day_of(day, work->now_s + CLOCK_S)) {
		(void)mint_refuse(work, "%s signs for today alone", name);
		return false;
	}
	if (has_word(scope->regions, region) &&
	    has_word(scope->services, service))
		return true;
	(void)mint_refuse(work, "%s is not for \"%s\"", name,
	    work->question->scope + DAY_BYTES + 1);
	return false;
}

/* ---- keys ---- */

static bool
hmac(const unsigned char key[KEY_BYTES], struct cursor text,
    unsigned char ret[KEY_BYTES])
{
	unsigned char mac[EVP_MAX_MD_SIZE];
	unsigned length;
	bool well = HMAC(EVP_sha256(), key, KEY_BYTES, text.at, text.left, mac,
			&length) != NULL;

	if (well)
		memcpy(ret, mac, KEY_BYTES);
	explicit_bzero(mac, sizeof(mac));
	return well;
}

/* The first step, whose key is "AWS4" and the secret. */
static bool
begin_chain(
    struct cursor secret, struct cursor day, unsigned char ret[KEY_BYTES])
{
	struct secret *first = secret_room(4 + secret.left);
	unsigned char mac[EVP_MAX_MD_SIZE];
	unsigned length;
	bool well;

	if (first == NULL)
		return false;
	memcpy(secret_fill(first), "AWS4", 4);
	if (secret.left > 0)
		memcpy(secret_fill(first) + 4, secret.at, secret.left);
	well = HMAC(EVP_sha256(), secret_fill(first), (int)(4 + secret.left),
		   day.at, day.left, mac, &length) != NULL;
	if (well)
		memcpy(ret, mac, KEY_BYTES);
	explicit_bzero(mac, sizeof(mac));
	secret_free(first);
	return well;
}

bool
mint_sigv4_derive(
    struct cursor secret, const char *scope, unsigned char ret[KEY_BYTES])
{
	struct cursor service = cursor_of_text(scope), day, region;

	return cursor_until(&service, '/', &day) &&
	       cursor_until(&service, '/', &region) &&
	       begin_chain(secret, day, ret) && hmac(ret, region, ret) &&
	       hmac(ret, service, ret) &&
	       hmac(ret, cursor_of_text("aws4_request"), ret);
}

static bool
add_derived(struct mint_work *work, const char *name, struct cursor secret)
{
	struct secret *key = secret_room(KEY_BYTES);

	return key != NULL &&
	       mint_sigv4_derive(
		   secret, work->question->scope, secret_fill(key)) &&
	       grant_add(work->grant, GRANT_SIGNING, name, key) == STATUS_OK;
}

static bool
add_text(struct mint_work *work, const char *name, struct cursor text)
{
	return grant_add(work->grant, GRANT_SIGNING, name, secret_new(text)) ==
	       STATUS_OK;
}

enum mint_step
mint_sigv4_grant(struct mint_work *work, const struct mint_sigv4_keys *keys,
    uint32_t life_ms)
{
	bool well = add_text(work, "id", keys->id) &&
		    add_derived(work, "key", keys->secret);

	if (keys->token.left > 0)
		well = well && add_text(work, "token", keys->token);
	if (!well)
		return mint_refuse(
		    work, "no memory for a key of %s", work->credential->name);
	work->grant->lease_ms = life_ms;
	return MINT_GRANTED;
}

/* ---- the kind ---- */

static void *
read_sigv4(const struct reading *reading)
{
	struct mint_sigv4_scope *scope = calloc(1, sizeof(*scope));

	if (scope != NULL)
		mint_sigv4_read(reading, scope);
	return scope;
}

static void
free_sigv4(void *config)
{
	if (config == NULL)
		return;
	mint_sigv4_done(config);
	free(config);
}

/* The secret of the source: {"access_key_id": …, "secret_access_key": …}. */
static json_t *
load_keys(const struct secret *secret, struct mint_sigv4_keys *ret)
{
	struct cursor text = secret_bytes(secret);
	json_error_t error;
	json_t *root = json_loadb(
	    (const char *)text.at, text.left, JSON_REJECT_DUPLICATES, &error);
	const char *id, *key, *token = NULL;

	if (json_unpack_ex(root, &error, 0, "{s:s, s:s, s?s}", "access_key_id",
		&id, "secret_access_key", &key, "session_token", &token) != 0 ||
	    id[0] == '\0' || key[0] == '\0') {
		json_decref(root);
		return NULL;
	}
	ret->id = cursor_of_text(id);
	ret->secret = cursor_of_text(key);
	ret->token = token == NULL ? cursor_of(NULL, 0) : cursor_of_text(token);
	return root;
}

static int
check_sigv4(const struct credential *credential, struct problem *reterr)
{
	struct mint_sigv4_keys keys;
	json_t *root = load_keys(credential->secret, &keys);

	if (root == NULL)
		return problem_set(reterr,
		    "it must be {\"access_key_id\": \"…\", "
		    "\"secret_access_key\": \"…\"}");
	json_decref(root);
	return STATUS_OK;
}

static enum mint_step
begin_sigv4(struct mint_work *work)
{
	struct mint_sigv4_keys keys;
	enum mint_step step;
	json_t *root;

	if (!mint_sigv4_admits(work, work->credential->config))
		return MINT_REFUSED;
	root = load_keys(work->credential->secret, &keys);
	if (root == NULL)
		return mint_refuse(
		    work, "no memory for a key of %s", work->credential->name);
	step = mint_sigv4_grant(work, &keys, STATIC_LEASE_MS);
	json_decref(root);
	return step;
}

const struct mint mint_sigv4 = {
	.kind = "sigv4",
	.has_source = true,
	.has_hosts = true,
	.by_scope = true,
	.keys = (const char *const[]){ "regions", "services", NULL },
	.read = read_sigv4,
	.free = free_sigv4,
	.check = check_sigv4,
	.begin = begin_sigv4,
};
