#include "gateway/audit/rollup.h"

#include "gateway/audit/binding.h"
#include "gateway/audit/query.h"
#include "gateway/audit/shelf.h"
#include "gateway/audit/sqltext.h"
#include "gateway/audit/unite.h"
#include "schema/status.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ROWS_AT_ONCE = 20000, /* one read is short, and so is its memory */
	PAUSE_MS = 100, /* between two reads of one segment */
	BUSY_MS = 5000,
	VERSION = 1
};

struct rollup {
	const char *audit;
	sqlite3 *db;
};

/*
 * The rows ?1 to ?2 of the segment that is attached as seg; its number is ?3.
 * What is known already only grows, and rows come in order.
 */
static const char *const absorb_texts[] = {
	"INSERT INTO rollup SELECT e.ts_us / 3600000000, ifnull(s.uid, ''), "
	"ifnull(s.tenant, ''), ifnull(d.host, ''), ifnull(c.name, ''), "
	"e.verdict, count(*), "
	"sum(e.verdict = 4 OR ifnull(e.status, 0) >= 500), "
	"sum(ifnull(e.bytes_out, 0)), sum(ifnull(e.bytes_in, 0)), "
	"min(e.ts_us), max(e.ts_us) FROM seg.event e "
	"LEFT JOIN seg.sandbox s ON s.id = e.sandbox_id "
	"LEFT JOIN seg.dst d ON d.id = e.dst_id "
	"LEFT JOIN seg.cred c ON c.id = e.cred_id "
	"WHERE e.seq BETWEEN ?1 AND ?2 AND ?3 > 0 AND (e.kind IN (1, 2) "
	"OR (e.kind IN (3, 5) AND e.verdict IN (2, 3))) "
	"GROUP BY 1, 2, 3, 4, 5, 6 "
	"ON CONFLICT DO UPDATE SET n = n + excluded.n, "
	"err = err + excluded.err, bytes_out = bytes_out + excluded.bytes_out, "
	"bytes_in = bytes_in + excluded.bytes_in, "
	"first_us = min(first_us, excluded.first_us), "
	"last_us = max(last_us, excluded.last_us)",

	"INSERT OR IGNORE INTO first_seen SELECT d.host, "
	"CASE w.id WHEN 0 THEN '' WHEN 1 THEN 'tenant:' || s.tenant "
	"WHEN 2 THEN 'image:' || s.image ELSE 'cred:' || c.name END, "
	"min(e.ts_us), ifnull(s.uid, '') FROM seg.event e "
	"JOIN seg.dst d ON d.id = e.dst_id "
	"JOIN (SELECT 0 AS id UNION SELECT 1 UNION SELECT 2 UNION SELECT 3) w "
	"LEFT JOIN seg.sandbox s ON s.id = e.sandbox_id "
	"LEFT JOIN seg.cred c ON c.id = e.cred_id "
	"WHERE e.seq BETWEEN ?1 AND ?2 AND ?3 > 0 AND e.verdict = 1 "
	"AND e.kind IN (1, 2, 3, 4) AND (w.id = 0 "
	"OR (w.id = 1 AND s.tenant IS NOT NULL) "
	"OR (w.id = 2 AND s.image IS NOT NULL) "
	"OR (w.id = 3 AND c.name IS NOT NULL)) GROUP BY 1, 2",

	"INSERT INTO run(uid, started_us, ended_us, first_segment, "
	"last_segment) SELECT uid, started_us, ended_us, ?3, ?3 "
	"FROM seg.sandbox WHERE id IN (SELECT sandbox_id FROM seg.event "
	"WHERE seq BETWEEN ?1 AND ?2) "
	"ON CONFLICT DO UPDATE SET last_segment = excluded.last_segment, "
	"ended_us = excluded.ended_us",

	/* The last word counts. */
	"UPDATE run SET held = h.hold, why = h.why FROM (SELECT "
	"e.detail ->> '$.run' AS uid, e.object = 'hold' AS hold, "
	"e.detail ->> '$.why' AS why, max(e.seq) FROM seg.event e "
	"WHERE e.seq BETWEEN ?1 AND ?2 AND ?3 > 0 AND e.kind = 14 "
	"AND e.object IN ('hold', 'release') GROUP BY 1) h "
	"WHERE run.uid = h.uid",

	"INSERT OR IGNORE INTO rare SELECT seq, at, kind, verdict, reason, "
	"sandbox, tenant, agent, on_behalf, jti, host, port, verb, object, "
	"status, cred, rule, detail, ts_us FROM seg.v_event "
	"WHERE seq BETWEEN ?1 AND ?2 AND ?3 > 0 AND kind IN ('token_issue', "
	"'token_exchange', 'token_revoke', 'token_refused', 'cred_mint', "
	"'approval_ask', 'approval_decision', 'policy_load', 'admin', "
	"'sandbox_start', 'sandbox_end', 'alert', 'audit')",

	"INSERT OR IGNORE INTO checkpoint(size, us, root, note) "
	"SELECT size, us, root, note FROM seg.checkpoint "
	"WHERE ?1 <= ?2 AND ?3 > 0 ORDER BY size DESC LIMIT 1",

	"INSERT INTO segment(no, path, first_seq, last_seq, first_us, last_us, "
	"state) SELECT ?3, CASE ?3 WHEN 1 THEN '' ELSE "
	"printf('.%06d', ?3) END, min(seq), ?2, (SELECT min(first_us) FROM "
	"seg.block), "
	"(SELECT max(last_us) FROM seg.block), 'hot' FROM seg.event "
	"WHERE ?1 <= ?2 ON CONFLICT DO UPDATE SET last_seq = "
	"excluded.last_seq, last_us = excluded.last_us",

	("INSERT OR REPLACE INTO meta(k, v) "
	 "SELECT 'through', ?2 WHERE ?1 <= ?2 AND ?3 > 0"),
};

