#include "gateway/audit/verify.h"

#include "gateway/audit/identity.h"
#include "gateway/audit/query.h"
#include "gateway/audit/segment.h"
#include "gateway/audit/shelf.h"
#include "gateway/audit/sqltext.h"
#include "gateway/audit/walk.h"
#include "schema/status.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* What goes on from one segment to the next. */
struct verify_state {
	sqlite3 *newest; /* that is asked why files are gone */
	struct identity first; /* of the oldest segment there is */
	struct identity here; /* of the one that is looked at */
	char origin[CHECKPOINT_ORIGIN];
	int64_t shelf_number; /* by its file's name */
	int64_t number; /* of the segment before; 0 before the first */
	int64_t pruned;
	bool has_open;
	struct digest open; /* over the runs it left without an end */
};

static sqlite3_stmt *
prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		return NULL;
	return statement;
}

/* ---- meta ---- */

static void
check_meta(struct walk *walk, const struct identity *identity)
{
	unsigned missing =
	    identity_wanted(identity, walk->begun) & ~identity->known;

	for (unsigned at = 0; at < IDENTITY_COUNT; at++)
		if ((missing & (1U << at)) != 0)
			findings_tell(&walk->findings, "meta", 0, 0,
			    "its \"%s\" is missing or not as it was written",
			    identity_key((enum identity_place)at));
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

	if (!walk->begun && identity->segment != 1)
		return;
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

/* Indexes of a sealed segment come later, and are its own checked part; the
 * second line is what earlier versions made. */
static const char schema_sql[] =
    "SELECT type, name, tbl_name, sql FROM sqlite_schema "
    "WHERE name NOT LIKE 'sqlite_stat%' AND NOT (type = 'index' AND name IN ("
    "'ev_sandbox', 'ev_reach', 'ev_traffic', 'ev_denied', 'ev_names', "
    "'ev_counted', 'ev_unread', 'ev_lent', 'ev_token', 'ev_children', "
    "'ev_dst', 'ev_cred', 'ev_parent')) ORDER BY type, name";

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

/* Of each run: its end, and its first, last, start and end rows.  In a segment
 * behind the first it may have begun before. */
#define BEGINS                                              \
	"(kind = 15 OR (kind = 18 AND object = 'continue' " \
	"AND (SELECT v FROM meta WHERE k = 'segment') > 1))"
static const char runs_sql[] =
    "SELECT s.id, s.ended_us, r.first, r.last, r.start, r.starts, r.final, "
    "r.finals, r.ts, r.begun FROM sandbox s LEFT JOIN ("
    "SELECT sandbox_id, min(seq) AS first, max(seq) AS last, "
    "min(CASE WHEN " BEGINS " THEN seq END) AS start, "
    "sum(" BEGINS ") AS starts, sum(kind = 15) AS begun, max(CASE kind WHEN 16 "
    "THEN seq END) AS final, "
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

	report->runs += number(run, 9);
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

	/* Those of the segment before go on in this one, or are told. */
	report->open_runs = 0;
	while (statement != NULL && sqlite3_step(statement) == SQLITE_ROW)
		check_run(walk, statement, report);
	if (sqlite3_finalize(statement) != SQLITE_OK || statement == NULL)
		findings_tell(&walk->findings, "file", 0, 0,
		    "its runs cannot be read: %s", sqlite3_errmsg(walk->db));
}

/* The uids that sql gives, as one digest. */
static bool
digest_uids(struct walk *walk, const char *sql, struct digest *ret)
{
	sqlite3_stmt *statement = prepare(walk->db, sql);
	int result = SQLITE_ERROR;

	digester_begin(walk->digester, DIGEST_LEAF);
	while (statement != NULL) {
		result = sqlite3_step(statement);
		if (result != SQLITE_ROW)
			break;
		digester_columns(walk->digester, statement, 1);
	}
	digester_end(walk->digester, ret);
	return sqlite3_finalize(statement) == SQLITE_OK &&
	       result == SQLITE_DONE;
}

