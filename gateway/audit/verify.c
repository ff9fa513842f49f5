#include "gateway/audit/verify.h"

#include "gateway/audit/query.h"
#include "gateway/audit/segment.h"
#include "gateway/audit/sqltext.h"
#include "gateway/audit/walk.h"
#include "schema/status.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>

/* What meta holds of the chain. */
struct identity {
	char chain[CHECKPOINT_ORIGIN];
	int64_t schema, segment, checkpoint;
	uint8_t key[SIGNER_KEY];
	struct merkle tree;
	int64_t strange; /* keys that are none of ours */
	unsigned known; /* one bit for each key that was there, and fits */
};

static struct cursor
column_bytes(sqlite3_stmt *statement, int at)
{
	const void *bytes = sqlite3_column_blob(statement, at);

	return cursor_of(bytes,
	    bytes == NULL ? 0 : (size_t)sqlite3_column_bytes(statement, at));
}

static sqlite3_stmt *
prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		return NULL;
	return statement;
}

/* ---- meta ---- */

static bool
take_chain(sqlite3_stmt *statement, struct identity *identity)
{
	struct cursor text = column_bytes(statement, 1);

	if (sqlite3_column_type(statement, 1) != SQLITE_TEXT ||
	    text.left == 0 || text.left >= sizeof(identity->chain))
		return false;
	memcpy(identity->chain, text.at, text.left);
	identity->chain[text.left] = '\0';
	return true;
}

static bool
take_number(sqlite3_stmt *statement, int64_t *ret)
{
	*ret = sqlite3_column_int64(statement, 1);
	return sqlite3_column_type(statement, 1) == SQLITE_INTEGER;
}

static bool
take_schema(sqlite3_stmt *statement, struct identity *identity)
{
	return take_number(statement, &identity->schema) &&
	       identity->schema >= 1 && identity->schema <= SEGMENT_VERSION;
}

static bool
take_segment(sqlite3_stmt *statement, struct identity *identity)
{
	return take_number(statement, &identity->segment);
}

static bool
take_checkpoint(sqlite3_stmt *statement, struct identity *identity)
{
	return take_number(statement, &identity->checkpoint);
}

static bool
take_key(sqlite3_stmt *statement, struct identity *identity)
{
	struct cursor key = column_bytes(statement, 1);

	return sqlite3_column_type(statement, 1) == SQLITE_BLOB &&
	       key.left == SIGNER_KEY &&
	       cursor_copy(&key, SIGNER_KEY, identity->key);
}

static bool
take_tree(sqlite3_stmt *statement, struct identity *identity)
{
	return sqlite3_column_type(statement, 1) == SQLITE_BLOB &&
	       merkle_read(column_bytes(statement, 1), &identity->tree);
}

static const struct {
	const char *key;
	bool (*take)(sqlite3_stmt *statement, struct identity *identity);
} metas[] = {
	{ "chain", take_chain },
	{ "checkpoint", take_checkpoint },
	{ "key", take_key },
	{ "schema", take_schema },
	{ "segment", take_segment },
	{ "tree", take_tree },
};

#define ALL_METAS ((1U << (sizeof(metas) / sizeof(metas[0]))) - 1)

/* The place of key in metas, or their count. */
static size_t
find_meta(struct cursor key)
{
	size_t at = 0;

	while (at < sizeof(metas) / sizeof(metas[0]) &&
	       !cursor_equals(key, metas[at].key))
		at++;
	return at;
}

static int
read_meta(sqlite3 *db, struct identity *ret, struct problem *reterr)
{
	struct identity identity = { .known = 0 };
	sqlite3_stmt *statement =
	    prepare(db, "SELECT k, v FROM meta ORDER BY k");
	int result = SQLITE_ERROR;

	while (statement != NULL) {
		size_t at;

		result = sqlite3_step(statement);
		if (result != SQLITE_ROW)
			break;
		at = find_meta(column_bytes(statement, 0));
		if (at == sizeof(metas) / sizeof(metas[0]))
			identity.strange++;
		else if (metas[at].take(statement, &identity))
			identity.known |= 1U << at;
	}
	(void)sqlite3_finalize(statement);
	if (result != SQLITE_DONE)
		return problem_set(
		    reterr, "cannot read the audit: %s", sqlite3_errmsg(db));
	*ret = identity;
	return STATUS_OK;
}

