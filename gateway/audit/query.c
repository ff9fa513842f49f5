#include "gateway/audit/query.h"

#include "gateway/audit/answer.h"
#include "gateway/audit/mend.h"
#include "gateway/audit/segment.h"
#include "gateway/audit/shelf.h"
#include "gateway/audit/sqltext.h"
#include "gateway/audit/unite.h"
#include "gateway/proc/clock.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	STEPS_PER_LOOK = 10000, /* of the database's machine, at the clock */
	BUSY_MS = 2000,
	VALUE_MAX = 16777216, /* bytes; a policy has 4 MiB */
	MEMORY_MAX = 536870912
};

struct query {
	sqlite3 *db;
	int64_t deadline_us;
	size_t row_limit;
	bool is_united; /* its views stand over several files */
	char audit[SHELF_PATH];
	struct shelf shelf; /* empty for a file alone */
};

/* Reading, and functions that only compute. */
static int
authorize(void *arg, int action, const char *first, const char *second,
    const char *database, const char *source)
{
	(void)database;
	(void)arg;
	(void)first;
	(void)source;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		/* The only one that reaches out of the database. */
		return strcmp(second, "load_extension") == 0 ? SQLITE_DENY
							     : SQLITE_OK;
	default:
		return SQLITE_DENY;
	}
}

static int
on_progress(void *arg)
{
	const struct query *query = arg;

	return clock_monotonic_us() > query->deadline_us;
}

