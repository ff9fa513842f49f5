/*
 * across - one question to an audit of any number of segments.
 *
 * Each segment is asked by itself, oldest first, with its own indexes; the
 * answers stand one behind the other, or are put together by a second
 * question over them, the table part.
 */
#ifndef GATEWAY_AUDIT_ACROSS_H
#define GATEWAY_AUDIT_ACROSS_H

#include "gateway/audit/query.h"

struct question {
	const char *sql; /* for an audit of one segment; NULL: as of several */
	const char *part; /* for each of several; NULL: sql */
	const char *merge; /* over part; NULL: one behind the other */
};

/*
 * As query_run().  sql and part may say :top, which is LIMIT_QUERY_ROWS where
 * the answer is given at once, and -1 where it is put together.
 */
int across_ask(struct query *query, const struct question *question,
    const struct query_values *values, const struct query_reader *reader,
    bool *ret_cut, struct problem *reterr) MUST_CHECK;

/* A question of schema/audit/questions; false when there is none. */
struct question_text {
	const char *title;
	bool of_rollup; /* it is asked of DB.rollup */
	struct question question; /* borrows from text */
	char text[8192];
};
bool across_question(const char *name, struct question_text *ret) MUST_CHECK;

#endif
