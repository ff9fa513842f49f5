#include "broker/fetch/answer.h"

#include "schema/status.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static bool
is_failure(unsigned status)
{
	return status < 200 || status > 299;
}

/* One step down: a member of an object, or an element of an array. */
static json_t *
step(json_t *value, struct cursor key)
{
	char name[LIMIT_ERRAND_URL + 1];
	struct cursor digits = key;
	uint64_t place;

	if (json_is_array(value)) {
		if (!cursor_decimal(&digits, UINT16_MAX, &place) ||
		    digits.left > 0)
			return NULL;
		return json_array_get(value, place);
	}
	if (key.left >= sizeof(name))
		return NULL;
	memcpy(name, key.at, key.left);
	name[key.left] = '\0';
	return json_object_get(value, name);
}

static json_t *
find(json_t *value, struct cursor path)
{
	struct cursor key;

	while (value != NULL && cursor_until(&path, '/', &key))
		value = step(value, key);
	return value == NULL ? NULL : step(value, path);
}

static bool
is_text(struct cursor text)
{
	uint8_t byte;

	while (cursor_u8(&text, &byte))
		if (byte < 0x20 || byte == 0x7f)
			return false;
	return true;
}

/* A value as text; false for what is neither text nor number nor truth. */
static bool
spell(json_t *value, char number[24], struct cursor *ret)
{
	int length = -1;

	if (json_is_string(value)) {
		*ret = cursor_of(
		    json_string_value(value), json_string_length(value));
		return is_text(*ret);
	}
	if (json_is_boolean(value))
		length = snprintf(
		    number, 24, "%s", json_is_true(value) ? "true" : "false");
	else if (json_is_integer(value))
		length = snprintf(number, 24, "%" JSON_INTEGER_FORMAT,
		    json_integer_value(value));
	else if (json_is_real(value))
		length = snprintf(number, 24, "%.0f", json_real_value(value));
	if (length < 0 || length >= 24)
		return false;
	*ret = cursor_of(number, (size_t)length);
	return true;
}

/* STATUS_NOT_FOUND when it is absent. */
static int
take(struct answer *answer, const struct errand_want *want, size_t place,
    struct errand_answer *ret)
{
	json_t *value = find(answer->json, want->path);
	struct errand_field *field = &ret->values[ret->value_count];

	if (value == NULL || json_is_null(value))
		return STATUS_NOT_FOUND;
	if (!spell(value, answer->numbers[place], &field->value))
		return STATUS_MALFORMED;
	field->name = want->name;
	ret->value_count++;
	return STATUS_OK;
}

static json_t *
load(struct cursor body)
{
	json_error_t error;
	json_t *root = json_loadb(
	    (const char *)body.at, body.left, JSON_REJECT_DUPLICATES, &error);

	if (json_is_object(root))
		return root;
	json_decref(root);
	return NULL;
}

void
answer_read(struct answer *answer, struct cursor body, unsigned status,
    const struct errand *errand, struct errand_answer *ret)
{
	size_t bytes = 0;

	ret->end = ERRAND_ANSWERED;
	ret->value_count = 0;
	if (errand->want_count == 0)
		return;
	answer->json = load(body);
	if (answer->json == NULL) {
		if (!is_failure(status))
			ret->end = ERRAND_NOT_JSON;
		return;
	}
	for (size_t i = 0; i < errand->want_count; i++) {
		if (take(answer, &errand->wants[i], i, ret) ==
			STATUS_MALFORMED &&
		    !is_failure(status)) {
			ret->end = ERRAND_NOT_JSON;
			ret->value_count = 0;
			return;
		}
	}
	for (size_t i = 0; i < ret->value_count; i++)
		bytes += ret->values[i].name.left + ret->values[i].value.left;
	if (bytes > LIMIT_ERRAND_VALUES) {
		ret->end = ERRAND_TOO_LONG;
		ret->value_count = 0;
	}
}

void
answer_done(struct answer *answer)
{
	json_decref(answer->json);
	explicit_bzero(answer, sizeof(*answer));
}
