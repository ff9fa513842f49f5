#include "schema/grant.h"

#include "schema/status.h"

#include <string.h>

void
grant_done(struct grant *grant)
{
	if (grant == NULL)
		return;
	for (size_t i = 0; i < grant->count; i++)
		secret_free(STEAL(grant->fields[i].value));
	grant->count = 0;
}

bool
grant_place_is_sent(enum grant_place place)
{
	return place == GRANT_HEADER || place == GRANT_QUERY ||
	       place == GRANT_STEAD;
}

static int
check_field(const struct grant *grant, enum grant_place place, const char *name,
    const struct secret *value)
{
	if (value == NULL)
		return STATUS_NO_MEMORY;
	if (grant->count == LIMIT_GRANT_FIELDS)
		return STATUS_FULL;
	if (strlen(name) > LIMIT_GRANT_FIELD_NAME)
		return STATUS_TOO_LONG;
	/* A key is bytes, or lines; everything else stands in a head. */
	if (name[0] == '\0' ||
	    (grant_place_is_sent(place) && !secret_is_text(value)))
		return STATUS_MALFORMED;
	return STATUS_OK;
}

int
grant_add(struct grant *grant, enum grant_place place, const char *name,
    struct secret *value)
{
	int status = check_field(grant, place, name, value);
	struct grant_field *field = &grant->fields[grant->count];

	if (status != STATUS_OK) {
		secret_free(value);
		return status;
	}
	field->place = place;
	memcpy(field->name, name, strlen(name) + 1);
	field->value = value;
	grant->count++;
	return STATUS_OK;
}

void
grant_question_write(
    const struct grant_question *question, struct cursor_writer *out)
{
	cursor_put_u32(out, question->number);
	cursor_put_string(out, question->credential);
	cursor_put_string(out, question->host);
	cursor_put_u16(out, question->port);
	cursor_put_u8(out, question->tls);
	cursor_put_string(out, question->scope);
}

int
grant_question_read(struct cursor body, struct grant_question *ret)
{
	struct grant_question question;
	uint8_t tls;

	if (!cursor_u32(&body, &question.number) ||
	    !cursor_string(
		&body, question.credential, sizeof(question.credential)) ||
	    !cursor_string(&body, question.host, sizeof(question.host)) ||
	    !cursor_u16(&body, &question.port) || !cursor_u8(&body, &tls) ||
	    tls > 1 ||
	    !cursor_string(&body, question.scope, sizeof(question.scope)) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	question.tls = tls == 1;
	*ret = question;
	return STATUS_OK;
}

void
grant_write(const struct grant *grant, struct cursor_writer *out)
{
	cursor_put_u32(out, grant->number);
	cursor_put_u32(out, grant->lease_ms);
	cursor_put_u16(out, grant->slot);
	cursor_put_u64(out, grant->generation);
	cursor_put_u8(out, (uint8_t)grant->count);
	for (size_t i = 0; i < grant->count; i++) {
		const struct grant_field *field = &grant->fields[i];
		struct cursor value = secret_bytes(field->value);

		cursor_put_u8(out, (uint8_t)field->place);
		cursor_put_string(out, field->name);
		cursor_put_block(out, value.at, value.left);
	}
}

static int
read_field(struct cursor *body, struct grant *grant)
{
	char name[LIMIT_GRANT_FIELD_NAME + 1];
	struct cursor value;
	uint8_t place;

	if (!cursor_u8(body, &place) || place >= GRANT_PLACE_COUNT ||
	    !cursor_string(body, name, sizeof(name)) ||
	    !cursor_block(body, &value))
		return STATUS_MALFORMED;
	return grant_add(
	    grant, (enum grant_place)place, name, secret_new(value));
}

int
grant_read(struct cursor body, struct grant *ret)
{
	struct grant grant = { .count = 0 };
	uint8_t count;
	int status = STATUS_OK;

	if (!cursor_u32(&body, &grant.number) ||
	    !cursor_u32(&body, &grant.lease_ms) ||
	    !cursor_u16(&body, &grant.slot) ||
	    !cursor_u64(&body, &grant.generation) ||
	    !cursor_u8(&body, &count) || count > LIMIT_GRANT_FIELDS)
		return STATUS_MALFORMED;
	for (uint8_t i = 0; status == STATUS_OK && i < count; i++)
		status = read_field(&body, &grant);
	if (status == STATUS_OK && !cursor_is_empty(&body))
		status = STATUS_MALFORMED;
	if (status != STATUS_OK) {
		grant_done(&grant);
		return status;
	}
	*ret = grant;
	return STATUS_OK;
}

void
grant_refusal_write(
    const struct grant_refusal *refusal, struct cursor_writer *out)
{
	cursor_put_u32(out, refusal->number);
	cursor_put_string(out, refusal->text);
}

int
grant_refusal_read(struct cursor body, struct grant_refusal *ret)
{
	struct grant_refusal refusal;

	if (!cursor_u32(&body, &refusal.number) ||
	    !cursor_string(&body, refusal.text, sizeof(refusal.text)) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = refusal;
	return STATUS_OK;
}

bool
grant_is_same(const struct grant_question *a, const struct grant_question *b)
{
	return strcmp(a->credential, b->credential) == 0 &&
	       strcmp(a->host, b->host) == 0 && a->port == b->port &&
	       a->tls == b->tls && strcmp(a->scope, b->scope) == 0;
}