static void
check_meta(struct walk *walk, const struct identity *identity)
{
	for (size_t at = 0; at < sizeof(metas) / sizeof(metas[0]); at++)
		if ((identity->known & (1U << at)) == 0)
			findings_tell(&walk->findings, "meta", 0, 0,
			    "its \"%s\" is missing or not as it was written",
			    metas[at].key);
	if (identity->strange > 0)
		findings_tell(&walk->findings, "meta", 0, 0,
		    "it has %" PRId64 " keys that were added",
		    identity->strange);
	if (identity->schema != SEGMENT_VERSION)
		findings_tell(&walk->findings, "meta", 0, 0,
		    "its \"schema\" is not as it was written");
}

/* What the walk has found against what meta says of it. */
static void
check_ends(struct walk *walk, const struct identity *identity)
{
	unsigned char ours[MERKLE_ROOM], theirs[MERKLE_ROOM];
	struct cursor_writer a = cursor_writer_of(ours, sizeof(ours));
	struct cursor_writer b = cursor_writer_of(theirs, sizeof(theirs));

	merkle_write(&walk->tree, &a);
	merkle_write(&identity->tree, &b);
	if (walk->tree.size < identity->tree.size)
		findings_tell(&walk->findings, "block",
		    (int64_t)walk->tree.size + 1, (int64_t)identity->tree.size,
		    "there were as many blocks, and some are gone");
	else if (a.used != b.used || memcmp(ours, theirs, a.used) != 0)
		findings_tell(&walk->findings, "meta", 0, 0,
		    "its \"tree\" is not the one over the blocks");
	if (identity->checkpoint != walk->checkpoint)
		findings_tell(&walk->findings, "checkpoint",
		    identity->checkpoint, identity->checkpoint,
		    "meta has it as the newest one, and it is not");
}

/* ---- the file and its tables ---- */

static void
check_version(struct walk *walk)
{
	sqlite3_stmt *statement = prepare(walk->db, "PRAGMA user_version");

	if (statement == NULL || sqlite3_step(statement) != SQLITE_ROW ||
	    sqlite3_column_int64(statement, 0) != SEGMENT_VERSION)
		findings_tell(&walk->findings, "file", 0, 0,
		    "its version is not as it was written");
	(void)sqlite3_finalize(statement);
}

static void
check_file(struct walk *walk)
{
	sqlite3_stmt *statement =
	    prepare(walk->db, "PRAGMA integrity_check(20)");

	check_version(walk);
	while (statement != NULL && sqlite3_step(statement) == SQLITE_ROW) {
		const unsigned char *text = sqlite3_column_text(statement, 0);

		if (text != NULL && strcmp((const char *)text, "ok") != 0)
			findings_tell(
			    &walk->findings, "file", 0, 0, "%.200s", text);
	}
	if (sqlite3_finalize(statement) != SQLITE_OK || statement == NULL)
		findings_tell(&walk->findings, "file", 0, 0,
		    "it cannot be read: %s", sqlite3_errmsg(walk->db));
}

static const char schema_sql[] =
    "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name";

/* The tables, indexes and views of a database, in one digest. */
static bool
digest_schema(struct walk *walk, sqlite3 *db, struct digest *ret)
{
	sqlite3_stmt *statement = prepare(db, schema_sql);
	int result = SQLITE_ERROR;

	digester_begin(walk->digester, DIGEST_LEAF);
	while (statement != NULL) {
		result = sqlite3_step(statement);
		if (result != SQLITE_ROW)
			break;
		digester_columns(walk->digester, statement, 4);
	}
	digester_end(walk->digester, ret);
	return sqlite3_finalize(statement) == SQLITE_OK &&
	       result == SQLITE_DONE;
}

