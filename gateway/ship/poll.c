#include "gateway/ship/poll.h"

#include "gateway/ship/fleet.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PARAMETERS = 16,
	VALUE_MAX = 4096
};

struct asking {
	char sql[LIMIT_REPORT_SQL * 2];
	char texts[PARAMETERS][VALUE_MAX];
	const char *values[PARAMETERS];
	size_t count;
};

static const struct query_value *
find(const struct query_values *values, const char *name, size_t length)
{
	for (size_t i = 0; i < values->count; i++)
		if (strlen(values->list[i].name) == length &&
		    memcmp(values->list[i].name, name, length) == 0)
			return &values->list[i];
	return NULL;
}

static int
put_parameter(struct asking *asking, struct cursor_writer *out,
    const struct query_value *value, struct problem *reterr)
{
	char *text;

	if (asking->count == PARAMETERS || value->text.left >= VALUE_MAX)
		return problem_set(reterr, "a value is too long");
	text = asking->texts[asking->count];
	if (value->is_number) {
		(void)snprintf(text, VALUE_MAX, "%" PRId64, value->number);
	} else {
		if (value->text.left > 0)
			memcpy(text, value->text.at, value->text.left);
		text[value->text.left] = '\0';
	}
	asking->values[asking->count++] = text;
	cursor_put_u8(out, '$');
	cursor_put_decimal(out, asking->count);
	cursor_put_text(out, value->is_number ? "::bigint" : "::text");
	return STATUS_OK;
}

/* ":name" outside of quotes becomes "$n". */
static int
translate(struct asking *asking, const char *sql,
    const struct query_values *values, struct problem *reterr)
{
	struct cursor_writer out =
	    cursor_writer_of(asking->sql, sizeof(asking->sql));
	bool quoted = false;

	for (const char *at = sql; *at != '\0'; at++) {
		const struct query_value *value;
		size_t length = 0;
		int status;

		quoted = quoted != (*at == '\'');
		if (quoted || *at != ':' || !isalpha((unsigned char)at[1])) {
			cursor_put_u8(&out, (uint8_t)*at);
			continue;
		}
		while (isalnum((unsigned char)at[length + 1]))
			length++;
		value = find(values, at + 1, length);
		if (value == NULL) {
			(void)problem_set(reterr, "this needs a value for %.*s",
			    (int)length, at + 1);
			return problem_cure(
			    reterr, "Add %.*s=VALUE.", (int)length, at + 1);
		}
		status = put_parameter(asking, &out, value, reterr);
		if (status != STATUS_OK)
			return status;
		at += length;
	}
	cursor_put_u8(&out, 0);
	return cursor_written(&out)
		   ? STATUS_OK
		   : problem_set(reterr, "the question is too long");
}

/* ---- rows on their way back ---- */

static void
on_columns(const char *const *names, size_t count, void *arg)
{
	const struct query_reader *reader = arg;
	struct query_cell cells[QUERY_COLUMNS_MAX];

	for (size_t i = 0; i < count; i++)
		cells[i] = (struct query_cell){ .type = QUERY_TEXT,
			.text = cursor_of_text(names[i]) };
	if (reader->on_columns != NULL)
		reader->on_columns(cells, count, reader->arg);
}

/* A sum of bigint is numeric: without a point it is still a whole number. */
static struct query_cell
cell_of(const char *value, unsigned type)
{
	struct query_cell cell = { .type = QUERY_TEXT };
	bool numeric = type != FLEET_TEXT && type != FLEET_BYTEA;

	if (value == NULL)
		return (struct query_cell){ .type = QUERY_NULL };
	cell.text = cursor_of_text(value);
	if (!numeric || value[strspn(value, "+-.0123456789eE")] != '\0')
		return cell;
	if (value[strspn(value, "-0123456789")] == '\0') {
		cell.type = QUERY_INTEGER;
		cell.number = (int64_t)strtoimax(value, NULL, 10);
	} else {
		cell.type = QUERY_REAL;
	}
	return cell;
}

static bool
on_row(
    const char *const *values, const unsigned *types, size_t count, void *arg)
{
	const struct query_reader *reader = arg;
	struct query_cell cells[QUERY_COLUMNS_MAX];

	for (size_t i = 0; i < count; i++)
		cells[i] = cell_of(values[i], types[i]);
	return reader->on_row(cells, count, reader->arg);
}

int
poll_fleet(const char *where, const char *sql,
    const struct query_values *values, const struct query_reader *reader,
    struct problem *reterr)
{
	struct query_reader own = *reader;
	struct fleet_reader rows = { on_columns, on_row, &own };
	struct asking *asking = calloc(1, sizeof(*asking));
	struct fleet *fleet = NULL;
	int status;

	if (asking == NULL)
		return problem_set(reterr, "no memory for a question");
	status = translate(asking, sql, values, reterr);
	if (status == STATUS_OK)
		status = fleet_open(where, &fleet, reterr);
	/* Our words before PostgreSQL's own of the same names. */
	if (status == STATUS_OK)
		status = fleet_run(fleet,
		    "BEGIN READ ONLY; SET LOCAL search_path TO exeat, "
		    "pg_catalog; SET LOCAL statement_timeout TO '300s'",
		    reterr);
	if (status == STATUS_OK)
		status = fleet_ask(fleet, asking->sql, asking->values,
		    asking->count, &rows, reterr);
	fleet_close(fleet);
	free(asking);
	return status;
}
