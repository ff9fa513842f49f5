#include "policy/member.h"

#include "policy/quota.h"
#include "policy/report.h"
#include "schema/limits.h"

#include <stdlib.h>
#include <string.h>

const char *
member_text(const struct report *report, json_t *value,
    const struct place *place, size_t most)
{
	if (!json_is_string(value)) {
		report_add(report, place, "write a text in quotes",
		    "this must be a text");
		return NULL;
	}
	if (json_string_length(value) > most) {
		report_add(report, place, "write a shorter one",
		    "this text has %zu bytes, and %zu are allowed",
		    json_string_length(value), most);
		return NULL;
	}
	return json_string_value(value);
}

void
member_copy(const struct report *report, json_t *value,
    const struct place *place, size_t most, char **ret)
{
	const char *text = member_text(report, value, place, most);
	char *copy;

	if (text == NULL)
		return;
	copy = strdup(text);
	if (copy == NULL)
		report_no_memory(report);
	else
		*ret = copy;
}

bool
member_flag(
    const struct report *report, json_t *value, const struct place *place)
{
	if (!json_is_boolean(value))
		report_add(report, place, "write true or false",
		    "this must be true or false");
	return json_is_true(value);
}

size_t
member_word(const struct report *report, json_t *value,
    const struct place *place, const char *const *words, const char *cure)
{
	const char *text = json_string_value(value);
	size_t i = 0;

	while (
	    words[i] != NULL && (text == NULL || strcmp(words[i], text) != 0))
		i++;
	if (words[i] == NULL)
		report_add(
		    report, place, cure, "this is none of the words for it");
	return i;
}

size_t
member_list(const struct report *report, json_t *value,
    const struct place *place, const char *cure)
{
	if (!json_is_array(value)) {
		report_add(report, place, cure, "this must be a list");
		return 0;
	}
	if (json_array_size(value) == 0)
		report_add(
		    report, place, cure, "an empty list matches nothing");
	return json_array_size(value);
}

void
member_count(const struct report *report, json_t *value,
    const struct place *place, uint64_t most, uint64_t *ret)
{
	json_int_t number = json_integer_value(value);

	if (value == NULL)
		return;
	if (!json_is_integer(value) || number < 1 || (uint64_t)number > most) {
		report_add(report, place, "write a whole number",
		    "this must be a number from 1 to %llu",
		    (unsigned long long)most);
		return;
	}
	*ret = (uint64_t)number;
}

void
member_quota(const struct report *report, json_t *value,
    const struct place *place, struct quota *ret)
{
	const char *names[QUOTA_KIND_COUNT + 1] = { NULL };

	for (size_t i = 0; i < QUOTA_KIND_COUNT; i++)
		names[i] = quota_kind_name((enum quota_kind)i);
	if (!json_is_object(value) || json_object_size(value) == 0) {
		report_add(report, place,
		    "write {\"requests_per_minute\": 600, \"bytes_out\": "
		    "50000000}",
		    "this must be an object with a limit in it");
		return;
	}
	member_keys(report, value, place, names);
	for (size_t i = 0; i < QUOTA_KIND_COUNT; i++) {
		struct place at = { .above = place, .key = names[i] };

		member_count(report, json_object_get(value, names[i]), &at,
		    LIMIT_QUOTA, &ret->most[i]);
	}
}

/* How many letters to change, add or drop to make one word of the other. */
static size_t
distance(const char *a, const char *b)
{
	size_t row[32], length = strlen(b);

	if (length >= sizeof(row) / sizeof(row[0]))
		return SIZE_MAX;
	for (size_t k = 0; k <= length; k++)
		row[k] = k;
	for (size_t i = 0; a[i] != '\0'; i++) {
		size_t corner = row[0];

		row[0] = i + 1;
		for (size_t k = 1; k <= length; k++) {
			size_t best = corner + (a[i] != b[k - 1]);

			corner = row[k];
			if (corner + 1 < best)
				best = corner + 1;
			if (row[k - 1] + 1 < best)
				best = row[k - 1] + 1;
			row[k] = best;
		}
	}
	return row[length];
}

/* The name nearest to what was written, if it can have been meant. */
static const char *
nearest(const char *written, const char *const *names)
{
	const char *best = NULL;
	size_t least = 3;

	if (strlen(written) > LIMIT_RULE_ID)
		return NULL;
	for (size_t i = 0; names[i] != NULL; i++) {
		size_t far = distance(written, names[i]);

		if (far >= least || far >= strlen(names[i]) ||
		    far >= strlen(written))
			continue;
		least = far;
		best = names[i];
	}
	return best;
}

static bool
is_known(const char *key, const char *const *names)
{
	for (size_t i = 0; names[i] != NULL; i++)
		if (strcmp(key, names[i]) == 0)
			return true;
	return false;
}

static void
report_unknown(const struct report *report, const struct place *place,
    const char *const *names)
{
	char cure[PROBLEM_CURE_MAX];
	struct cursor_writer out = cursor_writer_of(cure, sizeof(cure) - 1);
	const char *meant = nearest(place->key, names);

	cursor_put_text(&out, meant == NULL ? "the keys are " : "write ");
	for (size_t i = 0; meant == NULL && names[i] != NULL; i++) {
		cursor_put_text(&out, i == 0 ? "" : ", ");
		cursor_put_text(&out, names[i]);
	}
	if (meant != NULL) {
		cursor_put_u8(&out, '"');
		cursor_put_text(&out, meant);
		cursor_put_u8(&out, '"');
	}
	cure[out.used] = '\0';
	report_key(
	    report, place, cure, "there is no key \"%s\" here", place->key);
}

void
member_keys(const struct report *report, json_t *object,
    const struct place *place, const char *const *names)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		struct place at = { .above = place, .key = key };

		if (!is_known(key, names))
			report_unknown(report, &at, names);
	}
}