/* A view that says something else lies to whoever asks it. */
static int
check_schema(struct walk *walk, struct problem *reterr)
{
	struct digest ours, theirs;
	sqlite3 *fresh = NULL;
	bool well = sqlite3_open(":memory:", &fresh) == SQLITE_OK;

	for (size_t i = 0; well && sqltext_schema[i].name != NULL; i++)
		well = sqlite3_exec(fresh, sqltext_schema[i].sql, NULL, NULL,
			   NULL) == SQLITE_OK;
	well = well && digest_schema(walk, fresh, &ours);
	(void)sqlite3_close(fresh);
	if (!well)
		return problem_set(reterr, "no memory to verify");
	if (!digest_schema(walk, walk->db, &theirs))
		findings_tell(
		    &walk->findings, "file", 0, 0, "its schema cannot be read");
	else if (!digest_equals(&ours, &theirs))
		findings_tell(&walk->findings, "sqlite_schema", 0, 0,
		    "a table, index or view is not as it was made");
	return STATUS_OK;
}

static void
check_names(struct walk *walk)
{
	sqlite3_stmt *statement = prepare(walk->db, leaf_names_sql);
	struct digest names;

	if (statement == NULL || !leaf_names(walk->digester, statement)) {
		findings_tell(
		    &walk->findings, "file", 0, 0, "its names cannot be read");
		(void)sqlite3_finalize(statement);
		return;
	}
	(void)sqlite3_finalize(statement);
	digester_end(walk->digester, &names);
	if (walk->last.no > 0 && !digest_equals(&names, &walk->names))
		findings_tell(&walk->findings, "kind, verdict or reason", 0, 0,
		    "a name is not as it was written");
}

/* ---- runs ---- */

/* Of each run: its end, and its first, last, start and end rows. */
static const char runs_sql[] =
    "SELECT s.id, s.ended_us, r.first, r.last, r.start, r.starts, r.final, "
    "r.finals, r.ts FROM sandbox s LEFT JOIN ("
    "SELECT sandbox_id, min(seq) AS first, max(seq) AS last, "
    "min(CASE kind WHEN 15 THEN seq END) AS start, "
    "sum(kind = 15) AS starts, max(CASE kind WHEN 16 THEN seq END) AS final, "
    "sum(kind = 16) AS finals, max(CASE kind WHEN 16 THEN ts_us END) AS ts "
    "FROM event WHERE sandbox_id IS NOT NULL GROUP BY sandbox_id) r "
    "ON r.sandbox_id = s.id ORDER BY s.id";

static bool
is_null(sqlite3_stmt *statement, int at)
{
	return sqlite3_column_type(statement, at) == SQLITE_NULL;
}

static int64_t
number(sqlite3_stmt *statement, int at)
{
	return sqlite3_column_int64(statement, at);
}

static void
check_run(struct walk *walk, sqlite3_stmt *run, struct verify_report *report)
{
	int64_t id = number(run, 0);
	bool ended = !is_null(run, 1);

	report->runs++;
	if (number(run, 5) != 1 || number(run, 4) != number(run, 2))
		findings_tell(&walk->findings, "sandbox", id, id,
		    "the run does not begin with its first row");
	if (number(run, 7) > 1 ||
	    (number(run, 7) == 1 && number(run, 6) != number(run, 3)))
		findings_tell(&walk->findings, "sandbox", id, id,
		    "the run does not end with its last row");
	if (ended != (number(run, 7) > 0) ||
	    (ended && number(run, 1) != number(run, 8)))
		findings_tell(&walk->findings, "sandbox", id, id,
		    "its end is not the one that its last row tells");
	if (number(run, 7) == 0)
		report->open_runs++;
}

static void
check_runs(struct walk *walk, struct verify_report *report)
{
	sqlite3_stmt *statement = prepare(walk->db, runs_sql);

	while (statement != NULL && sqlite3_step(statement) == SQLITE_ROW)
		check_run(walk, statement, report);
	if (sqlite3_finalize(statement) != SQLITE_OK || statement == NULL)
		findings_tell(&walk->findings, "file", 0, 0,
		    "its runs cannot be read: %s", sqlite3_errmsg(walk->db));
}

/* ---- all of it ---- */

