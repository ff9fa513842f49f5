#include "gateway/proto/wish.h"

#include "gateway/proto/header.h"
#include "schema/status.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum part {
	PART_URL,
	PART_METHOD,
	PART_UPGRADE,
	PART_WHY,
	PART_COUNT
};

/* Printable ASCII without a blank, so that it stays one word. */
static bool
is_word(struct cursor text)
{
	uint8_t byte;

	if (cursor_is_empty(&text))
		return false;
	while (cursor_u8(&text, &byte))
		if (byte <= ' ' || byte > '~')
			return false;
	return true;
}

static bool
is_text(struct cursor text)
{
	(void)text;
	return true;
}

/* What a part may be at most, and what is said of one that is none. */
static const struct {
	const char *name;
	size_t most; /* bytes */
	bool (*fits)(struct cursor text);
	const char *fault, *too_long;
} parts[] = {
	[PART_URL] = { "url", LIMIT_ASK_TARGET + LIMIT_HOST, is_word,
	    "\"url\" is a URL without blanks, as in "
	    "\"https://api.example.com/merge/1\".",
	    "\"url\" is longer than a person would read." },
	[PART_METHOD] = { "method", LIMIT_HTTP_METHOD, header_is_token,
	    "\"method\" is one word, as in \"POST\".",
	    "\"method\" is longer than any method." },
	[PART_UPGRADE] = { "upgrade", LIMIT_UPGRADE, header_is_token,
	    "\"upgrade\" is one word, as in \"websocket\".",
	    "\"upgrade\" is longer than any protocol's name." },
	[PART_WHY] = { "why", LIMIT_ASK_WORDS, is_text,
	    "\"why\" is a text, in a sentence or two.",
	    "\"why\" is longer than a person would read." },
};

static_assert(
    sizeof(parts) / sizeof(parts[0]) == PART_COUNT, "each part has its row");

/* A part that is not there stays NULL. */
static int
take_part(json_t *root, enum part part, const char **ret, const char **fault)
{
	json_t *value = json_object_get(root, parts[part].name);
	const char *text = json_string_value(value);
	size_t length = json_string_length(value);

	if (value == NULL && part != PART_URL)
		return STATUS_OK;
	*fault = parts[part].fault;
	if (text == NULL || !parts[part].fits(cursor_of(text, length)))
		return STATUS_MALFORMED;
	*fault = parts[part].too_long;
	if (length > parts[part].most)
		return STATUS_TOO_LONG;
	*ret = text;
	return STATUS_OK;
}

/* Only members that mean something: a slip of the pen is no wish. */
static bool
has_only_parts(json_t *root)
{
	const char *key;
	json_t *value;

	json_object_foreach(root, key, value)
	{
		size_t i = 0;

		while (i < PART_COUNT && strcmp(key, parts[i].name) != 0)
			i++;
		if (i == PART_COUNT)
			return false;
	}
	return true;
}

static int
read_parts(json_t *root, struct wish *ret, const char **fault)
{
	const char *found[PART_COUNT] = {
		[PART_METHOD] = "GET", [PART_WHY] = ""
	};

	*fault = "The body is one JSON object with \"url\", and perhaps "
		 "\"method\", \"upgrade\" and \"why\".";
	if (!json_is_object(root) || !has_only_parts(root))
		return STATUS_MALFORMED;
	for (enum part part = 0; part < PART_COUNT; part++) {
		int status = take_part(root, part, &found[part], fault);

		if (status != STATUS_OK)
			return status;
	}
	(void)snprintf(ret->request, sizeof(ret->request), "%s %s%s%s",
	    found[PART_METHOD], found[PART_URL],
	    found[PART_UPGRADE] == NULL ? "" : " upgrade=",
	    found[PART_UPGRADE] == NULL ? "" : found[PART_UPGRADE]);
	(void)snprintf(ret->why, sizeof(ret->why), "%s", found[PART_WHY]);
	return STATUS_OK;
}

int
wish_parse(struct cursor body, struct wish *ret, const char **ret_fault)
{
	struct wish wish;
	json_t *root = json_loadb(
	    (const char *)body.at, body.left, JSON_REJECT_DUPLICATES, NULL);
	int status;

	if (root == NULL) {
		*ret_fault = "The body is no JSON: {\"url\": \"https://...\", "
			     "\"method\": \"POST\", \"why\": \"...\"}.";
		return STATUS_MALFORMED;
	}
	status = read_parts(root, &wish, ret_fault);
	json_decref(root);
	if (status == STATUS_OK)
		*ret = wish;
	return status;
}
