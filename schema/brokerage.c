#include "schema/brokerage.h"

#include "schema/status.h"

#include <assert.h>

static const char *const source_names[] = {
	[BROKERAGE_FILE] = "file",
	[BROKERAGE_FD] = "fd",
	[BROKERAGE_ENV] = "env",
	[BROKERAGE_SYSTEMD] = "systemd",
};

static_assert(
    sizeof(source_names) / sizeof(source_names[0]) == BROKERAGE_SOURCE_COUNT,
    "every source has a name");

const char *
brokerage_source_name(enum brokerage_source source)
{
	return source_names[source];
}

void
brokerage_want_write(
    const struct brokerage_want *want, struct cursor_writer *out)
{
	cursor_put_u16(out, want->number);
	cursor_put_u8(out, (uint8_t)want->source);
	cursor_put_string(out, want->name);
}

int
brokerage_want_read(struct cursor body, struct brokerage_want *ret)
{
	struct brokerage_want want;
	uint8_t source;

	if (!cursor_u16(&body, &want.number) || !cursor_u8(&body, &source) ||
	    source >= BROKERAGE_SOURCE_COUNT ||
	    !cursor_string(&body, want.name, sizeof(want.name)) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	want.source = (enum brokerage_source)source;
	*ret = want;
	return STATUS_OK;
}

void
brokerage_have_write(uint16_t number, struct cursor_writer *out)
{
	cursor_put_u16(out, number);
}

int
brokerage_have_read(struct cursor body, uint16_t *ret)
{
	uint16_t number;

	if (!cursor_u16(&body, &number) || !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = number;
	return STATUS_OK;
}

void
brokerage_lack_write(
    const struct brokerage_lack *lack, struct cursor_writer *out)
{
	cursor_put_u16(out, lack->number);
	cursor_put_string(out, lack->problem.text);
	cursor_put_string(out, lack->problem.cure);
}

int
brokerage_lack_read(struct cursor body, struct brokerage_lack *ret)
{
	struct brokerage_lack lack = { .number = 0 };

	if (!cursor_u16(&body, &lack.number) ||
	    !cursor_string(
		&body, lack.problem.text, sizeof(lack.problem.text)) ||
	    !cursor_string(
		&body, lack.problem.cure, sizeof(lack.problem.cure)) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = lack;
	return STATUS_OK;
}

void
brokerage_need_write(const char *credential, struct cursor_writer *out)
{
	cursor_put_string(out, credential);
}

int
brokerage_need_read(struct cursor body, char ret[LIMIT_CREDENTIAL_NAME + 1])
{
	struct cursor copy = body;

	if (!cursor_string(&copy, ret, LIMIT_CREDENTIAL_NAME + 1) ||
	    !cursor_is_empty(&copy))
		return STATUS_MALFORMED;
	return STATUS_OK;
}

void
brokerage_begin_write(
    const struct brokerage_begin *begin, struct cursor_writer *out)
{
	cursor_put_u8(out, (uint8_t)begin->mode);
	cursor_put_string(out, begin->run);
	cursor_put(out, begin->id, sizeof(begin->id));
	cursor_put_string(out, begin->identity);
	cursor_put_string(out, begin->principal);
}

int
brokerage_begin_read(struct cursor body, struct brokerage_begin *ret)
{
	struct brokerage_begin begin;
	uint8_t mode;

	if (!cursor_u8(&body, &mode) || mode >= BROKERAGE_MODE_COUNT ||
	    !cursor_string(&body, begin.run, sizeof(begin.run)) ||
	    begin.run[0] == '\0' ||
	    !cursor_copy(&body, sizeof(begin.id), begin.id) ||
	    !cursor_string(&body, begin.identity, sizeof(begin.identity)) ||
	    !cursor_string(&body, begin.principal, sizeof(begin.principal)) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	begin.mode = (enum brokerage_mode)mode;
	*ret = begin;
	return STATUS_OK;
}

void
brokerage_revoke_write(
    const struct brokerage_revoke *revoke, struct cursor_writer *out)
{
	cursor_put_string(out, revoke->credential);
	cursor_put_string(out, revoke->by);
}

int
brokerage_revoke_read(struct cursor body, struct brokerage_revoke *ret)
{
	struct brokerage_revoke revoke;

	if (!cursor_string(
		&body, revoke.credential, sizeof(revoke.credential)) ||
	    !cursor_string(&body, revoke.by, sizeof(revoke.by)) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = revoke;
	return STATUS_OK;
}

void
brokerage_problem_write(
    const struct problem *problem, struct cursor_writer *out)
{
	cursor_put_string(out, problem->text);
	cursor_put_string(out, problem->cure);
	cursor_put_string(out, problem->path);
	cursor_put_u32(out, problem->line);
	cursor_put_u32(out, problem->column);
}

int
brokerage_problem_read(struct cursor body, struct problem *ret)
{
	struct problem problem = { .text = "" };
	uint32_t line, column;

	if (!cursor_string(&body, problem.text, sizeof(problem.text)) ||
	    !cursor_string(&body, problem.cure, sizeof(problem.cure)) ||
	    !cursor_string(&body, problem.path, sizeof(problem.path)) ||
	    !cursor_u32(&body, &line) || !cursor_u32(&body, &column) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	problem.line = line;
	problem.column = column;
	*ret = problem;
	return STATUS_OK;
}

void
brokerage_variable_write(
    const struct brokerage_variable *variable, struct cursor_writer *out)
{
	cursor_put_string(out, variable->name);
	cursor_put_string(out, variable->value);
}

int
brokerage_variable_read(struct cursor body, struct brokerage_variable *ret)
{
	struct brokerage_variable variable;

	if (!cursor_string(&body, variable.name, sizeof(variable.name)) ||
	    variable.name[0] == '\0' ||
	    !cursor_string(&body, variable.value, sizeof(variable.value)) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = variable;
	return STATUS_OK;
}
