#include "gateway/audit/inclusion.h"

#include "gateway/audit/identity.h"
#include "gateway/audit/query.h"
#include "gateway/audit/shelf.h"
#include "schema/status.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct maker {
	sqlite3 *db;
	struct digester *digester;
	struct inclusion *proof;
	struct block before; /* no is 0 when the row's block is the first */
	struct merkle before_us; /* the tree when this segment began */
	bool broken; /* the file cannot be read */
};

static sqlite3_stmt *
prepare(struct maker *maker, const char *sql, int64_t first, int64_t last)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(maker->db, sql, -1, &statement, NULL) ==
	    SQLITE_OK) {
		if (sqlite3_bind_parameter_count(statement) == 0 ||
		    (sqlite3_bind_int64(statement, 1, first) == SQLITE_OK &&
			sqlite3_bind_int64(statement, 2, last) == SQLITE_OK))
			return statement;
		(void)sqlite3_finalize(statement);
	}
	maker->broken = true;
	return NULL;
}

static bool
step(struct maker *maker, sqlite3_stmt *statement)
{
	int result = statement == NULL ? SQLITE_ERROR : sqlite3_step(statement);

	if (result != SQLITE_ROW && result != SQLITE_DONE)
		maker->broken = true;
	return result == SQLITE_ROW;
}

static sqlite3_stmt *
prepare_entries(struct maker *maker, enum leaf_table table)
{
	int64_t before = maker->before.last_ids[table];

	return prepare(maker, leaf_table_sql(table),
	    maker->before.no == 0 ? INT64_MIN
	    : before == INT64_MAX ? before
				  : before + 1,
	    maker->proof->block.last_ids[table]);
}

/* How many leaves the row's block has. */
static void
count_leaves(struct maker *maker)
{
	maker->proof->leaves = block_rows(&maker->proof->block) + 1;
	for (int i = 0; i < LEAF_TABLES; i++) {
		sqlite3_stmt *statement =
		    prepare_entries(maker, (enum leaf_table)i);

		while (step(maker, statement))
			maker->proof->leaves++;
		(void)sqlite3_finalize(statement);
	}
}

static void
feed(struct maker *maker)
{
	struct digest leaf;

	digester_end(maker->digester, &leaf);
	merkle_path_feed(&maker->proof->row_path, maker->digester, &leaf);
}

/* Keeps the bytes of the row that is proven; the digester has them. */
static void
keep_row(struct maker *maker)
{
	struct cursor bytes;

	if (!digester_bytes(maker->digester, &bytes) ||
	    bytes.left > INCLUSION_ROW) {
		maker->broken = true;
		return;
	}
	memcpy(maker->proof->row, bytes.at, bytes.left);
	maker->proof->row_length = bytes.left;
}

static void
feed_rows(struct maker *maker, int64_t seq)
{
	const struct block *block = &maker->proof->block;
	sqlite3_stmt *statement =
	    prepare(maker, leaf_event_sql, block->first_seq, block->last_seq);

	while (step(maker, statement)) {
		digester_begin(maker->digester, DIGEST_LEAF);
		digester_columns(maker->digester, statement, LEAF_COLUMNS);
		if (sqlite3_column_int64(statement, 0) == seq)
			keep_row(maker);
		feed(maker);
	}
	(void)sqlite3_finalize(statement);
}

static void
make_row_path(struct maker *maker, int64_t seq)
{
	struct inclusion *proof = maker->proof;
	struct digest border;

	count_leaves(maker);
	merkle_path_begin(&proof->row_path,
	    (uint64_t)(seq - proof->block.first_seq), proof->leaves);
	feed_rows(maker, seq);
	for (int i = 0; i < LEAF_TABLES; i++) {
		sqlite3_stmt *statement =
		    prepare_entries(maker, (enum leaf_table)i);

		while (step(maker, statement)) {
			leaf_entry(
			    maker->digester, (enum leaf_table)i, statement);
			feed(maker);
		}
		(void)sqlite3_finalize(statement);
	}
	block_border(maker->digester, &proof->block, &border);
	merkle_path_feed(&proof->row_path, maker->digester, &border);
}

static void
make_block_path(struct maker *maker)
{
	struct inclusion *proof = maker->proof;
	sqlite3_stmt *statement = prepare(maker, block_select_sql, 0, 0);
	struct block block;
	struct digest leaf;

	merkle_path_begin(&proof->block_path, (uint64_t)proof->block.no - 1,
	    (uint64_t)proof->size);
	/* Blocks of segments before this one count as the subtrees they made.
	 */
	merkle_path_skip(
	    &proof->block_path, maker->digester, &maker->before_us);
	for (int64_t fed = (int64_t)maker->before_us.size; fed < proof->size;
	     fed++) {
		if (!step(maker, statement) || !block_read(statement, &block)) {
			maker->broken = true;
			break;
		}
		digester_begin(maker->digester, DIGEST_LEAF);
		digester_put(maker->digester, block.hash.bytes, DIGEST_BYTES);
		digester_end(maker->digester, &leaf);
		merkle_path_feed(&proof->block_path, maker->digester, &leaf);
	}
	(void)sqlite3_finalize(statement);
}

