#include "schema/reins.h"

#include "schema/status.h"

#include <string.h>

void
reins_number_write(uint32_t number, struct cursor_writer *out)
{
	cursor_put_u32(out, number);
}

int
reins_number_read(struct cursor body, uint32_t *ret)
{
	uint32_t number;

	if (!cursor_u32(&body, &number) || !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = number;
	return STATUS_OK;
}

void
reins_exec_write(const struct reins_exec *exec, struct cursor_writer *out)
{
	cursor_put_u8(out, exec->terminal ? 1 : 0);
	cursor_put_u16(out, exec->rows);
	cursor_put_u16(out, exec->columns);
	cursor_put_string(out, exec->cwd);
	cursor_put_u16(out, exec->count);
	cursor_put(out, exec->argv.at, exec->argv.left);
}

static bool
arguments_read(struct cursor argv, uint16_t count)
{
	struct cursor word;

	for (uint16_t i = 0; i < count; i++)
		if (!cursor_block(&argv, &word) ||
		    (word.left > 0 && memchr(word.at, '\0', word.left) != NULL))
			return false;
	return cursor_is_empty(&argv);
}

int
reins_exec_read(struct cursor body, struct reins_exec *ret)
{
	struct reins_exec exec = { .terminal = false };
	uint8_t terminal;

	if (!cursor_u8(&body, &terminal) || terminal > 1 ||
	    !cursor_u16(&body, &exec.rows) ||
	    !cursor_u16(&body, &exec.columns) ||
	    !cursor_string(&body, exec.cwd, sizeof(exec.cwd)) ||
	    !cursor_u16(&body, &exec.count) || exec.count == 0 ||
	    exec.count > LIMIT_PLAN_ARGUMENTS ||
	    !arguments_read(body, exec.count))
		return STATUS_MALFORMED;
	exec.terminal = terminal == 1;
	exec.argv = body;
	*ret = exec;
	return STATUS_OK;
}

void
reins_done_write(const struct reins_done *done, struct cursor_writer *out)
{
	cursor_put_u32(out, done->number);
	cursor_put_string(out, done->problem.text);
	cursor_put_string(out, done->problem.cure);
}

int
reins_done_read(struct cursor body, struct reins_done *ret)
{
	struct reins_done done = { .number = 0 };

	if (!cursor_u32(&body, &done.number) ||
	    !cursor_string(
		&body, done.problem.text, sizeof(done.problem.text)) ||
	    !cursor_string(
		&body, done.problem.cure, sizeof(done.problem.cure)) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = done;
	return STATUS_OK;
}

void
reins_exited_write(const struct reins_exited *exited, struct cursor_writer *out)
{
	cursor_put_u32(out, exited->number);
	cursor_put_u32(out, exited->code);
}

int
reins_exited_read(struct cursor body, struct reins_exited *ret)
{
	struct reins_exited exited;

	if (!cursor_u32(&body, &exited.number) ||
	    !cursor_u32(&body, &exited.code) || exited.code > 255 ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = exited;
	return STATUS_OK;
}
