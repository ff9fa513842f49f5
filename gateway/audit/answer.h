/*
 * answer - one prepared statement: values in, cells out.
 *
 * The part of gateway/audit/query that knows SQLite's types.
 */
#ifndef GATEWAY_AUDIT_ANSWER_H
#define GATEWAY_AUDIT_ANSWER_H

#include "gateway/audit/query_cell.h"
#include "schema/problem.h"

struct sqlite3_stmt;

/* Borrows the values until the statement is finalised. */
int answer_bind(struct sqlite3_stmt *statement,
    const struct query_values *values, struct problem *reterr) MUST_CHECK;

/*
 * Columns, at most QUERY_COLUMNS_MAX, then rows.  *ret_cut is set when there
 * were more than limit; STATUS_SYSTEM when a step fails.
 */
int answer_read(struct sqlite3_stmt *statement,
    const struct query_reader *reader, size_t limit, bool *ret_cut) MUST_CHECK;

#endif
