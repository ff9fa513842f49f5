#include "broker/reading.h"

#include "schema/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
reading_urls_done(struct reading_urls *endpoints)
{
	for (size_t i = 0; i < endpoints->count; i++)
		free(unconst(endpoints->list[i].roots.at));
	free(STEAL(endpoints->list));
	endpoints->count = 0;
}

void
reading_blame(const struct reading *reading, const char *key, const char *cure,
    const char *format, ...)
{
	struct place at = { .above = reading->place, .key = key };
	char text[PROBLEM_TEXT_MAX];
	va_list arguments;

	va_start(arguments, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): begun above */
	if (vsnprintf(text, sizeof(text), format, arguments) < 0)
		text[0] = '\0';
	va_end(arguments);
	report_add(reading->report, key == NULL ? reading->place : &at, cure,
	    "%s", text);
}

bool
reading_is_name(const char *text)
{
	size_t length = strlen(text);

	return length > 0 && length <= LIMIT_CREDENTIAL_NAME &&
	       strspn(text,
		   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		   "0123456789-_.") == length;
}

json_t *
reading_value(
    const struct reading *reading, const char *key, enum reading_need need)
{
	json_t *value = json_object_get(reading->object, key);

	if (value == NULL && need == READING_REQUIRED)
		reading_blame(
		    reading, NULL, "add it", "\"%s\" is missing here", key);
	return value;
}

