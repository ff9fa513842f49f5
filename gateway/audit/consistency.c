#include "gateway/audit/consistency.h"

#include "gateway/audit/block.h"
#include "gateway/audit/identity.h"
#include "gateway/audit/query.h"
#include "gateway/audit/shelf.h"
#include "schema/status.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>

struct weaver {
	struct consistency *proof;
	struct digester *digester;
	bool begun; /* the segment that holds from was found */
	bool broken; /* a file cannot be read, or lacks blocks */
};

/* ---- the checkpoints ---- */

/* Copies the note of that size; false when this segment has none. */
static bool
take_note(sqlite3 *db, int64_t size, char note[CHECKPOINT_NOTE])
{
	sqlite3_stmt *statement = NULL;
	const void *text = NULL;
	size_t length = 0;

	if (sqlite3_prepare_v2(db, "SELECT note FROM checkpoint WHERE size = ?",
		-1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_bind_int64(statement, 1, size) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW) {
		text = sqlite3_column_text(statement, 0);
		length = (size_t)sqlite3_column_bytes(statement, 0);
	}
	if (text != NULL && length < CHECKPOINT_NOTE) {
		memcpy(note, text, length);
		note[length] = '\0';
	} else
		text = NULL;
	(void)sqlite3_finalize(statement);
	return text != NULL;
}

/* In any segment; the newest checkpoint stands for 0. */
static int
find_notes(
    struct query *query, struct consistency *proof, struct problem *reterr)
{
	int status = STATUS_OK;

	for (size_t i = query_shelf(query)->count; i > 0; i--) {
		struct query *segment;
		sqlite3 *db;

		status = query_segment(query, i - 1, &segment, reterr);
		if (status != STATUS_OK)
			return status;
		db = query_unguarded(segment);
		if (proof->to == 0)
			(void)!query_number(segment,
			    "SELECT max(size) FROM checkpoint", &proof->to);
		if (proof->to_note[0] == '\0')
			(void)take_note(db, proof->to, proof->to_note);
		if (proof->from_note[0] == '\0')
			(void)take_note(db, proof->from, proof->from_note);
		query_close(segment);
	}
	if (proof->from_note[0] != '\0' && proof->to_note[0] != '\0')
		return STATUS_OK;
	(void)problem_set(reterr,
	    "there is no checkpoint of %" PRId64 " blocks",
	    proof->from_note[0] == '\0' ? proof->from : proof->to);
	(void)problem_cure(
	    reterr, "The second line of a checkpoint says how many it is of.");
	return STATUS_NOT_FOUND;
}

/* ---- the path ---- */

static void
feed_block(struct weaver *weaver, const struct block *block)
{
	struct digest leaf;

	digester_begin(weaver->digester, DIGEST_LEAF);
	digester_put(weaver->digester, block->hash.bytes, DIGEST_BYTES);
	digester_end(weaver->digester, &leaf);
	merkle_path_feed(&weaver->proof->path, weaver->digester, &leaf);
}

static void
feed_segment(struct weaver *weaver, sqlite3 *db)
{
	struct consistency *proof = weaver->proof;
	sqlite3_stmt *statement = NULL;
	struct block block;

	if (sqlite3_prepare_v2(db, block_select_sql, -1, &statement, NULL) !=
	    SQLITE_OK)
		weaver->broken = true;
	while (!weaver->broken && (int64_t)proof->path.next < proof->to &&
	       sqlite3_step(statement) == SQLITE_ROW) {
		if (!block_read(statement, &block) ||
		    block.no != (int64_t)proof->path.next + 1)
			weaver->broken = true;
		else
			feed_block(weaver, &block);
	}
	(void)sqlite3_finalize(statement);
}

/*
 * Segments that end before from are left out: the tree that the next one went
 * on from stands for them.
 */
static int
weave_segment(struct weaver *weaver, struct query *segment, bool is_last,
    const struct identity *next, struct problem *reterr)
{
	struct consistency *proof = weaver->proof;
	struct identity here;
	int status;

	if (!weaver->begun && !is_last &&
	    next->start.tree.size <= (uint64_t)proof->from)
		return STATUS_OK;
	if (!weaver->begun) {
		status = identity_read(query_unguarded(segment), &here, reterr);
		if (status != STATUS_OK)
			return status;
		if (here.segment > 1 &&
		    here.start.tree.size > (uint64_t)proof->from) {
			(void)problem_set(reterr,
			    "the blocks behind the first %" PRId64
			    " were pruned",
			    proof->from);
			return STATUS_NOT_FOUND;
		}
		if (here.segment > 1)
			merkle_path_skip(
			    &proof->path, weaver->digester, &here.start.tree);
		weaver->begun = true;
	}
	feed_segment(weaver, query_unguarded(segment));
	return STATUS_OK;
}

static int
weave(struct query *query, struct weaver *weaver, struct problem *reterr)
{
	size_t count = query_shelf(query)->count;
	struct query *segment = NULL, *behind = NULL;
	struct identity next = { .known = 0 };
	int status = query_segment(query, 0, &segment, reterr);

	for (size_t i = 0; i < count && status == STATUS_OK; i++) {
		if (i + 1 < count) {
			status = query_segment(query, i + 1, &behind, reterr);
			if (status == STATUS_OK)
				status = identity_read(
				    query_unguarded(behind), &next, reterr);
		}
		if (status == STATUS_OK)
			status = weave_segment(
			    weaver, segment, i + 1 == count, &next, reterr);
		query_close(segment);
		segment = behind;
		behind = NULL;
	}
	query_close(segment);
	return status;
}

/* The notes are found, and every block between them is fed. */
static int
make(struct query *query, struct weaver *weaver, struct problem *reterr)
{
	struct consistency *proof = weaver->proof;
	int status = find_notes(query, proof, reterr);

	if (status != STATUS_OK)
		return status;
	if (proof->from > proof->to)
		return problem_set(reterr,
		    "the checkpoint of %" PRId64 " blocks is the later one",
		    proof->from);
	merkle_path_between(
	    &proof->path, (uint64_t)proof->from, (uint64_t)proof->to);
	status = weave(query, weaver, reterr);
	if (status == STATUS_OK &&
	    (weaver->broken || (int64_t)proof->path.next < proof->to ||
		!digester_is_well(weaver->digester)))
		status = problem_set(reterr,
		    "the audit is damaged there; see exeat audit verify");
	return status;
}

int
consistency_make(struct query *query, int64_t from, int64_t to,
    struct consistency *ret, struct problem *reterr)
{
	struct consistency proof = { .from = from, .to = to };
	struct weaver weaver = { .proof = &proof, .digester = digester_new() };
	int status;

	if (weaver.digester == NULL)
		return problem_set(reterr, "no memory for a proof");
	status = make(query, &weaver, reterr);
	if (status == STATUS_OK)
		*ret = proof;
	digester_free(weaver.digester);
	return status;
}
