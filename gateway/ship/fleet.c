#include "gateway/ship/fleet.h"

#include "schema/status.h"

#include <postgresql/libpq-fe.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COLUMNS = 64, /* the widest table has 26 */
	SQL_MAX = 256
};

struct fleet {
	PGconn *connection;
};

static int
complain(struct fleet *fleet, struct problem *reterr)
{
	const char *text = PQerrorMessage(fleet->connection);
	int length = (int)strcspn(text, "\n");

	(void)problem_set(reterr, "PostgreSQL: %.*s", length, text);
	return PQstatus(fleet->connection) == CONNECTION_OK ? STATUS_PROBLEM
							    : STATUS_CLOSED;
}

/* Notices are for people who write schemas. */
static void
hush(void *arg, const PGresult *result)
{
	(void)arg;
	(void)result;
}

int
fleet_open(const char *where, struct fleet **ret, struct problem *reterr)
{
	struct fleet *fleet = calloc(1, sizeof(*fleet));
	int status;

	if (fleet == NULL)
		return problem_set(reterr, "no memory for a connection");
	fleet->connection = PQconnectdb(where);
	if (PQstatus(fleet->connection) != CONNECTION_OK) {
		status = complain(fleet, reterr);
		fleet_close(fleet);
		return status;
	}
	(void)PQsetNoticeReceiver(fleet->connection, hush, NULL);
	*ret = fleet;
	return STATUS_OK;
}

void
fleet_close(struct fleet *fleet)
{
	if (fleet == NULL)
		return;
	PQfinish(fleet->connection);
	free(fleet);
}

int
fleet_run(struct fleet *fleet, const char *sql, struct problem *reterr)
{
	PGresult *result = PQexec(fleet->connection, sql);
	ExecStatusType state = PQresultStatus(result);

	PQclear(result);
	return state == PGRES_COMMAND_OK || state == PGRES_TUPLES_OK
		   ? STATUS_OK
		   : complain(fleet, reterr);
}

static bool
tell_row(const PGresult *row, const struct fleet_reader *reader)
{
	const char *values[COLUMNS] = { NULL };
	unsigned types[COLUMNS] = { 0 };
	int count = PQnfields(row);

	for (int i = 0; i < count; i++) {
		values[i] =
		    PQgetisnull(row, 0, i) ? NULL : PQgetvalue(row, 0, i);
		types[i] = PQftype(row, i);
	}
	return reader->on_row(values, types, (size_t)count, reader->arg);
}

static void
tell_columns(const PGresult *row, const struct fleet_reader *reader)
{
	const char *names[COLUMNS];
	int count = PQnfields(row);

	for (int i = 0; i < count; i++)
		names[i] = PQfname(row, i);
	if (reader->on_columns != NULL)
		reader->on_columns(names, (size_t)count, reader->arg);
}

/* All results of what was sent; a reader that has enough reads no more. */
static int
read_rows(struct fleet *fleet, const struct fleet_reader *reader,
    struct problem *reterr)
{
	bool goes_on = true, named = false;
	int status = STATUS_OK;
	PGresult *row;

	while ((row = PQgetResult(fleet->connection)) != NULL) {
		ExecStatusType state = PQresultStatus(row);

		if (state != PGRES_SINGLE_TUPLE && state != PGRES_TUPLES_OK)
			status = complain(fleet, reterr);
		else if (PQnfields(row) > COLUMNS)
			status = problem_set(reterr, "too many columns");
		if (status == STATUS_OK && !named)
			tell_columns(row, reader);
		named = true;
		if (status == STATUS_OK && goes_on &&
		    state == PGRES_SINGLE_TUPLE)
			goes_on = tell_row(row, reader);
		PQclear(row);
	}
	return status;
}

int
fleet_ask(struct fleet *fleet, const char *sql, const char *const *values,
    size_t count, const struct fleet_reader *reader, struct problem *reterr)
{
	if (PQsendQueryParams(fleet->connection, sql, (int)count, NULL, values,
		NULL, NULL, 0) != 1 ||
	    PQsetSingleRowMode(fleet->connection) != 1)
		return complain(fleet, reterr);
	return read_rows(fleet, reader, reterr);
}

static bool
take_number(
    const char *const *values, const unsigned *types, size_t count, void *arg)
{
	struct cursor text =
	    cursor_of_text(count == 0 || values[0] == NULL ? "" : values[0]);
	uint64_t number = 0;
	int64_t *ret = arg;

	(void)types;
	if (cursor_decimal(&text, INT64_MAX, &number))
		*ret = (int64_t)number;
	return false;
}

int
fleet_number(struct fleet *fleet, const char *sql, const char *const *values,
    size_t count, int64_t *ret, struct problem *reterr)
{
	int64_t number = 0;
	struct fleet_reader reader = { NULL, take_number, &number };
	int status = fleet_ask(fleet, sql, values, count, &reader, reterr);

	if (status == STATUS_OK)
		*ret = number;
	return status;
}

int
fleet_copy(struct fleet *fleet, const char *table, struct cursor text,
    struct problem *reterr)
{
	char sql[SQL_MAX];
	PGresult *result;
	bool well;

	(void)snprintf(sql, sizeof(sql), "COPY %s FROM STDIN", table);
	result = PQexec(fleet->connection, sql);
	well = PQresultStatus(result) == PGRES_COPY_IN;
	PQclear(result);
	if (!well ||
	    PQputCopyData(fleet->connection, (const char *)text.at,
		(int)text.left) != 1 ||
	    PQputCopyEnd(fleet->connection, NULL) != 1)
		return complain(fleet, reterr);
	result = PQgetResult(fleet->connection);
	well = PQresultStatus(result) == PGRES_COMMAND_OK;
	PQclear(result);
	while ((result = PQgetResult(fleet->connection)) != NULL)
		PQclear(result);
	return well ? STATUS_OK : complain(fleet, reterr);
}

unsigned char *
fleet_bytes(const char *value, size_t *ret_length)
{
	unsigned char *given =
	    PQunescapeBytea((const unsigned char *)value, ret_length);
	unsigned char *bytes = NULL;

	if (given != NULL)
		bytes = malloc(*ret_length == 0 ? 1 : *ret_length);
	if (bytes != NULL)
		memcpy(bytes, given, *ret_length);
	PQfreemem(given);
	return bytes;
}
