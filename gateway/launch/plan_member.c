#include "gateway/launch/plan_member.h"

#include "schema/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int
plan_wrong(struct problem *reterr, const char *path, const char *format, ...)
{
	char text[PROBLEM_TEXT_MAX];
	va_list arguments;
	int length;

	va_start(arguments, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): started above */
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	(void)problem_set(
	    reterr, "%s %s", path, length < 0 ? "is wrong" : text);
	if (reterr != NULL &&
	    snprintf(reterr->path, sizeof(reterr->path), "%s", path) < 0)
		reterr->path[0] = '\0';
	return problem_cure(
	    reterr, "this is a mistake of whoever wrote the plan");
}

static const char *
type_name(json_type type)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "an object",
		[JSON_ARRAY] = "an array",
		[JSON_STRING] = "a string",
		[JSON_INTEGER] = "a whole number",
		[JSON_TRUE] = "true or false",
	};

	return names[type];
}

static bool
has_type(const json_t *value, const struct plan_key *key)
{
	if (key->may_be_null && json_is_null(value))
		return true;
	if (key->type == JSON_TRUE)
		return json_is_boolean(value);
	return json_typeof(value) == key->type;
}

static const struct plan_key *
find_key(const struct plan_key *keys, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

int
plan_check_keys(json_t *object, const struct plan_key *keys, size_t count,
    const char *path, struct problem *reterr)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		const struct plan_key *key = find_key(keys, count, name);

		if (key == NULL)
			return plan_wrong(
			    reterr, path, "has an unknown key \"%s\"", name);
		if (!has_type(value, key))
			return plan_wrong(reterr, path, "needs %s as \"%s\"",
			    type_name(key->type), name);
	}
	for (size_t i = 0; i < count; i++)
		if (keys[i].needed &&
		    json_object_get(object, keys[i].name) == NULL)
			return plan_wrong(
			    reterr, path, "has no \"%s\"", keys[i].name);
	return STATUS_OK;
}

const char *
plan_text(json_t *object, const char *name, const char *fallback)
{
	json_t *value = json_object_get(object, name);

	return value == NULL ? fallback : json_string_value(value);
}

bool
plan_flag(json_t *object, const char *name, bool fallback)
{
	json_t *value = json_object_get(object, name);

	return value == NULL ? fallback : json_is_true(value);
}

int
plan_number(json_t *object, const char *name, int64_t most, uint64_t *ret,
    struct problem *reterr)
{
	json_t *value = json_object_get(object, name);
	json_int_t number;

	if (value == NULL)
		return STATUS_OK;
	number = json_integer_value(value);
	if (number < 1 || number > most)
		return plan_wrong(
		    reterr, "$.limits", "has %s out of range", name);
	*ret = (uint64_t)number;
	return STATUS_OK;
}
