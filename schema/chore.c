#include "schema/chore.h"

#include "schema/status.h"

void
chore_write(const struct chore *chore, struct cursor_writer *out)
{
	cursor_put_u8(out, (uint8_t)chore->kind);
	cursor_put_u64(out, (uint64_t)chore->segment);
	cursor_put_string(out, chore->run);
	cursor_put_string(out, chore->by);
}

int
chore_read(struct cursor body, struct chore *ret)
{
	struct chore chore = { .segment = 0 };
	uint64_t segment;
	uint8_t kind;

	if (!cursor_u8(&body, &kind) || kind >= CHORE_COUNT ||
	    !cursor_u64(&body, &segment) || segment > INT64_MAX ||
	    !cursor_string(&body, chore.run, sizeof(chore.run)) ||
	    !cursor_string(&body, chore.by, sizeof(chore.by)) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	chore.kind = (enum chore_kind)kind;
	chore.segment = (int64_t)segment;
	if ((chore.run[0] != '\0') !=
		(chore.kind == CHORE_HOLD || chore.kind == CHORE_RELEASE) ||
	    (chore.segment != 0) != (chore.kind == CHORE_PRUNE))
		return STATUS_MALFORMED;
	*ret = chore;
	return STATUS_OK;
}

void
chore_done_write(const struct problem *problem, struct cursor_writer *out)
{
	cursor_put_string(out, problem->text);
	cursor_put_string(out, problem->cure);
}

int
chore_done_read(struct cursor body, struct problem *ret)
{
	struct problem problem = { .text = "" };

	if (!cursor_string(&body, problem.text, sizeof(problem.text)) ||
	    !cursor_string(&body, problem.cure, sizeof(problem.cure)) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = problem;
	return STATUS_OK;
}
