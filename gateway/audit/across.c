#include "gateway/audit/across.h"

#include "gateway/audit/shelf.h"
#include "schema/cursor.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <assert.h>
#include <sqlite3.h>
#include <string.h>

enum {
	VALUES_MAX = 32,
	SQL_ROOM = 16384,
	STEPS_PER_LOOK = 10000
};

/* The answers of all segments, on their way into part or to the reader. */
struct gathering {
	const struct query_reader *reader; /* when they are not merged */
	sqlite3 *db; /* that part stands in, or NULL */
	sqlite3_stmt *insert;
	size_t rows;
	bool named, full, ended, failed;
};

/* ---- the table part ---- */

static void
put_list(struct cursor_writer *out, const struct query_cell *names,
    size_t count, bool is_values)
{
	for (size_t i = 0; i < count; i++) {
		cursor_put_text(out, i == 0 ? "(" : ", ");
		/* A number with a fraction comes as text, and is told so. */
		cursor_put_text(out,
		    is_values ? "CASE ? WHEN 1 THEN CAST(? AS REAL) ELSE ? END"
			      : "\"");
		if (is_values)
			continue;
		cursor_put(out, names[i].text.at, names[i].text.left);
		cursor_put_text(out, "\"");
	}
	cursor_put_text(out, ")");
}

/* Its columns have the names of the answer's, which are our own words. */
static bool
make_part(
    struct gathering *gathering, const struct query_cell *names, size_t count)
{
	char text[SQL_ROOM];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	size_t insert_at;

	cursor_put_text(&out, "CREATE TABLE part");
	put_list(&out, names, count, false);
	cursor_put_u8(&out, 0);
	insert_at = out.used;
	cursor_put_text(&out, "INSERT INTO part VALUES");
	put_list(&out, names, count, true);
	cursor_put_u8(&out, 0);
	return cursor_written(&out) &&
	       sqlite3_exec(gathering->db, text, NULL, NULL, NULL) ==
		   SQLITE_OK &&
	       sqlite3_prepare_v2(gathering->db, text + insert_at, -1,
		   &gathering->insert, NULL) == SQLITE_OK;
}

static int
bind_cell(sqlite3_stmt *statement, int place, const struct query_cell *cell)
{
	const char *bytes = (const char *)cell->text.at;

	switch (cell->type) {
	case QUERY_NULL:
		return sqlite3_bind_null(statement, place);
	case QUERY_INTEGER:
		return sqlite3_bind_int64(statement, place, cell->number);
	case QUERY_REAL:
	case QUERY_TEXT:
		return sqlite3_bind_text64(statement, place,
		    bytes == NULL ? "" : bytes, cell->text.left, SQLITE_STATIC,
		    SQLITE_UTF8);
	case QUERY_BLOB:
		return sqlite3_bind_blob64(statement, place,
		    bytes == NULL ? "" : bytes, cell->text.left, SQLITE_STATIC);
	}
	return SQLITE_MISUSE;
}

/* Three parameters for each: whether it is REAL, and it twice. */
static bool
bind_column(sqlite3_stmt *statement, int place, const struct query_cell *cell)
{
	return sqlite3_bind_int(statement, 3 * place + 1,
		   cell->type == QUERY_REAL) == SQLITE_OK &&
	       bind_cell(statement, 3 * place + 2, cell) == SQLITE_OK &&
	       bind_cell(statement, 3 * place + 3, cell) == SQLITE_OK;
}

static bool
insert_part(
    struct gathering *gathering, const struct query_cell *cells, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!bind_column(gathering->insert, (int)i, &cells[i]))
			return false;
	return sqlite3_step(gathering->insert) == SQLITE_DONE &&
	       sqlite3_reset(gathering->insert) == SQLITE_OK;
}

/* ---- what a segment answers ---- */

static void
on_columns(const struct query_cell *names, size_t count, void *arg)
{
	struct gathering *gathering = arg;

	if (gathering->named)
		return;
	gathering->named = true;
	if (gathering->db != NULL)
		gathering->failed = !make_part(gathering, names, count);
	else if (gathering->reader->on_columns != NULL)
		gathering->reader->on_columns(
		    names, count, gathering->reader->arg);
}

static bool
on_row(const struct query_cell *cells, size_t count, void *arg)
{
	struct gathering *gathering = arg;

	if (gathering->db != NULL) {
		gathering->failed =
		    gathering->failed || !insert_part(gathering, cells, count);
		return !gathering->failed;
	}
	if (gathering->rows++ == LIMIT_QUERY_ROWS) {
		gathering->full = true;
		return false;
	}
	gathering->ended =
	    !gathering->reader->on_row(cells, count, gathering->reader->arg);
	return !gathering->ended;
}

/* ---- by time ---- */

/* When the window of the question begins; 0 when it has no beginning. */
static int64_t
begin_of(const char *sql, const struct query_values *values)
{
	if (strstr(sql, ":t0") == NULL)
		return 0;
	for (size_t i = 0; i < values->count; i++)
		if (strcmp(values->list[i].name, "t0") == 0)
			return values->list[i].is_number
				   ? values->list[i].number
				   : 0;
	return 0;
}

/* Whether all of the segment's rows are older; no when it cannot tell. */
static bool
is_before(struct query *segment, int64_t begin_us)
{
	int64_t last_us;

	return begin_us > 0 &&
	       query_number(
		   segment, "SELECT max(last_us) FROM block", &last_us) &&
	       last_us < begin_us;
}

