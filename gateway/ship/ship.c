#include "gateway/ship/ship.h"

#include "gateway/audit/query.h"
#include "gateway/audit/shelf.h"
#include "gateway/audit/sqltext.h"
#include "gateway/ship/fleet.h"
#include "gateway/ship/manifest.h"
#include "gateway/ship/parcel.h"
#include "schema/status.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BATCH_ROWS = 5000,
	SEGMENT_BITS = 24, /* of an id */
	NUMBER = 24,
	SQL_MAX = 512,
	TABLES = 32
};

/* One segment on its way. */
struct leg {
	struct fleet *fleet;
	sqlite3 *db;
	int64_t base, ids, segment;
	int64_t after, last; /* rows of this batch */
	int64_t sent[TABLES]; /* the highest id of each table so far */
	struct parcel parcel;
	struct problem *reterr;
};

static int
complain(struct leg *leg)
{
	return problem_set(
	    leg->reterr, "cannot read the audit: %s", sqlite3_errmsg(leg->db));
}

static void
bind_number(sqlite3_stmt *statement, const char *name, int64_t value)
{
	int place = sqlite3_bind_parameter_index(statement, name);

	if (place != 0)
		(void)sqlite3_bind_int64(statement, place, value);
}

/* ---- one table ---- */

/* All rows of a table that belong to the batch, into the parcel. */
static int
pack(struct leg *leg, const struct manifest *table, int64_t after)
{
	sqlite3_stmt *statement;
	int result, status = STATUS_OK;

	parcel_empty(&leg->parcel);
	if (sqlite3_prepare_v2(leg->db, table->send, -1, &statement, NULL) !=
	    SQLITE_OK)
		return complain(leg);
	bind_number(statement, ":base", leg->base);
	bind_number(statement, ":ids", leg->ids);
	bind_number(statement, ":segment", leg->segment);
	bind_number(statement, ":after", after);
	bind_number(statement, ":last", leg->last);
	while ((result = sqlite3_step(statement)) == SQLITE_ROW &&
	       status == STATUS_OK)
		status = parcel_put(&leg->parcel, statement);
	if (status == STATUS_NO_MEMORY)
		status = problem_set(leg->reterr, "no memory for a batch");
	else if (status == STATUS_OK && result != SQLITE_DONE)
		status = complain(leg);
	(void)sqlite3_finalize(statement);
	return status;
}

/* COPY cannot skip what is there; so rows go through a table of their own. */
static int
deliver(struct leg *leg, const struct manifest *table)
{
	char sql[SQL_MAX];
	int status;

	if (leg->parcel.rows == 0)
		return STATUS_OK;
	(void)snprintf(sql, sizeof(sql),
	    "CREATE TEMP TABLE IF NOT EXISTS stage_%s ON COMMIT DELETE ROWS "
	    "AS SELECT * FROM exeat.%s WITH NO DATA; "
	    "DELETE FROM stage_%s",
	    table->table, table->table, table->table);
	status = fleet_run(leg->fleet, sql, leg->reterr);
	(void)snprintf(sql, sizeof(sql), "stage_%s", table->table);
	if (status == STATUS_OK)
		status = fleet_copy(
		    leg->fleet, sql, parcel_text(&leg->parcel), leg->reterr);
	(void)snprintf(sql, sizeof(sql),
	    "INSERT INTO exeat.%s SELECT * FROM stage_%s ON CONFLICT %s",
	    table->table, table->table, table->conflict);
	if (status == STATUS_OK)
		status = fleet_run(leg->fleet, sql, leg->reterr);
	return status;
}

/* The highest id of a table that the fleet has of this segment. */
static int
ask_sent(struct leg *leg, const char *table, int64_t *ret)
{
	char sql[SQL_MAX], low[NUMBER], high[NUMBER];
	const char *values[] = { low, high };
	int64_t id = 0;
	int status;

	(void)snprintf(low, sizeof(low), "%" PRId64, leg->ids);
	(void)snprintf(high, sizeof(high), "%" PRId64,
	    leg->ids + (INT64_C(1) << SEGMENT_BITS));
	(void)snprintf(sql, sizeof(sql),
	    "SELECT max(id) FROM exeat.%s WHERE id > $1::bigint AND id < "
	    "$2::bigint",
	    table);
	status = fleet_number(leg->fleet, sql, values, 2, &id, leg->reterr);
	if (status == STATUS_OK)
		*ret = id == 0 ? 0 : id - leg->ids;
	return status;
}

