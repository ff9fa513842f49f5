#include "schema/errand.h"

#include "schema/status.h"

#include <assert.h>
#include <string.h>

static const char *const method_names[] = { "GET", "POST", "PUT", "DELETE" };
static_assert(
    sizeof(method_names) / sizeof(method_names[0]) == ERRAND_METHOD_COUNT,
    "every method has a name");

static const char *const end_words[] = {
	"it answered",
	"it pointed elsewhere, and redirects are not followed",
	"its name could not be resolved",
	"it could not be reached",
	"its certificate could not be verified",
	"it did not answer in time",
	"the connection broke off",
	"its answer is longer than any should be",
	"its answer does not read as it should",
	"too many exchanges are under way",
};
static_assert(sizeof(end_words) / sizeof(end_words[0]) == ERRAND_END_COUNT,
    "every end has words");

const char *
errand_end_words(enum errand_end end)
{
	assert(end < ERRAND_END_COUNT);
	return end_words[end];
}

const char *
errand_method_name(enum errand_method method)
{
	assert(method < ERRAND_METHOD_COUNT);
	return method_names[method];
}

bool
errand_answer_find(
    const struct errand_answer *answer, const char *name, struct cursor *ret)
{
	for (size_t i = 0; i < answer->value_count; i++) {
		if (cursor_equals(answer->values[i].name, name)) {
			*ret = answer->values[i].value;
			return true;
		}
	}
	return false;
}

static void
put_block(struct cursor_writer *out, struct cursor bytes)
{
	cursor_put_block(out, bytes.at, bytes.left);
}

void
errand_endpoint_write(
    const struct errand_endpoint *endpoint, struct cursor_writer *out)
{
	cursor_put_string(out, endpoint->url);
	put_block(out, endpoint->roots);
}

int
errand_endpoint_read(struct cursor body, struct errand_endpoint *ret)
{
	struct errand_endpoint endpoint;

	if (!cursor_string(&body, endpoint.url, sizeof(endpoint.url)) ||
	    !cursor_block(&body, &endpoint.roots) ||
	    endpoint.roots.left > LIMIT_ERRAND_ROOTS || !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = endpoint;
	return STATUS_OK;
}

/* Two blocks each: a name, and a value or a path. */
static void
put_fields(
    struct cursor_writer *out, const struct errand_field *fields, size_t count)
{
	cursor_put_u8(out, (uint8_t)count);
	for (size_t i = 0; i < count; i++) {
		put_block(out, fields[i].name);
		put_block(out, fields[i].value);
	}
}

static bool
take_fields(
    struct cursor *body, size_t max, struct errand_field *fields, size_t *ret)
{
	uint8_t count;

	if (!cursor_u8(body, &count) || count > max)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!cursor_block(body, &fields[i].name) ||
		    fields[i].name.left == 0 ||
		    !cursor_block(body, &fields[i].value))
			return false;
	}
	*ret = count;
	return true;
}

static bool
take_wants(struct cursor *body, struct errand *errand)
{
	struct errand_field fields[LIMIT_ERRAND_WANTS];

	if (!take_fields(body, LIMIT_ERRAND_WANTS, fields, &errand->want_count))
		return false;
	for (size_t i = 0; i < errand->want_count; i++) {
		errand->wants[i].name = fields[i].name;
		errand->wants[i].path = fields[i].value;
	}
	return true;
}

void
errand_write(const struct errand *errand, struct cursor_writer *out)
{
	struct errand_field wants[LIMIT_ERRAND_WANTS];

	assert(errand->field_count <= LIMIT_ERRAND_FIELDS &&
	       errand->want_count <= LIMIT_ERRAND_WANTS);
	for (size_t i = 0; i < errand->want_count; i++) {
		wants[i].name = errand->wants[i].name;
		wants[i].value = errand->wants[i].path;
	}
	cursor_put_u32(out, errand->number);
	cursor_put_u16(out, errand->endpoint);
	cursor_put_u8(out, (uint8_t)errand->method);
	put_fields(out, errand->fields, errand->field_count);
	put_fields(out, wants, errand->want_count);
	put_block(out, errand->body);
}

int
errand_read(struct cursor body, struct errand *ret)
{
	struct errand errand;
	uint8_t method;

	if (!cursor_u32(&body, &errand.number) ||
	    !cursor_u16(&body, &errand.endpoint) ||
	    !cursor_u8(&body, &method) || method >= ERRAND_METHOD_COUNT ||
	    !take_fields(&body, LIMIT_ERRAND_FIELDS, errand.fields,
		&errand.field_count) ||
	    !take_wants(&body, &errand) || !cursor_block(&body, &errand.body) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	errand.method = method;
	*ret = errand;
	return STATUS_OK;
}

void
errand_answer_write(
    const struct errand_answer *answer, struct cursor_writer *out)
{
	assert(answer->value_count <= LIMIT_ERRAND_WANTS);
	cursor_put_u32(out, answer->number);
	cursor_put_u8(out, (uint8_t)answer->end);
	cursor_put_u16(out, answer->status);
	cursor_put_string(out, answer->cause);
	put_fields(out, answer->values, answer->value_count);
}

int
errand_answer_read(struct cursor body, struct errand_answer *ret)
{
	struct errand_answer answer;
	uint8_t end;

	if (!cursor_u32(&body, &answer.number) || !cursor_u8(&body, &end) ||
	    end >= ERRAND_END_COUNT || !cursor_u16(&body, &answer.status) ||
	    !cursor_string(&body, answer.cause, sizeof(answer.cause)) ||
	    !take_fields(&body, LIMIT_ERRAND_WANTS, answer.values,
		&answer.value_count) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	answer.end = end;
	*ret = answer;
	return STATUS_OK;
}
