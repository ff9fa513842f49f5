#include "broker/mint_static.h"

#include "broker/reading.h"
#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

/*
 * For how long a gateway may keep it: a key that does not change could be
 * kept for good, but then nobody would see any more that it is used.
 */
enum {
	STATIC_LEASE_MS = 300000
};

/* A copy of the one word that each of these kinds may have. */
static char *
copy_word(const char *word)
{
	return word == NULL ? NULL : strdup(word);
}

/* RFC 9110 section 5.6.2. */
static bool
is_token(const char *text)
{
	return text[0] != '\0' &&
	       text[strspn(text,
		   "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
		   "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
}

static int
check_text(const struct credential *credential, struct problem *reterr)
{
	if (secret_is_text(credential->secret))
		return STATUS_OK;
	return problem_set(reterr,
	    "it has a line end or another control byte in it, and a header "
	    "field has one line");
}

/* Joins parts to one secret; the parts are wiped with it. */
static struct secret *
join(struct cursor first, struct cursor second)
{
	struct secret *joined = secret_room(first.left + second.left);

	if (joined == NULL)
		return NULL;
	if (first.left > 0)
		memcpy(secret_fill(joined), first.at, first.left);
	if (second.left > 0)
		memcpy(
		    secret_fill(joined) + first.left, second.at, second.left);
	return joined;
}

static enum mint_step
give(struct mint_work *work, enum grant_place place, const char *name,
    struct secret *value)
{
	if (grant_add(work->grant, place, name, value) != STATUS_OK)
		return mint_refuse(work,
		    "the secret of %s cannot stand in a request",
		    work->credential->name);
	work->grant->lease_ms = STATIC_LEASE_MS;
	return MINT_GRANTED;
}

/* ---- bearer ---- */

static void *
read_bearer(const struct reading *reading)
{
	const char *scheme =
	    reading_text(reading, "scheme", READING_OPTIONAL, 32);

	if (scheme != NULL && !is_token(scheme))
		reading_blame(reading, "scheme",
		    "write the word before the key, as in \"token\"",
		    "this is no scheme of Authorization");
	return copy_word(scheme == NULL ? "Bearer" : scheme);
}

static enum mint_step
begin_bearer(struct mint_work *work)
{
	char scheme[40];
	size_t length = strlen(work->credential->config);

	memcpy(scheme, work->credential->config, length);
	scheme[length++] = ' ';
	return give(work, GRANT_HEADER, "authorization",
	    join(cursor_of(scheme, length),
		secret_bytes(work->credential->secret)));
}

const struct mint mint_bearer = {
	.kind = "bearer",
	.has_source = true,
	.has_hosts = true,
	.keys = (const char *const[]){ "scheme", NULL },
	.read = read_bearer,
	.free = free,
	.check = check_text,
	.begin = begin_bearer,
};

/* ---- basic ---- */

static void *
read_basic(const struct reading *reading)
{
	const char *user =
	    reading_text(reading, "user", READING_REQUIRED, LIMIT_PRINCIPAL);

	/* RFC 7617 section 2. */
	if (user != NULL && strchr(user, ':') != NULL)
		reading_blame(reading, "user", "write the name alone",
		    "a user of Basic has no colon");
	return copy_word(user);
}

/* RFC 4648 section 4, straight into the locked pages. */
static void
encode(struct cursor in, unsigned char *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";

	for (size_t i = 0; i < in.left; i += 3) {
		size_t have = in.left - i < 3 ? in.left - i : 3;
		uint32_t group = (uint32_t)in.at[i] << 16;

		if (have > 1)
			group |= (uint32_t)in.at[i + 1] << 8;
		if (have > 2)
			group |= in.at[i + 2];
		*out++ = (unsigned char)digits[group >> 18];
		*out++ = (unsigned char)digits[group >> 12 & 63];
		*out++ =
		    have > 1 ? (unsigned char)digits[group >> 6 & 63] : '=';
		*out++ = have > 2 ? (unsigned char)digits[group & 63] : '=';
	}
}

static struct secret *
basic_value(const char *user, struct cursor key)
{
	static const char word[] = "Basic ";
	char start[LIMIT_PRINCIPAL + 2];
	size_t length = strlen(user);
	struct secret *pair, *value;

	memcpy(start, user, length);
	start[length++] = ':';
	pair = join(cursor_of(start, length), key);
	if (pair == NULL)
		return NULL;
	length = (secret_bytes(pair).left + 2) / 3 * 4;
	value = secret_room(sizeof(word) - 1 + length);
	if (value != NULL) {
		memcpy(secret_fill(value), word, sizeof(word) - 1);
		encode(
		    secret_bytes(pair), secret_fill(value) + sizeof(word) - 1);
	}
	secret_free(pair);
	return value;
}

static enum mint_step
begin_basic(struct mint_work *work)
{
	return give(work, GRANT_HEADER, "authorization",
	    basic_value(work->credential->config,
		secret_bytes(work->credential->secret)));
}

const struct mint mint_basic = {
	.kind = "basic",
	.has_source = true,
	.has_hosts = true,
	.keys = (const char *const[]){ "user", NULL },
	.read = read_basic,
	.free = free,
	.check = check_text,
	.begin = begin_basic,
};

/* ---- header ---- */

/* Fields that govern the connection or the message are not a credential's. */
static bool
is_taken(const char *name)
{
	static const char *const taken[] = { "host", "connection",
		"content-length", "content-type", "transfer-encoding", "te",
		"trailer", "upgrade", "expect", "keep-alive", "via",
		"proxy-authorization", "proxy-connection", NULL };

	for (size_t i = 0; taken[i] != NULL; i++)
		if (strcasecmp(taken[i], name) == 0)
			return true;
	return false;
}

static void *
read_header(const struct reading *reading)
{
	const char *name = reading_text(
	    reading, "header", READING_REQUIRED, LIMIT_GRANT_FIELD_NAME);

	if (name != NULL && (!is_token(name) || is_taken(name)))
		reading_blame(reading, "header",
		    "write the field's name, as in \"x-api-key\"",
		    "no credential can stand in the field \"%.100s\"", name);
	return copy_word(name);
}

static enum mint_step
begin_header(struct mint_work *work)
{
	return give(work, GRANT_HEADER, work->credential->config,
	    secret_new(secret_bytes(work->credential->secret)));
}

const struct mint mint_header = {
	.kind = "header",
	.has_source = true,
	.has_hosts = true,
	.keys = (const char *const[]){ "header", NULL },
	.read = read_header,
	.free = free,
	.check = check_text,
	.begin = begin_header,
};

/* ---- query ---- */

/* RFC 3986 section 2.3: bytes that mean themselves everywhere. */
static bool
is_unreserved(const char *text)
{
	return text[0] != '\0' &&
	       text[strspn(text, "-._~0123456789abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
}

static void *
read_query(const struct reading *reading)
{
	const char *key = reading_text(
	    reading, "query", READING_REQUIRED, LIMIT_GRANT_FIELD_NAME);

	if (key != NULL && !is_unreserved(key))
		reading_blame(reading, "query",
		    "write the key's name, as in \"api_key\"",
		    "\"%.100s\" would have to be escaped in a query", key);
	return copy_word(key);
}

static enum mint_step
begin_query(struct mint_work *work)
{
	return give(work, GRANT_QUERY, work->credential->config,
	    secret_new(secret_bytes(work->credential->secret)));
}

const struct mint mint_query = {
	.kind = "query",
	.has_source = true,
	.has_hosts = true,
	.keys = (const char *const[]){ "query", NULL },
	.read = read_query,
	.free = free,
	.check = check_text,
	.begin = begin_query,
};

/* ---- nowhere but in the stead of its placeholder ---- */

static void *
read_nothing(const struct reading *reading)
{
	json_t *placeholder =
	    reading_value(reading, "placeholder", READING_REQUIRED);

	if (json_is_object(placeholder) &&
	    json_object_get(placeholder, "in") == NULL)
		reading_blame(reading, "placeholder", "add \"in\": [\"body\"]",
		    "nothing says where the placeholder stands");
	return NULL;
}

/* All there is to it is added where a placeholder is. */
static enum mint_step
begin_placeholder(struct mint_work *work)
{
	work->grant->lease_ms = STATIC_LEASE_MS;
	return MINT_GRANTED;
}

const struct mint mint_placeholder = {
	.kind = "placeholder",
	.has_source = true,
	.has_hosts = true,
	.keys = (const char *const[]){ NULL },
	.read = read_nothing,
	.check = check_text,
	.begin = begin_placeholder,
};