/* Whether the runs that were open at the end of the segment before go on. */
static void
check_open_runs(struct walk *walk, struct verify_state *state)
{
	struct digest here;

	if (state->has_open &&
	    (!digest_uids(walk,
		 "SELECT uid FROM sandbox WHERE id IN (SELECT sandbox_id FROM "
		 "event WHERE kind = 18 AND kind NOT IN (1, 2, 5) AND object "
		 "= 'continue') ORDER BY uid",
		 &here) ||
		!digest_equals(&here, &state->open)))
		findings_tell(&walk->findings, "segment", state->number,
		    state->number,
		    "the runs that go on in it are not those that were open");
	state->has_open = digest_uids(walk,
	    "SELECT uid FROM sandbox WHERE ended_us IS NULL ORDER BY uid",
	    &state->open);
}

/* ---- all of it ---- */

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

/* ---- segments ---- */

/* The segments between two that are there, and why they are not. */
static void
tell_gap(struct walk *walk, struct verify_state *state, int64_t number)
{
	for (int64_t at = state->number + 1; at < number; at++) {
		sqlite3_stmt *statement = prepare(state->newest,
		    "SELECT 1 FROM v_event WHERE kind = 'audit' AND object = "
		    "'prune' AND detail ->> '$.segment' = ?");
		bool told = statement != NULL &&
			    sqlite3_bind_int64(statement, 1, at) == SQLITE_OK &&
			    sqlite3_step(statement) == SQLITE_ROW;

		(void)sqlite3_finalize(statement);
		if (told)
			state->pruned++;
		else
			findings_tell(&walk->findings, "segment", at, at,
			    "its file is gone, and no row says that it was "
			    "pruned");
	}
}

/* Anchors of blocks that are gone cannot be compared, but for the last. */
static void
skip_anchors(struct walk *walk)
{
	struct digest root;

	if (walk->tree.size > 0)
		merkle_root(&walk->tree, walk->digester, &root);
	for (; walk->anchor < walk->anchor_count; walk->anchor++) {
		const struct checkpoint *anchor = &walk->anchors[walk->anchor];

		if (anchor->size > walk->tree.size)
			return;
		if (anchor->size == walk->tree.size &&
		    !digest_equals(&root, &anchor->root))
			findings_tell(&walk->findings, "anchor",
			    (int64_t)anchor->size, (int64_t)anchor->size,
			    "the blocks that were pruned are not the ones "
			    "that were signed");
	}
}

static void
begin_at(struct walk *walk, const struct start *start)
{
	walk->tree = start->tree;
	walk->checkpoint = start->checkpoint;
	walk->last = (struct block){ .no = (int64_t)start->tree.size,
		.last_seq = start->last_seq,
		.last_us = start->last_us,
		.hash = start->hash };
	skip_anchors(walk);
}

/* Where the segment's blocks begin: behind those of the one before it. */
static void
begin_segment(struct walk *walk, struct verify_state *state,
    const struct identity *identity)
{
	struct start here = { .last_seq = walk->last.last_seq,
		.last_us = walk->last.last_us,
		.checkpoint = walk->checkpoint,
		.hash = walk->last.hash,
		.tree = walk->tree };
	int64_t number = identity->segment;

	if (number != state->shelf_number)
		findings_tell(&walk->findings, "segment", state->shelf_number,
		    state->shelf_number, "its file says that it is another");
	number = state->shelf_number;
	tell_gap(walk, state, number);
	if (number == 1)
		block_genesis(walk->digester, cursor_of_text(identity->chain),
		    1, &walk->last.hash);
	else if (state->number + 1 < number) {
		state->has_open = false;
		begin_at(walk, &identity->start);
	} else if (!start_equals(&identity->start, &here))
		findings_tell(&walk->findings, "segment", number, number,
		    "it does not go on where the one before it ended");
	state->number = number;
}