static int
highest(struct leg *leg, const char *table, int64_t *ret)
{
	sqlite3_stmt *statement;
	char sql[SQL_MAX];
	int result;

	(void)snprintf(sql, sizeof(sql), "SELECT max(id) FROM %s", table);
	if (sqlite3_prepare_v2(leg->db, sql, -1, &statement, NULL) != SQLITE_OK)
		return complain(leg);
	result = sqlite3_step(statement);
	if (result == SQLITE_ROW)
		*ret = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	return result == SQLITE_ROW ? STATUS_OK : complain(leg);
}

static int
send_table(
    struct leg *leg, const struct manifest *table, size_t place, bool is_first)
{
	int64_t after = leg->after, top = 0;
	int status = STATUS_OK;

	if (table->bound == MANIFEST_ONCE && !is_first)
		return STATUS_OK;
	if (table->bound == MANIFEST_ID) {
		status = highest(leg, table->table, &top);
		if (status != STATUS_OK || top <= leg->sent[place])
			return status;
		after = leg->sent[place];
	}
	status = pack(leg, table, after);
	if (status == STATUS_OK)
		status = deliver(leg, table);
	if (status == STATUS_OK && table->bound == MANIFEST_ID)
		leg->sent[place] = top;
	return status;
}

/* ---- one batch ---- */

static int
run_local(struct leg *leg, const char *sql)
{
	return sqlite3_exec(leg->db, sql, NULL, NULL, NULL) == SQLITE_OK
		   ? STATUS_OK
		   : complain(leg);
}

static int
ask_last(struct leg *leg, int64_t *ret)
{
	sqlite3_stmt *statement;
	int result;

	if (sqlite3_prepare_v2(leg->db, "SELECT ifnull(max(seq), 0) FROM event",
		-1, &statement, NULL) != SQLITE_OK)
		return complain(leg);
	result = sqlite3_step(statement);
	if (result == SQLITE_ROW)
		*ret = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	return result == SQLITE_ROW ? STATUS_OK : complain(leg);
}

/* Dictionaries go first, within the snapshot that the rows are of. */
static int
send_tables(struct leg *leg, bool is_first)
{
	size_t count;
	const struct manifest *tables = manifest_tables(&count);
	int status = fleet_run(leg->fleet, "BEGIN", leg->reterr);

	for (size_t i = 0; i < count && status == STATUS_OK; i++)
		status = send_table(leg, &tables[i], i, is_first);
	if (status == STATUS_OK)
		status = fleet_run(leg->fleet, "COMMIT", leg->reterr);
	return status;
}

static int
send_batch(struct leg *leg, bool is_first, int64_t *ret_last)
{
	int status = run_local(leg, "BEGIN");

	if (status != STATUS_OK)
		return status;
	status = ask_last(leg, ret_last);
	if (status == STATUS_OK) {
		leg->last = leg->after + BATCH_ROWS < *ret_last
				? leg->after + BATCH_ROWS
				: *ret_last;
		if (leg->last < leg->after)
			leg->last = leg->after;
		status = send_tables(leg, is_first);
	}
	(void)sqlite3_exec(leg->db, "COMMIT", NULL, NULL, NULL);
	return status;
}

static int
send_segment(struct leg *leg, const struct ship *ship)
{
	size_t count;
	const struct manifest *tables = manifest_tables(&count);
	bool is_first = true;
	int64_t last = 0;
	int status = STATUS_OK;

	for (size_t i = 0; i < count && status == STATUS_OK; i++)
		if (tables[i].bound == MANIFEST_ID)
			status = ask_sent(leg, tables[i].table, &leg->sent[i]);
	while (status == STATUS_OK) {
		status = send_batch(leg, is_first, &last);
		if (status != STATUS_OK)
			break;
		is_first = false;
		if (ship->on_batch != NULL && leg->last > leg->after)
			ship->on_batch(
			    leg->last - leg->after, leg->last, ship->arg);
		leg->after = leg->last;
		if (leg->last >= last)
			break;
	}
	return status;
}

/* ---- the whole ---- */

struct chain {
	char text[128];
	int64_t base;
};

