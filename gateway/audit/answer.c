#include "gateway/audit/answer.h"

#include "schema/status.h"

#include <sqlite3.h>
#include <string.h>

static const struct query_value *
find_value(const struct query_values *values, const char *name)
{
	for (size_t i = 0; i < values->count; i++)
		if (strcmp(values->list[i].name, name) == 0)
			return &values->list[i];
	return NULL;
}

int
answer_bind(struct sqlite3_stmt *statement, const struct query_values *values,
    struct problem *reterr)
{
	int count = sqlite3_bind_parameter_count(statement);

	for (int place = 1; place <= count; place++) {
		const char *name =
		    sqlite3_bind_parameter_name(statement, place);
		const struct query_value *value =
		    name == NULL ? NULL : find_value(values, name + 1);
		int result;

		if (value == NULL) {
			(void)problem_set(reterr, "this needs a value for %s",
			    name == NULL ? "?" : name + 1);
			return problem_cure(reterr, "Add %s=VALUE.",
			    name == NULL ? "NAME" : name + 1);
		}
		if (value->is_number)
			result =
			    sqlite3_bind_int64(statement, place, value->number);
		else
			result = sqlite3_bind_text64(statement, place,
			    (const char *)value->text.at, value->text.left,
			    SQLITE_STATIC, SQLITE_UTF8);
		if (result != SQLITE_OK)
			return problem_set(
			    reterr, "no memory for the question");
	}
	return STATUS_OK;
}

static struct query_cell
cell_of(sqlite3_stmt *statement, int column)
{
	struct query_cell cell = { .type = QUERY_NULL };
	const void *bytes = NULL;

	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_INTEGER:
		cell.type = QUERY_INTEGER;
		cell.number = sqlite3_column_int64(statement, column);
		return cell;
	case SQLITE_FLOAT:
		cell.type = QUERY_REAL;
		bytes = sqlite3_column_text(statement, column);
		break;
	case SQLITE_TEXT:
		cell.type = QUERY_TEXT;
		bytes = sqlite3_column_text(statement, column);
		break;
	case SQLITE_BLOB:
		cell.type = QUERY_BLOB;
		bytes = sqlite3_column_blob(statement, column);
		break;
	default:
		return cell;
	}
	cell.text = cursor_of(bytes,
	    bytes == NULL ? 0
			  : (size_t)sqlite3_column_bytes(statement, column));
	return cell;
}

static void
tell_columns(
    sqlite3_stmt *statement, const struct query_reader *reader, size_t count)
{
	struct query_cell names[QUERY_COLUMNS_MAX];

	if (reader->on_columns == NULL)
		return;
	for (size_t i = 0; i < count; i++) {
		const char *name = sqlite3_column_name(statement, (int)i);

		names[i] = (struct query_cell){ .type = QUERY_TEXT,
			.text = cursor_of_text(name == NULL ? "" : name) };
	}
	reader->on_columns(names, count, reader->arg);
}

int
answer_read(struct sqlite3_stmt *statement, const struct query_reader *reader,
    size_t limit, bool *ret_cut)
{
	size_t columns = (size_t)sqlite3_column_count(statement), rows = 0;
	struct query_cell cells[QUERY_COLUMNS_MAX];
	int result;

	tell_columns(statement, reader, columns);
	for (;;) {
		result = sqlite3_step(statement);
		if (result != SQLITE_ROW)
			break;
		if (rows++ == limit) {
			*ret_cut = true;
			return STATUS_OK;
		}
		for (size_t i = 0; i < columns; i++)
			cells[i] = cell_of(statement, (int)i);
		if (!reader->on_row(cells, columns, reader->arg))
			return STATUS_OK;
	}
	return result == SQLITE_DONE ? STATUS_OK : STATUS_SYSTEM;
}
