/*
 * approval - one question to a person and the answer.
 *
 * Up: APPROVAL_ASK when a request waits for a person, APPROVAL_OVER when the
 * question is answered or gone.  Down: APPROVAL_ANSWER.  The question is what
 * the gateway judged, in canonical form: of what it asks nothing is the
 * sandbox's own wording, though path and query are its choice.  What does not
 * fit here is not asked: nobody can agree to what is not shown.  Words of the
 * sandbox's own stand apart, and are shown as such.
 *
 * A yes is good for exactly the question: two requests are the same when
 * approval_is_same() says so.
 */
#ifndef SCHEMA_APPROVAL_H
#define SCHEMA_APPROVAL_H

#include "schema/cursor.h"
#include "schema/limits.h"

#define APPROVAL_DIGEST 32

struct approval_question {
	char id[LIMIT_ASK_ID + 1]; /* "abcd-1"; unique in the run */
	char rule[LIMIT_RULE_ID + 1]; /* that asks */
	uint8_t policy[APPROVAL_DIGEST]; /* SHA-256 of the layer it is in */
	char host[LIMIT_HOST + 1]; /* canonical name, or a literal address */
	uint16_t port;
	bool tls;
	char method[LIMIT_HTTP_METHOD + 1];
	char upgrade[LIMIT_UPGRADE + 1]; /* or empty */
	char target[LIMIT_ASK_TARGET + 1]; /* canonical path, '?' and query */
	char program[LIMIT_EXE + 1]; /* that asked first; or empty: unknown */
	char words[LIMIT_ASK_WORDS + 1]; /* of the sandbox's own; or empty */
	uint32_t timeout_s; /* from when it is asked: then silence is a no */
	uint32_t grant_s, grant_uses; /* the most a yes can give */
};

struct approval_answer {
	char id[LIMIT_ASK_ID + 1];
	bool yes;
	uint32_t grant_s, grant_uses; /* 0: as much as the rule gives */
	char by[LIMIT_PRINCIPAL + 1]; /* who said it, and how */
};

enum approval_end {
	APPROVAL_GRANTED,
	APPROVAL_REFUSED,
	APPROVAL_EXPIRED, /* nobody answered */
	APPROVAL_REPLACED, /* another policy is in force */
	APPROVAL_END_COUNT
};

struct approval_over {
	char id[LIMIT_ASK_ID + 1];
	enum approval_end end;
	uint32_t grant_s, grant_uses; /* of a yes */
};

const char *approval_end_name(enum approval_end end);

/*
 * Whether both ask for the same thing; id, program, words, times and grant
 * apart.
 */
bool approval_is_same(
    const struct approval_question *a, const struct approval_question *b);

void approval_question_write(
    const struct approval_question *question, struct cursor_writer *out);
int approval_question_read(struct cursor body, struct approval_question *ret)
    MUST_CHECK;

void approval_answer_write(
    const struct approval_answer *answer, struct cursor_writer *out);
int approval_answer_read(struct cursor body, struct approval_answer *ret)
    MUST_CHECK;

void approval_over_write(
    const struct approval_over *over, struct cursor_writer *out);
int approval_over_read(struct cursor body, struct approval_over *ret)
    MUST_CHECK;

#endif