static bool
take_chain(const struct query_cell *cells, size_t count, void *arg)
{
	struct chain *chain = arg;

	if (count > 0 && cells[0].text.left < sizeof(chain->text))
		memcpy(chain->text, cells[0].text.at, cells[0].text.left);
	return false;
}

/* This audit's number at the fleet, which it gets when it has none. */
static int
ask_base(struct query *query, struct fleet *fleet, struct chain *ret,
    struct problem *reterr)
{
	struct chain chain = { .base = 0 };
	struct query_values none = { NULL, 0 };
	struct query_reader reader = { NULL, take_chain, &chain };
	char host[256] = "";
	const char *values[] = { chain.text, host };
	bool cut;
	int status = query_run(query, "SELECT v FROM meta WHERE k = 'chain'",
	    &none, &reader, &cut, reterr);

	if (status != STATUS_OK)
		return status;
	if (chain.text[0] == '\0')
		return problem_set(reterr, "the audit has no chain yet");
	if (gethostname(host, sizeof(host) - 1) != 0)
		host[0] = '\0';
	status = fleet_number(fleet,
	    "WITH new AS (INSERT INTO exeat.gateway(chain, host) "
	    "VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING base) "
	    "SELECT base FROM new UNION ALL "
	    "SELECT base FROM exeat.gateway WHERE chain = $1 LIMIT 1",
	    values, 2, &chain.base, reterr);
	if (status == STATUS_OK && chain.base == 0)
		status = problem_set(reterr, "the fleet gave no number");
	if (status == STATUS_OK)
		*ret = chain;
	return status;
}

/* The last row that the fleet has of this audit. */
static int
ask_after(const struct ship *ship, struct fleet *fleet, int64_t base,
    int64_t *ret, struct problem *reterr)
{
	char low[NUMBER];
	const char *values[] = { low };
	int64_t seq = 0;
	int status;

	if (ship->from > 0) {
		*ret = ship->from - 1;
		return STATUS_OK;
	}
	(void)snprintf(low, sizeof(low), "%" PRId64, base);
	status = fleet_number(fleet,
	    "SELECT max(seq) FROM exeat.event WHERE seq > $1::bigint AND "
	    "seq < $1::bigint + 281474976710656",
	    values, 1, &seq, reterr);
	if (status == STATUS_OK)
		*ret = seq == 0 ? 0 : seq - base;
	return status;
}

static int
send_all(const struct ship *ship, struct query *query, struct fleet *fleet,
    struct problem *reterr)
{
	const struct shelf *shelf = query_shelf(query);
	struct chain chain = { .base = 0 };
	int64_t after = 0;
	int status = ask_base(query, fleet, &chain, reterr);

	if (status == STATUS_OK)
		status = ask_after(ship, fleet, chain.base, &after, reterr);
	for (size_t i = 0; i < shelf->count && status == STATUS_OK; i++) {
		struct leg leg = { .fleet = fleet,
			.base = chain.base,
			.segment = shelf->numbers[i],
			.ids = chain.base + (shelf->numbers[i] << SEGMENT_BITS),
			.after = after,
			.reterr = reterr };
		struct query *part;

		status = query_segment(query, i, &part, reterr);
		if (status != STATUS_OK)
			break;
		leg.db = query_unguarded(part);
		status = send_segment(&leg, ship);
		after = leg.after;
		parcel_done(&leg.parcel);
		query_close(part);
	}
	return status;
}

int
ship_once(const struct ship *ship, struct problem *reterr)
{
	struct query *query;
	struct fleet *fleet;
	int status = query_open(ship->audit, &query, reterr);

	if (status != STATUS_OK)
		return status == STATUS_CLOSED ? STATUS_PROBLEM : status;
	status = fleet_open(ship->where, &fleet, reterr);
	if (status == STATUS_OK) {
		status = send_all(ship, query, fleet, reterr);
		fleet_close(fleet);
	}
	query_close(query);
	return status;
}

const char *
ship_schema(void)
{
	return sqltext_fleet[0].sql;
}

int
ship_create(const char *where, struct problem *reterr)
{
	struct fleet *fleet;
	int status = fleet_open(where, &fleet, reterr);

	if (status != STATUS_OK)
		return status;
	status = fleet_run(fleet, ship_schema(), reterr);
	fleet_close(fleet);
	return status;
}
