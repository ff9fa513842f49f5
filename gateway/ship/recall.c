#include "gateway/ship/recall.h"

#include "gateway/audit/segment.h"
#include "gateway/audit/shelf.h"
#include "gateway/ship/fleet.h"
#include "gateway/ship/manifest.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	NUMBER = 24,
	SQL_MAX = 512,
	SEGMENT_BITS = 24
};

/* One table on its way back. */
struct filling {
	sqlite3 *db;
	const char *table;
	sqlite3_stmt *insert;
	struct problem *reterr;
	bool is_meta, failed;
};

static int
complain(sqlite3 *db, struct problem *reterr)
{
	return problem_set(
	    reterr, "cannot write the audit: %s", sqlite3_errmsg(db));
}

/* As many places as there are columns. */
static bool
prepare(struct filling *filling, size_t count)
{
	char sql[SQL_MAX];
	struct cursor_writer out = cursor_writer_of(sql, sizeof(sql));

	cursor_put_text(&out, "INSERT INTO ");
	cursor_put_text(&out, filling->table);
	cursor_put_text(&out, filling->is_meta
				  ? " VALUES(?1, coalesce(?2, ?3, ?4))"
				  : " VALUES(?");
	for (size_t i = 1; i < count && !filling->is_meta; i++)
		cursor_put_text(&out, ", ?");
	if (!filling->is_meta)
		cursor_put_u8(&out, ')');
	cursor_put_u8(&out, 0);
	return cursor_written(&out) && sqlite3_prepare_v2(filling->db, sql, -1,
					   &filling->insert, NULL) == SQLITE_OK;
}

static bool
bind_value(sqlite3_stmt *insert, int place, const char *value, unsigned type)
{
	unsigned char *bytes;
	size_t length;
	int result;

	if (value == NULL)
		return sqlite3_bind_null(insert, place) == SQLITE_OK;
	switch (type) {
	case FLEET_INT8:
		/* Its own text of a number of 64 bits, with its sign. */
		return sqlite3_bind_int64(insert, place,
			   (int64_t)strtoimax(value, NULL, 10)) == SQLITE_OK;
	case FLEET_BYTEA:
		bytes = fleet_bytes(value, &length);
		if (bytes == NULL)
			return false;
		result =
		    sqlite3_bind_blob64(insert, place, bytes, length, free);
		return result == SQLITE_OK;
	default:
		return sqlite3_bind_text(insert, place, value, -1,
			   SQLITE_TRANSIENT) == SQLITE_OK;
	}
}

static bool
on_row(
    const char *const *values, const unsigned *types, size_t count, void *arg)
{
	struct filling *filling = arg;
	bool well = filling->insert != NULL || prepare(filling, count);

	for (size_t i = 0; i < count && well; i++)
		well = bind_value(
		    filling->insert, (int)i + 1, values[i], types[i]);
	well = well && sqlite3_step(filling->insert) == SQLITE_DONE &&
	       sqlite3_reset(filling->insert) == SQLITE_OK;
	filling->failed = !well;
	return well;
}

static int
fill_table(struct fleet *fleet, sqlite3 *db, const struct manifest_back *back,
    const char *const values[2], struct problem *reterr)
{
	struct filling filling = { .db = db,
		.table = back->table,
		.is_meta = strcmp(back->table, "meta") == 0,
		.reterr = reterr };
	struct fleet_reader reader = { NULL, on_row, &filling };
	int status = fleet_ask(fleet, back->ask, values, 2, &reader, reterr);

	if (status == STATUS_OK && filling.failed)
		status = complain(db, reterr);
	(void)sqlite3_finalize(filling.insert);
	return status;
}

static int
fill(struct fleet *fleet, struct segment *segment, const char *const values[2],
    struct problem *reterr)
{
	sqlite3 *db = segment_handle(segment);
	size_t count;
	const struct manifest_back *back = manifest_back(&count);
	int status = STATUS_OK;

	/* What the new file was told of itself gives way. */
	if (sqlite3_exec(db, "BEGIN; DELETE FROM meta", NULL, NULL, NULL) !=
	    SQLITE_OK)
		return complain(db, reterr);
	for (size_t i = 0; i < count && status == STATUS_OK; i++)
		status = fill_table(fleet, db, &back[i], values, reterr);
	if (status == STATUS_OK &&
	    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		status = complain(db, reterr);
	return status;
}

static int
recall_segment(struct fleet *fleet, const char *audit, int64_t base,
    int64_t number, struct problem *reterr)
{
	static const char some[] = "00";
	const struct segment_birth birth = { .number = 1,
		.chain = cursor_of_text(some) };
	char path[SHELF_PATH], low[NUMBER], ids[NUMBER];
	const char *values[] = { low, ids };
	struct segment *segment;
	int status = shelf_path(audit, number, path, reterr);

	if (status != STATUS_OK)
		return status;
	if (access(path, F_OK) == 0)
		return problem_set(reterr, "%s is there already", path);
	(void)snprintf(low, sizeof(low), "%" PRId64, base);
	(void)snprintf(
	    ids, sizeof(ids), "%" PRId64, base + (number << SEGMENT_BITS));
	status = segment_open(path, &birth, &segment, reterr);
	if (status != STATUS_OK)
		return status;
	status = fill(fleet, segment, values, reterr);
	segment_close(segment);
	return status;
}

/* ---- the whole ---- */

struct numbers {
	int64_t list[LIMIT_SEGMENTS];
	size_t count;
};

static bool
take_number(
    const char *const *values, const unsigned *types, size_t count, void *arg)
{
	struct numbers *numbers = arg;

	(void)types;
	if (count == 0 || values[0] == NULL || numbers->count == LIMIT_SEGMENTS)
		return false;
	numbers->list[numbers->count++] =
	    (int64_t)strtoimax(values[0], NULL, 10);
	return true;
}

static int
recall_all(struct fleet *fleet, const char *chain, const char *audit,
    struct problem *reterr)
{
	static struct numbers numbers;
	struct fleet_reader reader = { NULL, take_number, &numbers };
	char low[NUMBER];
	const char *values[] = { chain }, *bounds[] = { low };
	int64_t base;
	int status = fleet_number(fleet,
	    "SELECT base FROM exeat.gateway WHERE chain = $1", values, 1, &base,
	    reterr);

	if (status != STATUS_OK)
		return status;
	if (base == 0) {
		(void)problem_set(
		    reterr, "the fleet has no audit %.80s", chain);
		return problem_cure(reterr,
		    "SELECT chain, host FROM exeat.gateway lists them.");
	}
	(void)snprintf(low, sizeof(low), "%" PRId64, base);
	numbers.count = 0;
	status = fleet_ask(fleet,
	    "SELECT DISTINCT segment FROM exeat.block WHERE no > $1::bigint "
	    "AND no < $1::bigint + 281474976710656 ORDER BY 1",
	    bounds, 1, &reader, reterr);
	for (size_t i = 0; i < numbers.count && status == STATUS_OK; i++)
		status =
		    recall_segment(fleet, audit, base, numbers.list[i], reterr);
	return status;
}

int
recall_audit(const char *where, const char *chain, const char *audit,
    struct problem *reterr)
{
	struct fleet *fleet;
	int status = fleet_open(where, &fleet, reterr);

	if (status != STATUS_OK)
		return status;
	status = recall_all(fleet, chain, audit, reterr);
	fleet_close(fleet);
	return status;
}
