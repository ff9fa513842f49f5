/*
 * query - read-only questions to an audit database.
 *
 * Files are opened for reading and never checkpointed, so a reader does not
 * disturb the writer.  Where an audit has several segments, the views that
 * people ask stand over the newest UNITE_MAX of them; gateway/audit/across
 * asks each by itself.  SQL from a person passes an authorizer that lets it
 * read and nothing else, ends after LIMIT_QUERY_MS, and gives at most
 * LIMIT_QUERY_ROWS rows.
 */
#ifndef GATEWAY_AUDIT_QUERY_H
#define GATEWAY_AUDIT_QUERY_H

#include "gateway/audit/query_cell.h"
#include "schema/problem.h"

#include <stdbool.h>

struct query;
struct sqlite3;

/* STATUS_NOT_FOUND, with a problem, when there is no such audit. */
int query_open(const char *path, struct query **ret, struct problem *reterr)
    MUST_CHECK;
void query_close(struct query *query);

/*
 * One database of the audit alone: a segment, or any file of ours.  More than
 * LIMIT_QUERY_ROWS may be read from it.
 */
int query_open_file(
    const char *path, struct query **ret, struct problem *reterr) MUST_CHECK;

/* An empty database in memory, for answers that are put together. */
int query_open_memory(struct query **ret, struct problem *reterr) MUST_CHECK;

/* The audit's path and segments; borrows from query. */
const char *query_audit(const struct query *query);
const struct shelf *query_shelf(const struct query *query);

/*
 * Opens the audit again when it has other segments than when it was opened;
 * when that fails, query is as it was.
 */
int query_renew(struct query **query, struct problem *reterr) MUST_CHECK;

/* One of its segments alone, by its place on the shelf; the caller closes. */
int query_segment(const struct query *query, size_t place, struct query **ret,
    struct problem *reterr) MUST_CHECK;

/*
 * Asks one question.  Values that the SQL does not name are ignored; one that
 * it names and is not there is a problem.  *ret_cut tells that there were
 * more rows than may be given.
 */
int query_run(struct query *query, const char *sql,
    const struct query_values *values, const struct query_reader *reader,
    bool *ret_cut, struct problem *reterr) MUST_CHECK;

/* The first value of the first row of constant SQL; false without one. */
bool query_number(struct query *query, const char *sql, int64_t *ret)
    MUST_CHECK;

/* The number of the last row there is, or 0. */
int query_last_seq(struct query *query, int64_t *ret, struct problem *reterr)
    MUST_CHECK;

/*
 * The database itself, for SQL of our own: without the authorizer and without
 * a deadline, still for reading only.  Borrows from query.
 */
struct sqlite3 *query_unguarded(struct query *query);

/* The text of a canned question and its title, or NULL. */
const char *query_question(const char *name, const char **ret_title);

/* Questions by their place; false behind the last. */
bool query_list(size_t place, const char **ret_name, const char **ret_title);

#endif
