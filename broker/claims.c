#include "broker/claims.h"

#include "policy/locate.h"
#include "schema/json.h"
#include "schema/status.h"

#include <jansson.h>
#include <stddef.h>
#include <string.h>

/* ---- write ---- */

static void
write_actors(const struct token *token, struct json *j)
{
	for (size_t i = 0; i < token->actors; i++) {
		json_open(j, "act", '{');
		json_text(j, "sub", token->actor[i]);
	}
	for (size_t i = 0; i < token->actors; i++)
		json_close(j, '}');
}

void
claims_write(
    const struct token *token, const char *issuer, struct cursor_writer *out)
{
	struct json j = json_to(out);

	json_open(&j, NULL, '{');
	json_text(&j, "iss", issuer);
	json_text(&j, "sub", token->subject);
	json_text(&j, "aud", token->audience);
	json_text(&j, "client_id", token->client);
	json_text(&j, "scope", token->scope);
	json_number(&j, "iat", token->issued_s);
	json_number(&j, "nbf", token->starts_s);
	json_number(&j, "exp", token->expires_s);
	json_text(&j, "jti", token->id);
	json_text(&j, "pjti", token->parent);
	json_text(&j, "rjti", token->root);
	json_number(&j, "dep", token->depth);
	json_text(&j, "sbx", token->run);
	write_actors(token, &j);
	if (token->may_act[0] != '\0') {
		json_open(&j, "may_act", '{');
		json_text(&j, "sub", token->may_act);
		json_close(&j, '}');
	}
	json_close(&j, '}');
}

/* ---- read ---- */

static bool
copy_text(const json_t *value, char *out, size_t size)
{
	const char *text = json_string_value(value);
	size_t length;

	if (text == NULL)
		return false;
	length = strlen(text);
	/* Jansson refuses a NUL in a string, so this is all of it. */
	if (length == 0 || length >= size)
		return false;
	memcpy(out, text, length + 1);
	return true;
}

static const struct text_row {
	const char *key;
	size_t place, size;
} texts[] = {
#define TEXT(key, member)                                        \
	{                                                        \
		key, offsetof(struct token, member),             \
		    sizeof(((const struct token *)NULL)->member) \
	}
	TEXT("sub", subject),
	TEXT("aud", audience),
	TEXT("client_id", client),
	TEXT("scope", scope),
	TEXT("jti", id),
	TEXT("pjti", parent),
	TEXT("rjti", root),
	TEXT("sbx", run),
#undef TEXT
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static bool
read_texts(const json_t *object, struct token *token)
{
	for (size_t i = 0; i < COUNT(texts); i++)
		if (!copy_text(json_object_get(object, texts[i].key),
			(char *)token + texts[i].place, texts[i].size))
			return false;
	return true;
}

/* A whole number in its range; a real one or a text of digits is none. */
static bool
read_number(const json_t *object, const char *key, int64_t most, int64_t *ret)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    json_integer_value(value) > most)
		return false;
	*ret = json_integer_value(value);
	return true;
}

static bool
read_numbers(const json_t *object, struct token *token)
{
	int64_t depth;

	if (!read_number(object, "iat", TOKEN_TIME_MOST, &token->issued_s) ||
	    !read_number(object, "nbf", TOKEN_TIME_MOST, &token->starts_s) ||
	    !read_number(object, "exp", TOKEN_TIME_MOST, &token->expires_s) ||
	    !read_number(object, "dep", LIMIT_TOKEN_DEPTH, &depth))
		return false;
	token->depth = (uint8_t)depth;
	return true;
}

static bool
read_actors(const json_t *object, struct token *token)
{
	const json_t *act = json_object_get(object, "act");

	for (; act != NULL; act = json_object_get(act, "act")) {
		size_t members = json_object_get(act, "act") == NULL ? 1 : 2;

		if (token->actors == LIMIT_TOKEN_DEPTH ||
		    json_object_size(act) != members ||
		    !copy_text(json_object_get(act, "sub"),
			token->actor[token->actors], sizeof(token->actor[0])))
			return false;
		token->actors++;
	}
	return true;
}

static bool
read_may_act(const json_t *object, struct token *token)
{
	const json_t *may_act = json_object_get(object, "may_act");

	return may_act == NULL ||
	       (json_object_size(may_act) == 1 &&
		   copy_text(json_object_get(may_act, "sub"), token->may_act,
		       sizeof(token->may_act)));
}

static int
read_object(const json_t *object, const char *issuer, struct token *ret)
{
	struct token token = { .id = "" };
	const char *said = json_string_value(json_object_get(object, "iss"));
	size_t known = 1 + COUNT(texts) + 4;

	known += json_object_get(object, "act") != NULL;
	known += json_object_get(object, "may_act") != NULL;
	if (!json_is_object(object) || said == NULL ||
	    json_object_size(object) != known || !read_texts(object, &token) ||
	    !read_numbers(object, &token) || !read_actors(object, &token) ||
	    !read_may_act(object, &token) || !token_is_sound(&token))
		return STATUS_MALFORMED;
	if (strcmp(said, issuer) != 0)
		return STATUS_REFUSED;
	*ret = token;
	return STATUS_OK;
}

int
claims_read(struct cursor payload, const char *issuer, struct token *ret)
{
	json_t *object;
	int status;

	if (payload.left > LIMIT_TOKEN ||
	    locate_depth(payload) > LIMIT_JSON_DEPTH)
		return STATUS_MALFORMED;
	object = json_loadb((const char *)payload.at, payload.left,
	    JSON_REJECT_DUPLICATES, NULL);
	status = read_object(object, issuer, ret);
	json_decref(object);
	return status;
}