static bool
run_plain(struct query *query, const char *sql)
{
	return sqlite3_exec(query->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

bool
query_number(struct query *query, const char *sql, int64_t *ret)
{
	sqlite3_stmt *statement;
	bool found;

	if (sqlite3_prepare_v2(query->db, sql, -1, &statement, NULL) !=
	    SQLITE_OK)
		return false;
	found = sqlite3_step(statement) == SQLITE_ROW;
	if (found)
		*ret = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	return found;
}

/* Whether the file is an audit, asked before the authorizer is there. */
static bool
is_audit(struct query *query, const char *path)
{
	int64_t application = 0;
	bool answered =
	    query_number(query, "PRAGMA application_id", &application);

	if (!answered && mend_is_needed(query->db) && mend(path))
		answered =
		    query_number(query, "PRAGMA application_id", &application);
	return answered && application == SEGMENT_APPLICATION;
}

/* A segment that is being made, or whose maker died, has nothing in it. */
static bool
is_unmade(struct query *query)
{
	int64_t objects = 1;

	return query_number(
		   query, "SELECT count(*) FROM sqlite_schema", &objects) &&
	       objects == 0;
}

/* What a person asks is held to; ours is not. */
static int
guard(struct query *query, const char *path, struct problem *reterr)
{
	sqlite3 *db = query->db;

	if (!run_plain(query, "PRAGMA query_only = ON")) {
		(void)problem_set(reterr, "cannot guard %s", path);
		return STATUS_PROBLEM;
	}
	(void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
	(void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	(void)sqlite3_hard_heap_limit64(MEMORY_MAX);
	if (sqlite3_set_authorizer(db, authorize, query) != SQLITE_OK)
		return problem_set(reterr, "cannot guard %s", path);
	sqlite3_progress_handler(db, STEPS_PER_LOOK, on_progress, query);
	return STATUS_OK;
}

static int
configure(struct query *query, const char *path, struct problem *reterr)
{
	sqlite3 *db = query->db;

	if (sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) !=
		SQLITE_OK ||
	    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) !=
		SQLITE_OK ||
	    sqlite3_busy_timeout(db, BUSY_MS) != SQLITE_OK ||
	    !run_plain(query, "PRAGMA trusted_schema = OFF") ||
	    !run_plain(query, "PRAGMA temp_store = MEMORY") ||
	    !is_audit(query, path) ||
	    /* Declares its columns once, which the authorizer would forbid. */
	    !run_plain(query, "SELECT 1 FROM json_each('[]'), "
			      "json_tree('[]')")) {
		int code = sqlite3_extended_errcode(db);
		bool unmade = is_unmade(query);

		if (code != SQLITE_OK && code != SQLITE_ROW &&
		    code != SQLITE_DONE && code != SQLITE_NOTADB)
			return problem_set(reterr, "cannot read %s: %s (%d)",
			    path, sqlite3_errstr(code), code);
		(void)problem_set(reterr, "%s is not an audit", path);
		(void)problem_cure(
		    reterr, "Name the right one with --audit DB.");
		return unmade ? STATUS_AGAIN : STATUS_PROBLEM;
	}
	return STATUS_OK;
}

static int
missing(const char *path, struct problem *reterr)
{
	int status = errno == ENOENT ? STATUS_NOT_FOUND : STATUS_PROBLEM;

	(void)problem_errno(reterr, "cannot read the audit %s", path);
	(void)problem_cure(
	    reterr, "exeat run writes it; name another one with --audit DB.");
	return status;
}

/* The file at path, not guarded yet. */
static int
open_plain(const char *path, struct query **ret, struct problem *reterr)
{
	char uri[UNITE_URI];
	struct query *query;
	int status;

	if (access(path, R_OK) != 0)
		return missing(path, reterr);
	if (unite_uri(path, uri, reterr) != STATUS_OK)
		return STATUS_PROBLEM;
	query = calloc(1, sizeof(*query));
	if (query == NULL)
		return problem_set(reterr, "no memory to open %s", path);
	query->deadline_us = INT64_MAX;
	query->row_limit = LIMIT_QUERY_ROWS;
	if (sqlite3_open_v2(uri, &query->db,
		SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
		    SQLITE_OPEN_EXRESCODE,
		NULL) != SQLITE_OK) {
		(void)problem_set(reterr, "cannot open %s: %s", path,
		    sqlite3_errmsg(query->db));
		query_close(query);
		return STATUS_PROBLEM;
	}
	status = configure(query, path, reterr);
	if (status == STATUS_OK)
		*ret = query;
	else
		query_close(query);
	return status;
}

/* The newest segment, and the views of the others beside it. */
static int
open_segments(const char *audit, const struct shelf *shelf, struct query **ret,
    struct problem *reterr)
{
	char path[SHELF_PATH];
	struct query *query = NULL;
	int status =
	    shelf_path(audit, shelf->numbers[shelf->count - 1], path, reterr);

	if (status != STATUS_OK)
		return status;
	status = open_plain(path, &query, reterr);
	if (status != STATUS_OK || query == NULL)
		return status;
	query->is_united = shelf->count > 1;
	query->shelf = *shelf;
	status = shelf_path(audit, 1, query->audit, reterr);
	if (status == STATUS_OK && query->is_united)
		status = unite(query->db, audit, shelf, reterr);
	if (status == STATUS_OK)
		status = guard(query, path, reterr);
	if (status == STATUS_OK)
		*ret = query;
	else
		query_close(query);
	return status;
}

int
query_open(const char *path, struct query **ret, struct problem *reterr)
{
	struct shelf *shelf = calloc(1, sizeof(*shelf));
	int status;

	if (shelf == NULL)
		return problem_set(reterr, "no memory to open %s", path);
	status = shelf_read(path, shelf, reterr);
	if (status == STATUS_OK && shelf->count == 0) {
		errno = ENOENT;
		status = missing(path, reterr);
	}
	if (status == STATUS_OK)
		status = open_segments(path, shelf, ret, reterr);
	if (status == STATUS_AGAIN && shelf->count > 1) {
		shelf->count--;
		status = open_segments(path, shelf, ret, reterr);
	}
	free(shelf);
	return status;
}

int
query_open_file(const char *path, struct query **ret, struct problem *reterr)
{
	struct query *query = NULL;
	int status = open_plain(path, &query, reterr);

	if (status != STATUS_OK || query == NULL)
		return status;
	query->row_limit = SIZE_MAX;
	status = guard(query, path, reterr);
	if (status == STATUS_OK)
		*ret = query;
	else
		query_close(query);
	return status;
}

int
query_open_memory(struct query **ret, struct problem *reterr)
{
	struct query *query = calloc(1, sizeof(*query));

	if (query == NULL)
		return problem_set(reterr, "no memory for the answers");
	if (sqlite3_open_v2(":memory:", &query->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY |
		    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
		NULL) != SQLITE_OK) {
		query_close(query);
		return problem_set(reterr, "no memory for the answers");
	}
	query->deadline_us = INT64_MAX;
	query->row_limit = LIMIT_QUERY_ROWS;
	*ret = query;
	return STATUS_OK;
}

const char *
query_audit(const struct query *query)
{
	return query->audit;
}

const struct shelf *
query_shelf(const struct query *query)
{
	return &query->shelf;
}

static int
has_changed(const struct query *query, bool *ret, struct problem *reterr)
{
	struct shelf *shelf = calloc(1, sizeof(*shelf));
	int status;

	if (shelf == NULL)
		return problem_set(reterr, "no memory to look for segments");
	status = shelf_read(query->audit, shelf, reterr);
	if (status == STATUS_OK)
		*ret = shelf->count != query->shelf.count ||
		       memcmp(shelf->numbers, query->shelf.numbers,
			   shelf->count * sizeof(shelf->numbers[0])) != 0;
	free(shelf);
	return status;
}

int
query_renew(struct query **query, struct problem *reterr)
{
	struct query *newer = NULL;
	bool changed = false;
	int status = has_changed(*query, &changed, reterr);

	if (status != STATUS_OK || !changed)
		return status;
	status = query_open((*query)->audit, &newer, reterr);
	if (status != STATUS_OK || newer == NULL)
		return status;
	query_close(*query);
	*query = newer;
	return STATUS_OK;
}

int
query_segment(const struct query *query, size_t place, struct query **ret,
    struct problem *reterr)
{
	char path[SHELF_PATH];
	int status =
	    shelf_path(query->audit, query->shelf.numbers[place], path, reterr);

	return status == STATUS_OK ? query_open_file(path, ret, reterr)
				   : status;
}

void
query_close(struct query *query)
{
	if (query == NULL)
		return;
	(void)sqlite3_close(query->db);
	free(query);
}

/* What to say when a person's SQL does not run. */
static int
tell(struct query *query, struct problem *reterr)
{
	const char *text = sqlite3_errmsg(query->db);

	(void)problem_set(reterr, "%s", text);
	if (query->is_united && strstr(text, "no such column") != NULL &&
	    strstr(text, "id") != NULL)
		return problem_cure(reterr,
		    "This audit has several segments, and an id means nothing "
		    "in another: ask v_event, which has names, or one file "
		    "with --audit.");
	if (strstr(text, "no such column") != NULL ||
	    strstr(text, "no such table") != NULL)
		return problem_cure(reterr,
		    "v_event, v_denied and v_open_intent have seq at kind "
		    "verdict reason sandbox tenant agent on_behalf jti host "
		    "port verb object status cred bytes_out bytes_in ms rule "
		    "req flow_id parent_seq detail ts_us; v_exec has exe argv "
		    "pid ppid uid sha256.");
	if (sqlite3_errcode(query->db) == SQLITE_AUTH)
		return problem_cure(reterr,
		    "An audit is only read: one SELECT over v_event, "
		    "v_denied, v_exec or v_open_intent.");
	if (sqlite3_errcode(query->db) == SQLITE_INTERRUPT)
		return problem_cure(reterr,
		    "It took more than %d s; ask for less, as in \"WHERE seq "
		    "> (SELECT max(seq) - 10000 FROM v_event)\".",
		    LIMIT_QUERY_MS / 1000);
	return STATUS_PROBLEM;
}

static int
prepare(struct query *query, const char *sql, sqlite3_stmt **ret,
    struct problem *reterr)
{
	sqlite3_stmt *statement;
	const char *rest;

	if (sqlite3_prepare_v2(query->db, sql, -1, &statement, &rest) !=
	    SQLITE_OK)
		return tell(query, reterr);
	if (statement == NULL)
		return problem_set(reterr, "there is no SQL in that");
	if (rest[strspn(rest, " \t\r\n;")] != '\0') {
		(void)sqlite3_finalize(statement);
		return problem_set(reterr, "one statement at a time");
	}
	if (sqlite3_column_count(statement) > QUERY_COLUMNS_MAX) {
		(void)sqlite3_finalize(statement);
		return problem_set(
		    reterr, "at most %d columns at a time", QUERY_COLUMNS_MAX);
	}
	*ret = statement;
	return STATUS_OK;
}

int
query_run(struct query *query, const char *sql,
    const struct query_values *values, const struct query_reader *reader,
    bool *ret_cut, struct problem *reterr)
{
	sqlite3_stmt *statement = NULL;
	bool cut = false;
	int status = prepare(query, sql, &statement, reterr);

	if (status != STATUS_OK)
		return status;
	status = answer_bind(statement, values, reterr);
	if (status != STATUS_OK) {
		(void)sqlite3_finalize(statement);
		return status;
	}
	query->deadline_us =
	    clock_monotonic_us() + (int64_t)LIMIT_QUERY_MS * 1000;
	if (answer_read(statement, reader, query->row_limit, &cut) != STATUS_OK)
		status = tell(query, reterr);
	query->deadline_us = INT64_MAX;
	(void)sqlite3_finalize(statement);
	if (status == STATUS_OK)
		*ret_cut = cut;
	return status;
}

int
query_last_seq(struct query *query, int64_t *ret, struct problem *reterr)
{
	sqlite3_stmt *statement = NULL;
	bool found;

	/* A segment that was just begun may have no row yet. */
	(void)sqlite3_set_authorizer(query->db, NULL, NULL);
	found = sqlite3_prepare_v2(query->db,
		    query->is_united
			? "SELECT max(ifnull((SELECT max(seq) FROM "
			  "main.event), 0), ifnull((SELECT max(seq) FROM "
			  "s1.event), 0))"
			: "SELECT ifnull(max(seq), 0) FROM event",
		    -1, &statement, NULL) == SQLITE_OK &&
		sqlite3_step(statement) == SQLITE_ROW;
	if (found)
		*ret = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	(void)sqlite3_set_authorizer(query->db, authorize, query);
	return found ? STATUS_OK : tell(query, reterr);
}

struct sqlite3 *
query_unguarded(struct query *query)
{
	(void)sqlite3_set_authorizer(query->db, NULL, NULL);
	sqlite3_progress_handler(query->db, 0, NULL, NULL);
	return query->db;
}

const char *
query_question(const char *name, const char **ret_title)
{
	for (const struct sqltext *text = sqltext_questions; text->name != NULL;
	     text++) {
		if (strcmp(text->name, name) != 0)
			continue;
		*ret_title = text->title;
		return text->sql;
	}
	return NULL;
}

bool
query_list(size_t place, const char **ret_name, const char **ret_title)
{
	const struct sqltext *text = sqltext_questions;

	while (place > 0 && text->name != NULL) {
		text++;
		place--;
	}
	if (text->name == NULL)
		return false;
	*ret_name = text->name;
	*ret_title = text->title;
	return true;
}