static bool
is_sealed(struct query *segment)
{
	int64_t indexes;

	return query_number(segment,
		   "SELECT count(*) FROM sqlite_schema WHERE type = 'index' "
		   "AND name = 'ev_reach'",
		   &indexes) &&
	       indexes > 0;
}

/*
 * "+ts_us" keeps SQLite from the index by time, which it takes for better than
 * those that hold all the question asks.  A segment that is being written has
 * no others, so where a part of it is asked for, the plus goes.
 */
static void
allow_time_index(char *sql)
{
	for (char *at = strchr(sql, '+'); at != NULL; at = strchr(at + 1, '+'))
		if (strncmp(at, "+ts_us", 6) == 0 ||
		    strncmp(at, "+e.ts_us", 8) == 0)
			*at = ' ';
}

/* One segment, or an audit of one. */
static int
ask_one(struct query *segment, const char *sql,
    const struct query_values *values, const struct query_reader *reader,
    bool *ret_cut, struct problem *reterr)
{
	char text[SQL_ROOM];
	size_t length = strlen(sql);

	if (begin_of(sql, values) == 0 || length >= sizeof(text) ||
	    is_sealed(segment))
		return query_run(segment, sql, values, reader, ret_cut, reterr);
	memcpy(text, sql, length + 1);
	allow_time_index(text);
	return query_run(segment, text, values, reader, ret_cut, reterr);
}

static int
ask_segments(struct query *query, const char *sql,
    const struct query_values *values, struct gathering *gathering,
    struct problem *reterr)
{
	const struct query_reader reader = { on_columns, on_row, gathering };
	const struct shelf *shelf = query_shelf(query);
	int64_t begin_us = begin_of(sql, values);
	int status = STATUS_OK;

	for (size_t i = 0; i < shelf->count && status == STATUS_OK; i++) {
		struct query *segment;
		bool cut;

		if (gathering->full || gathering->ended || gathering->failed)
			break;
		status = query_segment(query, i, &segment, reterr);
		if (status != STATUS_OK)
			return status;
		/* The newest is asked, or there would be no columns. */
		if (i + 1 == shelf->count || !is_before(segment, begin_us))
			status = ask_one(
			    segment, sql, values, &reader, &cut, reterr);
		query_close(segment);
	}
	if (status == STATUS_OK && gathering->failed)
		return problem_set(reterr, "no memory for the answers");
	return status;
}

/* The values of the question, and :top. */
static int
add_top(const struct query_values *values, int64_t top,
    struct query_value out[VALUES_MAX], struct query_values *ret,
    struct problem *reterr)
{
	if (values->count >= VALUES_MAX)
		return problem_set(reterr, "too many values");
	for (size_t i = 0; i < values->count; i++)
		out[i] = values->list[i];
	out[values->count] = (struct query_value){
		.name = "top", .is_number = true, .number = top
	};
	*ret = (struct query_values){ out, values->count + 1 };
	return STATUS_OK;
}

static const char *
sql_of_each(const struct question *question)
{
	const char *sql =
	    question->part == NULL ? question->sql : question->part;

	assert(sql != NULL);
	return sql;
}

static int
merge(struct query *query, const struct question *question,
    const struct query_values *values, const struct query_reader *reader,
    bool *ret_cut, struct problem *reterr)
{
	struct gathering gathering = { .reader = NULL };
	struct query *whole = NULL;
	int status = query_open_memory(&whole, reterr);

	if (status != STATUS_OK)
		return status;
	gathering.db = query_unguarded(whole);
	status = ask_segments(
	    query, sql_of_each(question), values, &gathering, reterr);
	if (status == STATUS_OK)
		status = query_run(
		    whole, question->merge, values, reader, ret_cut, reterr);
	(void)sqlite3_finalize(gathering.insert);
	query_close(whole);
	return status;
}

int
across_ask(struct query *query, const struct question *question,
    const struct query_values *values, const struct query_reader *reader,
    bool *ret_cut, struct problem *reterr)
{
	struct query_value list[VALUES_MAX];
	struct query_values more;
	struct gathering gathering = { .reader = reader };
	bool is_merged = question->merge != NULL;
	bool is_one = question->sql != NULL && query_shelf(query)->count < 2;
	int status = add_top(values,
	    is_merged && !is_one ? -1 : LIMIT_QUERY_ROWS, list, &more, reterr);

	if (status != STATUS_OK)
		return status;
	if (is_one)
		return ask_one(
		    query, question->sql, &more, reader, ret_cut, reterr);
	if (is_merged)
		return merge(query, question, &more, reader, ret_cut, reterr);
	status = ask_segments(
	    query, sql_of_each(question), &more, &gathering, reterr);
	if (status == STATUS_OK)
		*ret_cut = gathering.full;
	return status;
}

/* ---- questions with a name ---- */

/* What stands behind the line mark, which is made its end. */
static char *
split_at(char *text, const char *mark)
{
	char *found = strstr(text, mark);

	if (found == NULL)
		return NULL;
	*found = '\0';
	return found + strlen(mark);
}

bool
across_question(const char *name, struct question_text *ret)
{
	const char *title, *sql = query_question(name, &title);
	size_t length = sql == NULL ? 0 : strlen(sql);
	char *merge, *part;

	if (sql == NULL || length >= sizeof(ret->text))
		return false;
	memcpy(ret->text, sql, length + 1);
	merge = split_at(ret->text, "\n-- merge\n");
	part = split_at(ret->text, "\n-- part\n");
	ret->title = title;
	ret->of_rollup = strstr(ret->text, "\n-- of the rollup\n") != NULL;
	ret->question = (struct question){ ret->text, part, merge };
	return true;
}