static int
check_all(struct walk *walk, const struct identity *identity,
    struct verify_report *report, struct problem *reterr)
{
	block_genesis(walk->digester, cursor_of_text(identity->chain),
	    identity->segment, &walk->genesis);
	check_file(walk);
	if (check_schema(walk, reterr) != STATUS_OK)
		return STATUS_PROBLEM;
	check_meta(walk, identity);
	if (walk_run(walk) != STATUS_OK)
		findings_tell(&walk->findings, "file", 0, 0,
		    "it cannot be read behind row %" PRId64 ": %s",
		    walk->last.last_seq, sqlite3_errmsg(walk->db));
	check_names(walk);
	check_ends(walk, identity);
	check_runs(walk, report);
	if (!digester_is_well(walk->digester))
		return problem_set(reterr, "cannot make digests");
	return STATUS_OK;
}

/* A file of the first version has no table for what is asked. */
static int
refuse_old(sqlite3 *db, struct problem *reterr)
{
	sqlite3_stmt *statement = prepare(db, "SELECT size FROM checkpoint");
	bool there = statement != NULL;

	(void)sqlite3_finalize(statement);
	if (there)
		return STATUS_OK;
	(void)problem_set(reterr,
	    "this audit was written by a version without blocks: nothing in "
	    "it can be verified");
	return problem_cure(
	    reterr, "Rows that are written from now on can be.");
}

static void
fill_report(const struct walk *walk, struct verify_report *report)
{
	report->findings = walk->findings.count;
	report->rows = walk->rows;
	report->entries = walk->entries;
	report->blocks = walk->blocks;
	report->checkpoints = walk->checkpoints;
	report->unproven = walk->unproven;
	report->signed_blocks = walk->signed_blocks;
	report->anchored_blocks = walk->anchored_blocks;
}

/* What meta says of the chain, for as much of it as can be read. */
static int
identify(sqlite3 *db, struct identity *ret, char ret_origin[CHECKPOINT_ORIGIN],
    struct problem *reterr)
{
	int status = refuse_old(db, reterr);

	if (status == STATUS_OK)
		status = read_meta(db, ret, reterr);
	if (status == STATUS_OK && checkpoint_origin(cursor_of_text(ret->chain),
				       ret_origin) != STATUS_OK)
		ret_origin[0] = '\0';
	return status;
}

int
verify_run(struct query *query, const struct verify *verify,
    struct verify_report *ret, struct problem *reterr)
{
	struct verify_report report = { .findings = 0 };
	struct identity identity = { .known = 0 };
	char origin[CHECKPOINT_ORIGIN];
	struct walk walk = { .db = query_unguarded(query),
		.findings = { verify->on_finding, verify->arg, 0 },
		.origin = origin,
		.key = identity.key,
		.anchors = verify->anchors,
		.anchor_count = verify->anchor_count };
	int status;

	/* One snapshot: the writer goes on meanwhile. */
	if (sqlite3_exec(walk.db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		return problem_set(reterr, "cannot read the audit: %s",
		    sqlite3_errmsg(walk.db));
	status = identify(walk.db, &identity, origin, reterr);
	walk.digester = digester_new();
	if (status == STATUS_OK && walk.digester == NULL)
		status = problem_set(reterr, "no memory to verify");
	if (status == STATUS_OK)
		status = check_all(&walk, &identity, &report, reterr);
	digester_free(walk.digester);
	(void)sqlite3_exec(walk.db, "COMMIT", NULL, NULL, NULL);
	fill_report(&walk, &report);
	if (status == STATUS_OK)
		*ret = report;
	return status;
}

int
verify_identity(struct query *query, char ret_origin[CHECKPOINT_ORIGIN],
    uint8_t ret_key[SIGNER_KEY], struct problem *reterr)
{
	struct identity identity = { .known = 0 };
	char origin[CHECKPOINT_ORIGIN];
	int status =
	    identify(query_unguarded(query), &identity, origin, reterr);

	if (status != STATUS_OK)
		return status;
	if (identity.known != ALL_METAS)
		return problem_set(reterr, "the audit's meta is damaged");
	memcpy(ret_origin, origin, sizeof(origin));
	memcpy(ret_key, identity.key, SIGNER_KEY);
	return STATUS_OK;
}