static int
check_segment(struct walk *walk, struct verify_state *state,
    const struct identity *identity, struct verify_report *report,
    struct problem *reterr)
{
	begin_segment(walk, state, identity);
	check_file(walk);
	if (check_schema(walk, reterr) != STATUS_OK)
		return STATUS_PROBLEM;
	if (walk_run(walk) != STATUS_OK)
		findings_tell(&walk->findings, "file", 0, 0,
		    "it cannot be read behind row %" PRId64 ": %s",
		    walk->last.last_seq, sqlite3_errmsg(walk->db));
	check_meta(walk, identity);
	check_names(walk);
	check_ends(walk, identity);
	check_runs(walk, report);
	check_open_runs(walk, state);
	if (!digester_is_well(walk->digester))
		return problem_set(reterr, "cannot make digests");
	return STATUS_OK;
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
		status = identity_read(db, ret, reterr);
	if (status == STATUS_OK && checkpoint_origin(cursor_of_text(ret->chain),
				       ret_origin) != STATUS_OK)
		ret_origin[0] = '\0';
	return status;
}

/* One segment in one snapshot: the writer goes on meanwhile. */
static int
verify_segment(struct query *segment, struct walk *walk,
    struct verify_state *state, struct verify_report *report,
    struct problem *reterr)
{
	struct identity *identity = &state->here;
	int status;

	walk->db = query_unguarded(segment);
	walk->origin = state->origin;
	walk->key = identity->key;
	*identity = (struct identity){ .known = 0 };
	if (sqlite3_exec(walk->db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		return problem_set(reterr, "cannot read the audit: %s",
		    sqlite3_errmsg(walk->db));
	status = identify(walk->db, identity, state->origin, reterr);
	if (status == STATUS_OK && state->number > 0 &&
	    (strcmp(identity->chain, state->first.chain) != 0 ||
		memcmp(identity->key, state->first.key, SIGNER_KEY) != 0))
		findings_tell(&walk->findings, "segment", state->shelf_number,
		    state->shelf_number, "it is of another audit");
	if (status == STATUS_OK && state->number == 0)
		state->first = *identity;
	if (status == STATUS_OK)
		status = check_segment(walk, state, identity, report, reterr);
	(void)sqlite3_exec(walk->db, "COMMIT", NULL, NULL, NULL);
	return status;
}

static int
verify_segments(struct query *query, struct walk *walk,
    struct verify_state *state, struct verify_report *report,
    struct problem *reterr)
{
	const struct shelf *shelf = query_shelf(query);
	int status = STATUS_OK;

	for (size_t i = 0; i < shelf->count && status == STATUS_OK; i++) {
		struct query *segment;

		status = query_segment(query, i, &segment, reterr);
		if (status != STATUS_OK)
			return status;
		state->shelf_number = shelf->numbers[i];
		walk->is_newest = i + 1 == shelf->count;
		status = verify_segment(segment, walk, state, report, reterr);
		query_close(segment);
		report->segments++;
	}
	return status;
}

int
verify_run(struct query *query, const struct verify *verify,
    struct verify_report *ret, struct problem *reterr)
{
	struct verify_report report = { .findings = 0 };
	struct verify_state *state = calloc(1, sizeof(*state));
	struct walk walk = { .findings = { verify->on_finding, verify->arg, 0 },
		.anchors = verify->anchors,
		.anchor_count = verify->anchor_count,
		.digester = digester_new() };
	int status;

	if (state == NULL || walk.digester == NULL)
		status = problem_set(reterr, "no memory to verify");
	else {
		state->newest = query_unguarded(query);
		status = verify_segments(query, &walk, state, &report, reterr);
		report.pruned = state->pruned;
	}
	digester_free(walk.digester);
	free(state);
	fill_report(&walk, &report);
	if (status == STATUS_OK)
		*ret = report;
	return status;
}

int
verify_identity(struct query *query, char ret_origin[CHECKPOINT_ORIGIN],
    uint8_t ret_key[SIGNER_KEY], struct problem *reterr)
{
	const unsigned needed = 1U << IDENTITY_CHAIN | 1U << IDENTITY_KEY;
	struct identity identity = { .known = 0 };
	char origin[CHECKPOINT_ORIGIN];
	int status =
	    identify(query_unguarded(query), &identity, origin, reterr);

	if (status != STATUS_OK)
		return status;
	if ((identity.known & needed) != needed)
		return problem_set(reterr, "the audit's meta is damaged");
	memcpy(ret_origin, origin, sizeof(origin));
	memcpy(ret_key, identity.key, SIGNER_KEY);
	return STATUS_OK;
}
