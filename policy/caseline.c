#include "policy/caseline.h"

#include "policy/question.h"
#include "policy/stack.h"
#include "schema/status.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char arrow[] = "=>";

static bool
is_blank(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r';
}

static struct cursor
trimmed(struct cursor text)
{
	while (text.left > 0 && is_blank(text.at[0]))
		text = cursor_of(text.at + 1, text.left - 1);
	while (text.left > 0 && is_blank(text.at[text.left - 1]))
		text.left--;
	return text;
}

/* A URL may hold the arrow, an answer never does: the last one counts. */
static bool
split(struct cursor line, struct caseline *ret)
{
	const size_t length = sizeof(arrow) - 1;

	for (size_t at = line.left; at-- > 1;) {
		if (!is_blank(line.at[at - 1]) || line.left - at < length ||
		    memcmp(line.at + at, arrow, length) != 0)
			continue;
		ret->question = trimmed(cursor_of(line.at, at));
		ret->expected = trimmed(
		    cursor_of(line.at + at + length, line.left - at - length));
		return true;
	}
	return false;
}

static void
write_answer(const struct verdict *verdict, char out[CASELINE_ANSWER_MAX])
{
	bool unread = verdict->tls == VERDICT_TLS_PASSTHROUGH;
	const char *why = "";
	int length;

	if (verdict->rule != NULL)
		why = rule_id(verdict->rule);
	else if (verdict->kind == VERDICT_DENY)
		why = reason_id(verdict->reason);
	length = snprintf(out, CASELINE_ANSWER_MAX, "%s%s%s%s",
	    verdict_name(verdict->kind), unread ? " passthrough" : "",
	    why[0] == '\0' ? "" : " ", why);
	assert(length > 0 && length < CASELINE_ANSWER_MAX);
}

/* Whether the answer is what was expected, or goes on from it. */
static bool
agrees(const char *answer, struct cursor expected)
{
	struct cursor said = cursor_of_text(answer), start;

	if (expected.left == 0 || !cursor_take(&said, expected.left, &start) ||
	    memcmp(start.at, expected.at, expected.left) != 0)
		return false;
	return said.left == 0 || said.at[0] == ' ';
}

int
caseline_weigh(const struct stack *stack, struct cursor line, int64_t now_us,
    struct caseline *ret)
{
	struct caseline made = { .result = CASELINE_NOTHING,
		.answer = "error" };
	struct question *question;
	struct verdict verdict;

	line = trimmed(line);
	if (line.left == 0 || line.at[0] == '#') {
		*ret = made;
		return STATUS_OK;
	}
	if (!split(line, &made)) {
		made.result = CASELINE_BROKEN;
		*ret = made;
		return STATUS_OK;
	}
	question = calloc(1, sizeof(*question));
	if (question == NULL)
		return STATUS_NO_MEMORY;
	if (question_read(made.question, now_us, question, &made.problem) ==
	    STATUS_OK) {
		stack_decide(stack, &question->facts, &verdict);
		write_answer(&verdict, made.answer);
	}
	free(question);
	made.result = agrees(made.answer, made.expected) ? CASELINE_RIGHT
							 : CASELINE_WRONG;
	*ret = made;
	return STATUS_OK;
}