/* The row's block, and the one before it. */
static int
find_block(struct maker *maker, int64_t seq, struct problem *reterr)
{
	static const char sql[] =
	    "SELECT * FROM block WHERE no BETWEEN ?1 AND ?2 ORDER BY no DESC";
	static const char find[] =
	    "SELECT no FROM block WHERE first_seq <= ?1 AND last_seq >= ?2 "
	    "LIMIT 1";
	sqlite3_stmt *statement = prepare(maker, find, seq, seq);
	bool found = step(maker, statement);
	int64_t no = found ? sqlite3_column_int64(statement, 0) : 0;

	(void)sqlite3_finalize(statement);
	if (!found) {
		(void)problem_set(
		    reterr, "row %" PRId64 " is in no block", seq);
		return STATUS_NOT_FOUND;
	}
	statement = prepare(maker, sql, no - 1, no);
	if (!step(maker, statement) ||
	    !block_read(statement, &maker->proof->block) ||
	    (step(maker, statement) && !block_read(statement, &maker->before)))
		maker->broken = true;
	(void)sqlite3_finalize(statement);
	return STATUS_OK;
}

static int
find_checkpoint(struct maker *maker, struct problem *reterr)
{
	static const char sql[] =
	    "SELECT size, note FROM checkpoint WHERE size BETWEEN ?1 AND ?2 "
	    "ORDER BY size DESC LIMIT 1";
	sqlite3_stmt *statement =
	    prepare(maker, sql, maker->proof->block.no, INT64_MAX);
	bool found = step(maker, statement);
	const void *note = NULL;
	size_t length = 0;

	if (found) {
		note = sqlite3_column_text(statement, 1);
		length = (size_t)sqlite3_column_bytes(statement, 1);
		maker->proof->size = sqlite3_column_int64(statement, 0);
	}
	if (note != NULL && length < sizeof(maker->proof->note))
		memcpy(maker->proof->note, note, length);
	else if (found)
		maker->broken = true;
	(void)sqlite3_finalize(statement);
	if (found)
		return STATUS_OK;
	(void)problem_set(reterr, "no checkpoint covers that row yet");
	(void)problem_cure(
	    reterr, "There is one after ten seconds, and at the run's end.");
	return STATUS_NOT_FOUND;
}

static int
read_start(struct maker *maker, struct problem *reterr)
{
	struct identity identity;
	int status = identity_read(maker->db, &identity, reterr);

	if (status == STATUS_OK && identity.segment > 1)
		maker->before_us = identity.start.tree;
	return status;
}

static int
make(struct maker *maker, int64_t seq, struct problem *reterr)
{
	int status = find_block(maker, seq, reterr);

	if (status == STATUS_OK && !maker->broken)
		status = find_checkpoint(maker, reterr);
	if (status == STATUS_OK)
		status = read_start(maker, reterr);
	if (status == STATUS_OK && !maker->broken) {
		make_row_path(maker, seq);
		make_block_path(maker);
	}
	if (maker->broken || !digester_is_well(maker->digester) ||
	    (status == STATUS_OK && maker->proof->row_length == 0))
		return problem_set(reterr,
		    "the audit is damaged there; see exeat audit verify");
	return status;
}

/* From one segment, which holds the block and a checkpoint over it. */
static int
make_from(struct query *segment, int64_t seq, struct inclusion *ret,
    struct problem *reterr)
{
	struct maker maker = { .db = query_unguarded(segment), .proof = ret };
	int status;

	maker.digester = digester_new();
	if (maker.digester == NULL)
		return problem_set(reterr, "no memory for a proof");
	if (sqlite3_exec(maker.db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK) {
		status = make(&maker, seq, reterr);
		(void)sqlite3_exec(maker.db, "COMMIT", NULL, NULL, NULL);
	} else
		status = problem_set(reterr, "cannot read the audit: %s",
		    sqlite3_errmsg(maker.db));
	digester_free(maker.digester);
	return status;
}

int
inclusion_make(struct query *query, int64_t seq, struct inclusion *ret,
    struct problem *reterr)
{
	struct inclusion *proof = calloc(1, sizeof(*proof));
	size_t left = query_shelf(query)->count;
	int status = STATUS_NOT_FOUND;

	if (proof == NULL)
		return problem_set(reterr, "no memory for a proof");
	(void)problem_set(reterr, "there is no row in this audit");
	while (left > 0 && status == STATUS_NOT_FOUND) {
		struct query *segment;

		status = query_segment(query, --left, &segment, reterr);
		if (status != STATUS_OK)
			break;
		status = make_from(segment, seq, proof, reterr);
		query_close(segment);
		/* The block was found, and no checkpoint: no other has it. */
		if (proof->block.no > 0)
			break;
	}
	if (status == STATUS_OK)
		*ret = *proof;
	free(proof);
	return status;
}