static bool
is_printable(const char *text)
{
	for (size_t i = 0; text[i] != '\0'; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return true;
}

/* What is wrong with a value as a text, or NULL. */
static const char *
text_fault(const json_t *value, size_t most)
{
	if (!json_is_string(value))
		return "this must be a text";
	if (json_string_length(value) == 0)
		return "this is empty";
	if (json_string_length(value) > most)
		return "this text is too long";
	if (!is_printable(json_string_value(value)))
		return "this text has a control character in it";
	return NULL;
}

const char *
reading_text(const struct reading *reading, const char *key,
    enum reading_need need, size_t most)
{
	json_t *value = reading_value(reading, key, need);
	const char *fault;

	if (value == NULL)
		return NULL;
	fault = text_fault(value, most);
	if (fault == NULL)
		return json_string_value(value);
	reading_blame(
	    reading, key, "write a text in quotes, on one line", "%s", fault);
	return NULL;
}

size_t
reading_word(const struct reading *reading, const char *key,
    const char *const *words, size_t fallback)
{
	json_t *value = reading_value(reading, key, READING_OPTIONAL);
	const char *text = json_string_value(value);
	char list[200] = "";
	size_t used = 0;

	if (value == NULL)
		return fallback;
	for (size_t i = 0; words[i] != NULL; i++) {
		int length;

		if (text != NULL && strcmp(words[i], text) == 0)
			return i;
		length = snprintf(list + used, sizeof(list) - used, "%s\"%s\"",
		    i == 0 ? "" : ", ", words[i]);
		if (length > 0 && (size_t)length < sizeof(list) - used)
			used += (size_t)length;
	}
	list[used] = '\0';
	reading_blame(
	    reading, key, list, "this must be one of the words for it");
	return fallback;
}

bool
reading_integer(const struct reading *reading, const char *key,
    json_int_t least, json_int_t most, json_int_t *ret)
{
	json_t *value = reading_value(reading, key, READING_OPTIONAL);

	if (value == NULL)
		return false;
	if (json_is_integer(value) && json_integer_value(value) >= least &&
	    json_integer_value(value) <= most) {
		*ret = json_integer_value(value);
		return true;
	}
	reading_blame(reading, key, "write a whole number, without quotes",
	    "this must be a number from %lld to %lld", (long long)least,
	    (long long)most);
	return false;
}

bool
reading_flag(const struct reading *reading, const char *key, bool fallback)
{
	json_t *value = reading_value(reading, key, READING_OPTIONAL);

	if (value == NULL)
		return fallback;
	if (!json_is_boolean(value))
		reading_blame(reading, key, "write true or false",
		    "this must be true or false");
	return json_is_true(value);
}

json_t *
reading_texts(const struct reading *reading, const char *key,
    enum reading_need need, size_t most)
{
	json_t *value = reading_value(reading, key, need), *item;
	struct place list = { .above = reading->place, .key = key };
	size_t i;

	if (value == NULL)
		return NULL;
	if (!json_is_array(value) || json_array_size(value) == 0) {
		reading_blame(reading, key, "write a list, as in [\"one\"]",
		    "this must be a list with something in it");
		return NULL;
	}
	json_array_foreach(value, i, item)
	{
		struct place at = { .above = &list, .index = i };
		const char *fault = text_fault(item, most);

		if (fault == NULL)
			continue;
		report_add(reading->report, &at, "write a text in quotes", "%s",
		    fault);
		return NULL;
	}
	return value;
}

bool
reading_object(const struct reading *reading, const char *key,
    enum reading_need need, struct place *place, struct reading *ret)
{
	json_t *value = reading_value(reading, key, need);

	if (value == NULL)
		return false;
	if (!json_is_object(value)) {
		reading_blame(reading, key, "write {\"key\": value}",
		    "this must be an object");
		return false;
	}
	*place = (struct place){ .above = reading->place, .key = key };
	*ret = *reading;
	ret->object = value;
	ret->place = place;
	return true;
}

/*
 * Only what is the same to every reader of URLs: a host of plain characters,
 * perhaps a port, a path.  No user part, no query, no fragment, no escapes in
 * the host.
 */
static bool
is_plain_url(const char *url)
{
	static const char host_bytes[] = "abcdefghijklmnopqrstuvwxyz"
					 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789.-:[]";
	static const char path_bytes[] = "abcdefghijklmnopqrstuvwxyz"
					 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789._~!$&'()*+,;=:@%/-";
	struct cursor rest = cursor_of_text(url);
	size_t host;
	const char *behind;

	if (!cursor_literal(&rest, "https://"))
		return false;
	behind = url + (strlen(url) - rest.left);
	host = strspn(behind, host_bytes);
	if (host == 0)
		return false;
	behind += host;
	if (*behind == '\0')
		return true;
	return *behind == '/' && behind[strspn(behind, path_bytes)] == '\0';
}

static bool
has_same_roots(struct cursor a, struct cursor b)
{
	return a.left == b.left &&
	       (a.left == 0 || memcmp(a.at, b.at, a.left) == 0);
}

static bool
add_endpoint(
    struct reading_urls *endpoints, const char *url, struct cursor roots)
{
	struct errand_endpoint *endpoint;
	unsigned char *copy = NULL;

	if (endpoints->list == NULL)
		endpoints->list =
		    calloc(LIMIT_ERRAND_ENDPOINTS, sizeof(*endpoints->list));
	if (endpoints->list == NULL ||
	    endpoints->count == LIMIT_ERRAND_ENDPOINTS)
		return false;
	if (roots.left > 0) {
		copy = malloc(roots.left);
		if (copy == NULL)
			return false;
		memcpy(copy, roots.at, roots.left);
	}
	endpoint = &endpoints->list[endpoints->count++];
	memcpy(endpoint->url, url, strlen(url) + 1);
	endpoint->roots.at = copy;
	endpoint->roots.left = roots.left;
	return true;
}

static bool
join(struct reading_urls *endpoints, const char *url, struct cursor roots,
    uint16_t *ret)
{
	size_t place = 0;

	while (place < endpoints->count &&
	       (strcmp(endpoints->list[place].url, url) != 0 ||
		   !has_same_roots(endpoints->list[place].roots, roots)))
		place++;
	if (place == endpoints->count && !add_endpoint(endpoints, url, roots))
		return false;
	*ret = (uint16_t)place;
	return true;
}

/* PEM in the member "ca"; empty when it is absent or was reported. */
static struct cursor
read_roots(const struct reading *reading)
{
	json_t *value = reading_value(reading, "ca", READING_OPTIONAL);
	size_t length = json_string_length(value);

	if (value == NULL)
		return cursor_of(NULL, 0);
	if (json_is_string(value) && length <= LIMIT_ERRAND_ROOTS &&
	    strncmp(json_string_value(value), "-----BEGIN CERTIFICATE-----",
		27) == 0)
		return cursor_of(json_string_value(value), length);
	reading_blame(reading, "ca",
	    "write the certificate itself, with \\n for the end of a line",
	    "this must be a certificate in PEM");
	return cursor_of(NULL, 0);
}

bool
reading_endpoint(const struct reading *reading, const char *key,
    const char *url, uint16_t *ret)
{
	if (strlen(url) > LIMIT_ERRAND_URL || !is_plain_url(url)) {
		reading_blame(reading, key,
		    "write https://, a host and a path; no user, no query, no "
		    "fragment",
		    "\"%.200s\" is no URL that an errand may go to", url);
		return false;
	}
	if (join(reading->endpoints, url, read_roots(reading), ret))
		return true;
	reading_blame(reading, key, "", "there are more than %d URLs",
	    LIMIT_ERRAND_ENDPOINTS);
	return false;
}

bool
reading_url(const struct reading *reading, const char *key,
    enum reading_need need, uint16_t *ret)
{
	const char *url = reading_text(reading, key, need, LIMIT_ERRAND_URL);

	return url != NULL && reading_endpoint(reading, key, url, ret);
}

static bool
is_listed(const char *key, const char *const *names)
{
	for (size_t i = 0; names != NULL && names[i] != NULL; i++)
		if (strcmp(names[i], key) == 0)
			return true;
	return false;
}

void
reading_known(const struct reading *reading, const char *const *common,
    const char *const *own)
{
	const char *key;
	json_t *value;

	json_object_foreach(reading->object, key, value)
	{
		struct place at = { .above = reading->place, .key = key };

		(void)value;
		if (!is_listed(key, common) && !is_listed(key, own))
			report_key(reading->report, &at,
			    "take it out, or look at exeat-credentials(5)",
			    "\"%s\" means nothing here", key);
	}
}