/* ---- opening ---- */

static bool
run_sql(struct rollup *rollup, const char *sql)
{
	return sqlite3_exec(rollup->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static int
tell(struct rollup *rollup, struct problem *reterr)
{
	return problem_set(reterr, "the rollup of %s: %s", rollup->audit,
	    sqlite3_errmsg(rollup->db));
}

static int
get_number(struct rollup *rollup, const char *sql, int64_t one, int64_t *ret)
{
	sqlite3_stmt *statement = NULL;
	struct binding binding;
	int status = STATUS_SYSTEM;

	if (sqlite3_prepare_v2(rollup->db, sql, -1, &statement, NULL) ==
	    SQLITE_OK) {
		binding = (struct binding){ .statement = statement };
		if (sqlite3_bind_parameter_count(statement) > 0)
			binding_id(&binding, one);
		status = binding_look_up(&binding, ret);
	}
	(void)sqlite3_finalize(statement);
	return status;
}

static bool
make_schema(struct rollup *rollup)
{
	int64_t version = 0;
	bool made =
	    run_sql(rollup, "BEGIN IMMEDIATE") &&
	    get_number(rollup, "PRAGMA user_version", 0, &version) == STATUS_OK;

	for (size_t i = (size_t)version; made && sqltext_rollup[i].name != NULL;
	     i++)
		made = run_sql(rollup, sqltext_rollup[i].sql);
	/* The same word in the header: readers know it as ours. */
	return made && run_sql(rollup, "PRAGMA application_id = 0x45584541") &&
	       run_sql(rollup, "PRAGMA user_version = 1") &&
	       run_sql(rollup, "COMMIT");
}

static int
open_file(struct rollup *rollup, const char *path)
{
	static_assert(VERSION == 1, "the schema sets the version");
	if (sqlite3_open_v2(path, &rollup->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
		    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
		    SQLITE_OPEN_URI,
		NULL) == SQLITE_OK &&
	    sqlite3_busy_timeout(rollup->db, BUSY_MS) == SQLITE_OK &&
	    /* The log of a segment that is attached is its writer's. */
	    sqlite3_db_config(rollup->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
		NULL) == SQLITE_OK &&
	    run_sql(rollup, "PRAGMA journal_mode = WAL") &&
	    run_sql(rollup, "PRAGMA synchronous = NORMAL") &&
	    run_sql(rollup, "PRAGMA trusted_schema = OFF") &&
	    make_schema(rollup))
		return STATUS_OK;
	return STATUS_SYSTEM;
}

/* All of it can be made anew, so a damaged file is no loss. */
static bool
is_damaged(struct rollup *rollup)
{
	int code = sqlite3_errcode(rollup->db) & 0xff;

	return code == SQLITE_CORRUPT || code == SQLITE_NOTADB ||
	       code == SQLITE_ERROR;
}

static void
remove_file(const char *path)
{
	static const char *const endings[] = { "", "-wal", "-shm" };
	char name[SHELF_PATH + 8];

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		int used =
		    snprintf(name, sizeof(name), "%s%s", path, endings[i]);

		if (used > 0 && (size_t)used < sizeof(name))
			(void)unlink(name);
	}
}

int
rollup_open(const char *audit, struct rollup **ret, struct problem *reterr)
{
	struct rollup *rollup = calloc(1, sizeof(*rollup));
	char path[SHELF_PATH];
	int status;

	if (rollup == NULL)
		return problem_set(reterr, "no memory for the rollup");
	rollup->audit = audit;
	status = shelf_beside(audit, "rollup", path, reterr);
	if (status == STATUS_OK && open_file(rollup, path) != STATUS_OK) {
		bool again = is_damaged(rollup);

		status = tell(rollup, reterr);
		(void)sqlite3_close(rollup->db);
		rollup->db = NULL;
		if (again) {
			remove_file(path);
			status = open_file(rollup, path) == STATUS_OK
				     ? STATUS_OK
				     : tell(rollup, reterr);
		}
	}
	if (status == STATUS_OK)
		*ret = rollup;
	else
		rollup_close(rollup);
	return status;
}

void
rollup_close(struct rollup *rollup)
{
	if (rollup == NULL)
		return;
	/* No segment is attached now: its own log may be put away. */
	if (rollup->db != NULL)
		(void)sqlite3_db_config(
		    rollup->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	(void)sqlite3_close(rollup->db);
	free(rollup);
}

/* ---- taking rows in ---- */

static int
attach(struct rollup *rollup, int64_t number, struct problem *reterr)
{
	char path[SHELF_PATH];
	int status = shelf_path(rollup->audit, number, path, reterr);

	return status == STATUS_OK
		   ? unite_attach(rollup->db, path, "seg", reterr)
		   : status;
}

static bool
absorb_one(struct rollup *rollup, const char *sql, const int64_t values[3])
{
	sqlite3_stmt *statement = NULL;
	struct binding binding;
	bool done = false;

	if (sqlite3_prepare_v2(rollup->db, sql, -1, &statement, NULL) ==
	    SQLITE_OK) {
		binding = (struct binding){ .statement = statement };
		for (int i = 0; i < 3; i++)
			binding_id(&binding, values[i]);
		done = binding_finish(&binding) == STATUS_OK;
	}
	(void)sqlite3_finalize(statement);
	return done;
}

static int
absorb_rows(struct rollup *rollup, int64_t number, int64_t first, int64_t last,
    struct problem *reterr)
{
	const int64_t values[3] = { first, last, number };
	bool done = run_sql(rollup, "BEGIN IMMEDIATE");
	int status;

	for (size_t i = 0;
	     done && i < sizeof(absorb_texts) / sizeof(absorb_texts[0]); i++)
		done = absorb_one(rollup, absorb_texts[i], values);
	if (done && run_sql(rollup, "COMMIT"))
		return STATUS_OK;
	status = tell(rollup, reterr);
	(void)run_sql(rollup, "ROLLBACK");
	return status;
}

/* Of one segment, attached, what is behind through. */
static int
absorb_attached(struct rollup *rollup, int64_t number, int64_t *through,
    struct problem *reterr)
{
	int64_t last = 0;

	/* One that is being made has no tables yet. */
	if (get_number(rollup,
		"SELECT count(*) FROM seg.sqlite_schema WHERE name = 'event'",
		0, &last) != STATUS_OK)
		return tell(rollup, reterr);
	if (last == 0)
		return STATUS_OK;
	if (get_number(rollup, "SELECT ifnull(max(seq), 0) FROM seg.event", 0,
		&last) != STATUS_OK)
		return tell(rollup, reterr);
	while (*through < last) {
		int64_t end = last - *through > ROWS_AT_ONCE
				  ? *through + ROWS_AT_ONCE
				  : last;
		int status =
		    absorb_rows(rollup, number, *through + 1, end, reterr);

		if (status != STATUS_OK)
			return status;
		*through = end;
		/* A reader that never pauses keeps the log from being reset. */
		if (*through < last)
			(void)poll(NULL, 0, PAUSE_MS);
	}
	return STATUS_OK;
}

/* All but the newest are left: they can be sealed. */
static int
mark_left(struct rollup *rollup, int64_t newest, struct problem *reterr)
{
	int64_t values[3] = { newest, 0, 0 };

	return absorb_one(rollup,
		   "UPDATE segment SET state = 'sealing' WHERE no < ?1 "
		   "AND state = 'hot' AND ?2 = ?3",
		   values)
		   ? STATUS_OK
		   : tell(rollup, reterr);
}

static int
absorb_segments(
    struct rollup *rollup, const struct shelf *shelf, struct problem *reterr)
{
	int64_t through = 0;
	int status = get_number(rollup,
	    "SELECT ifnull(max(v), 0) FROM meta WHERE k = 'through'", 0,
	    &through);

	if (status != STATUS_OK)
		return tell(rollup, reterr);
	for (size_t i = 0; i < shelf->count && status == STATUS_OK; i++) {
		int64_t number = shelf->numbers[i], sealed = 0;

		if (get_number(rollup,
			"SELECT count(*) FROM segment WHERE no = ? AND state = "
			"'sealed'",
			number, &sealed) != STATUS_OK)
			return tell(rollup, reterr);
		if (sealed > 0)
			continue;
		status = attach(rollup, number, reterr);
		if (status != STATUS_OK)
			break;
		status = absorb_attached(rollup, number, &through, reterr);
		if (!run_sql(rollup, "DETACH seg") && status == STATUS_OK)
			status = tell(rollup, reterr);
	}
	if (status == STATUS_OK && shelf->count > 0)
		status =
		    mark_left(rollup, shelf->numbers[shelf->count - 1], reterr);
	return status;
}

int
rollup_absorb(struct rollup *rollup, struct problem *reterr)
{
	struct shelf *shelf = calloc(1, sizeof(*shelf));
	int status;

	if (shelf == NULL)
		return problem_set(reterr, "no memory for the rollup");
	status = shelf_read(rollup->audit, shelf, reterr);
	if (status == STATUS_OK)
		status = absorb_segments(rollup, shelf, reterr);
	free(shelf);
	return status;
}

/* ---- the catalogue ---- */

int
rollup_next_to_seal(struct rollup *rollup, int64_t *ret)
{
	return get_number(rollup,
	    "SELECT no FROM segment WHERE state = 'sealing' ORDER BY no "
	    "LIMIT 1",
	    0, ret);
}

int
rollup_set_sealed(struct rollup *rollup, int64_t number,
    const uint8_t sha256[32], int64_t bytes, struct problem *reterr)
{
	sqlite3_stmt *statement = NULL;
	struct binding binding;
	int status = STATUS_SYSTEM;

	if (sqlite3_prepare_v2(rollup->db,
		"UPDATE segment SET state = 'sealed', sha256 = ?, bytes = ? "
		"WHERE no = ?",
		-1, &statement, NULL) == SQLITE_OK) {
		binding = (struct binding){ .statement = statement };
		binding_blob(&binding, sha256, 32);
		binding_id(&binding, bytes);
		binding_id(&binding, number);
		status = binding_finish(&binding);
	}
	(void)sqlite3_finalize(statement);
	return status == STATUS_OK ? STATUS_OK : tell(rollup, reterr);
}

int
rollup_set_pruned(struct rollup *rollup, int64_t number, struct problem *reterr)
{
	int64_t values[3] = { number, 0, 0 };

	return absorb_one(rollup,
		   "UPDATE segment SET state = 'pruned' WHERE no = ?1 AND ?2 = "
		   "?3",
		   values)
		   ? STATUS_OK
		   : tell(rollup, reterr);
}
