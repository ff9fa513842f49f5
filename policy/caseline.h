/*
 * caseline - one line of a case file: a question and the expected answer.
 *
 *     POST https://api.example.com/repos/acme/x/issues => allow issues
 *
 * The answer is the verdict, "passthrough" where nothing is looked into, and
 * the rule that gave it or, where none did, the reason.  A line may leave out
 * what stands at the end.  "error" expects that the question is refused as
 * ambiguous.  Blank lines and lines that begin with "#" say nothing.
 */
#ifndef POLICY_CASELINE_H
#define POLICY_CASELINE_H

#include "schema/cursor.h"
#include "schema/limits.h"
#include "schema/problem.h"

struct stack;

#define CASELINE_ANSWER_MAX (LIMIT_RULE_ID + 40)

enum caseline_result {
	CASELINE_NOTHING, /* blank, or for people */
	CASELINE_RIGHT,
	CASELINE_WRONG,
	CASELINE_BROKEN /* there is no " => " in it */
};

struct caseline {
	enum caseline_result result;
	struct cursor question, expected; /* borrow from the line */
	char answer[CASELINE_ANSWER_MAX];
	struct problem problem; /* when the answer is "error" */
};

/* STATUS_NO_MEMORY, or fills *ret.  now_us is for lines without "at=". */
int caseline_weigh(const struct stack *stack, struct cursor line,
    int64_t now_us, struct caseline *ret) MUST_CHECK;

#endif
