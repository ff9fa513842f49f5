#include "gateway/audit/walk.h"

#include "schema/status.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>

enum {
	AT_TS = 1,
	AT_DANGLING = LEAF_COLUMNS
};

/* What a walk holds beside the block it looks at. */
struct place {
	struct walk *walk;
	sqlite3_stmt *rows, *blocks, *checkpoints, *entries[LEAF_TABLES];
	bool has_row, has_next, has_checkpoint; /* each stands on one */
	struct block block, next;
	struct merkle tree; /* of the block */
	int64_t row_end; /* the last row that belongs to a block */
	int64_t findings; /* before this block */
	bool whole; /* the block is as it was written */
	bool after_gap; /* blocks before this one are missing */
	int64_t missing_told; /* a checkpoint */
	bool broken; /* the file cannot be read */
};

/* Whether statement stands on a row now. */
static bool
step(struct place *place, sqlite3_stmt *statement)
{
	int result = sqlite3_step(statement);

	if (result != SQLITE_ROW && result != SQLITE_DONE)
		place->broken = true;
	return result == SQLITE_ROW;
}

static int64_t
row_seq(const struct place *place)
{
	return sqlite3_column_int64(place->rows, 0);
}

static void
next_row(struct place *place)
{
	place->has_row = step(place, place->rows);
}

/* ---- the rows of a block ---- */

static void
look_at_row(struct place *place)
{
	struct walk *walk = place->walk;
	struct block *block = &place->block;
	int64_t seq = row_seq(place);
	int64_t ts_us = sqlite3_column_int64(place->rows, AT_TS);
	struct digest leaf;

	if (sqlite3_column_int64(place->rows, AT_DANGLING) != 0)
		findings_tell(&walk->findings, "event", seq, seq,
		    "it names a dictionary entry that is not there");
	else if (place->whole &&
		 (ts_us < block->first_us || ts_us > block->last_us))
		findings_tell(&walk->findings, "event", seq, seq,
		    "its time is not within that of block %" PRId64, block->no);
	digester_begin(walk->digester, DIGEST_LEAF);
	digester_columns(walk->digester, place->rows, LEAF_COLUMNS);
	digester_end(walk->digester, &leaf);
	merkle_add(&place->tree, walk->digester, &leaf);
	walk->rows++;
}

/* Rows that no block has, before the one that begins with first. */
static void
skip_rows(struct place *place, int64_t first)
{
	struct walk *walk = place->walk;
	bool old = walk->last.no == 0;

	for (; place->has_row && row_seq(place) < first; next_row(place)) {
		int64_t seq = row_seq(place);

		/* Those of missing blocks are told with them. */
		if (old && seq > 0)
			walk->unproven++;
		else if (!place->after_gap)
			findings_tell(&walk->findings, "event", seq, seq,
			    "it stands in no block: it was added");
	}
}

static void
look_at_rows(struct place *place, int64_t begin, int64_t end)
{
	int64_t expected = begin;

	skip_rows(place, begin);
	for (; place->has_row && row_seq(place) <= end; next_row(place)) {
		int64_t seq = row_seq(place);

		if (seq > expected)
			findings_tell(&place->walk->findings, "event", expected,
			    seq - 1, "missing from block %" PRId64,
			    place->block.no);
		look_at_row(place);
		expected = seq + 1;
	}
	if (expected <= end)
		findings_tell(&place->walk->findings, "event", expected, end,
		    "missing from block %" PRId64, place->block.no);
	place->row_end = end;
}

static void
look_at_entries(struct place *place, enum leaf_table table)
{
	struct walk *walk = place->walk;
	sqlite3_stmt *statement = place->entries[table];
	int64_t before = walk->last.last_ids[table];
	int64_t first = !walk->begun	      ? INT64_MIN
			: before == INT64_MAX ? before
					      : before + 1;
	struct digest leaf;

	if (sqlite3_bind_int64(statement, 1, first) != SQLITE_OK ||
	    sqlite3_bind_int64(statement, 2, place->block.last_ids[table]) !=
		SQLITE_OK)
		place->broken = true;
	while (!place->broken && step(place, statement)) {
		leaf_entry(walk->digester, table, statement);
		digester_end(walk->digester, &leaf);
		merkle_add(&place->tree, walk->digester, &leaf);
		walk->entries++;
	}
	(void)sqlite3_reset(statement);
}

/* ---- checkpoints and anchors ---- */

/* Told once: every later root differs as well. */
static void
tell_root(struct place *place, const char *table, int64_t size)
{
	if (!place->walk->root_told)
		findings_tell(&place->walk->findings, table, size, size,
		    "the first %" PRId64 " blocks are not the ones that were "
		    "signed: none of their rows can be trusted",
		    size);
	place->walk->root_told = true;
}

static struct cursor
column_bytes(sqlite3_stmt *statement, int at)
{
	const void *bytes = sqlite3_column_blob(statement, at);

	return cursor_of(bytes,
	    bytes == NULL ? 0 : (size_t)sqlite3_column_bytes(statement, at));
}

/* The note must say what the columns say, and nothing more. */
static bool
read_note(struct place *place, struct checkpoint *ret)
{
	struct cursor note = column_bytes(place->checkpoints, 3);
	struct digest root;

	return checkpoint_read(&note, ret) == STATUS_OK &&
	       cursor_is_empty(&note) &&
	       ret->size ==
		   (uint64_t)sqlite3_column_int64(place->checkpoints, 0) &&
	       digest_read(column_bytes(place->checkpoints, 2), &root) &&
	       digest_equals(&root, &ret->root) &&
	       strcmp(ret->origin, place->walk->origin) == 0;
}

/* The checkpoint over all blocks up to this one. */
static void
look_at_checkpoint(struct place *place)
{
	struct walk *walk = place->walk;
	int64_t size = sqlite3_column_int64(place->checkpoints, 0);
	int64_t us = sqlite3_column_int64(place->checkpoints, 1);
	struct checkpoint checkpoint;
	struct digest root;

	walk->checkpoints++;
	walk->checkpoint = size;
	if (!read_note(place, &checkpoint)) {
		findings_tell(&walk->findings, "checkpoint", size, size,
		    "its note and its columns do not agree");
		return;
	}
	if (!checkpoint_is_signed_by(&checkpoint, walk->key)) {
		findings_tell(&walk->findings, "checkpoint", size, size,
		    "its signature is not that of the audit's key");
		return;
	}
	if (us != place->block.last_us)
		findings_tell(&walk->findings, "checkpoint", size, size,
		    "its time is not that of block %" PRId64, size);
	merkle_root(&walk->tree, walk->digester, &root);
	if (!digest_equals(&root, &checkpoint.root))
		tell_root(place, "checkpoint", size);
	walk->signed_blocks = size;
}

static void
look_at_checkpoints(struct place *place)
{
	while (place->has_checkpoint &&
	       sqlite3_column_int64(place->checkpoints, 0) <= place->block.no) {
		int64_t size = sqlite3_column_int64(place->checkpoints, 0);

		if (size == place->block.no)
			look_at_checkpoint(place);
		else
			findings_tell(&place->walk->findings, "checkpoint",
			    size, size, "it belongs to no block that is there");
		place->has_checkpoint = step(place, place->checkpoints);
	}
}

static void
look_at_anchors(struct place *place)
{
	struct walk *walk = place->walk;

	for (; place->walk->anchor < walk->anchor_count;
	     place->walk->anchor++) {
		const struct checkpoint *anchor =
		    &walk->anchors[place->walk->anchor];
		struct digest root;

		if (anchor->size > (uint64_t)place->block.no)
			return;
		if (!checkpoint_is_signed_by(anchor, place->walk->key) ||
		    strcmp(anchor->origin, place->walk->origin) != 0) {
			findings_tell(&place->walk->findings, "anchor",
			    (int64_t)anchor->size, (int64_t)anchor->size,
			    "it is not signed by this audit's key");
			continue;
		}
		merkle_root(&place->walk->tree, place->walk->digester, &root);
		if (anchor->size != (uint64_t)place->block.no ||
		    !digest_equals(&root, &anchor->root))
			tell_root(place, "anchor", (int64_t)anchor->size);
		else
			place->walk->anchored_blocks = (int64_t)anchor->size;
	}
}

/* ---- blocks ---- */

/* Whether the block stands where the one before it says. */
static void
look_at_link(struct place *place, const struct digest *before)
{
	struct walk *walk = place->walk;
	const struct block *block = &place->block;
	int64_t expected = walk->last.no + 1;

	place->after_gap = block->no > expected;
	if (place->after_gap)
		findings_tell(&walk->findings, "block", expected, block->no - 1,
		    "missing");
	else if (block->no != expected)
		findings_tell(&walk->findings, "block", block->no, block->no,
		    "it was added: blocks begin with 1");
	else if (!digest_equals(&block->prev, &walk->last.hash) &&
		 !digest_equals(&block->prev, before))
		findings_tell(&walk->findings, "block", block->no, block->no,
		    "it is not linked to what stands before it");
	if (block->last_checkpoint == walk->checkpoint ||
	    block->last_checkpoint == place->missing_told)
		return;
	place->missing_told = block->last_checkpoint;
	findings_tell(&walk->findings, "checkpoint", block->last_checkpoint,
	    block->last_checkpoint,
	    "block %" PRId64 " was written after it, and it is not there, or "
	    "later ones were added",
	    block->no);
}

/* From where to where this block's rows go, as far as it can be trusted. */
static void
find_rows(struct place *place, int64_t *ret_begin, int64_t *ret_end)
{
	const struct block *block = &place->block;
	int64_t begin = block->first_seq, end = block->last_seq;

	if (!place->whole && !place->after_gap && place->walk->last.no > 0)
		begin = place->row_end + 1;
	if (!place->whole && place->has_next && place->next.first_seq > begin)
		end = place->next.first_seq - 1;
	if (place->whole && !place->after_gap && place->walk->last.no > 0 &&
	    begin != place->row_end + 1)
		findings_tell(&place->walk->findings, "block", block->no,
		    block->no,
		    "its rows do not begin behind those of the block before "
		    "it");
	*ret_begin = begin;
	*ret_end = end;
}

static void
look_at_root(struct place *place)
{
	struct walk *walk = place->walk;
	struct digest root, border;

	block_border(walk->digester, &place->block, &border);
	merkle_add(&place->tree, walk->digester, &border);
	merkle_root(&place->tree, walk->digester, &root);
	/* What is missing was told, and changes the root as well. */
	if (digest_equals(&root, &place->block.root) ||
	    walk->findings.count > place->findings)
		return;
	findings_tell(&walk->findings, "event", place->block.first_seq,
	    place->block.last_seq,
	    "block %" PRId64 ": one of these rows, or of the dictionary "
	    "entries that came with them, is not as it was written",
	    place->block.no);
}

static void
add_to_tree(struct walk *walk, const struct digest *hash)
{
	struct digest leaf;

	digester_begin(walk->digester, DIGEST_LEAF);
	digester_put(walk->digester, hash->bytes, DIGEST_BYTES);
	digester_end(walk->digester, &leaf);
	merkle_add(&walk->tree, walk->digester, &leaf);
}

static void
look_at_block(struct place *place, struct digest *before)
{
	struct walk *walk = place->walk;
	struct digest hash;
	int64_t begin, end;

	place->findings = walk->findings.count;
	place->tree.size = 0;
	block_digest(walk->digester, &place->block, &hash);
	place->whole = digest_equals(&hash, &place->block.hash);
	if (!place->whole)
		findings_tell(&walk->findings, "block", place->block.no,
		    place->block.no,
		    "it is not as it was written; it covers rows %" PRId64
		    " to %" PRId64,
		    place->block.first_seq, place->block.last_seq);
	look_at_link(place, before);
	find_rows(place, &begin, &end);
	look_at_rows(place, begin, end);
	for (int i = 0; i < LEAF_TABLES; i++)
		look_at_entries(place, (enum leaf_table)i);
	look_at_root(place);
	add_to_tree(walk, &place->block.hash);
	walk->blocks++;
	if (place->block.has_names)
		walk->names = place->block.names;
	look_at_checkpoints(place);
	look_at_anchors(place);
	*before = hash;
	walk->last = place->block;
	walk->begun = true;
}

static void
next_block(struct place *place)
{
	for (;;) {
		place->has_next = step(place, place->blocks);
		if (!place->has_next || block_read(place->blocks, &place->next))
			return;
		findings_tell(&place->walk->findings, "block",
		    sqlite3_column_int64(place->blocks, 0),
		    sqlite3_column_int64(place->blocks, 0),
		    "it is not as it was written: a digest has another "
		    "length");
	}
}

/* ---- what stands behind the last block ---- */

static void
look_at_rest(struct place *place)
{
	struct walk *walk = place->walk;
	int64_t first, last;

	if (place->has_row && walk->last.no > 0) {
		first = row_seq(place);
		for (last = first; place->has_row; next_row(place))
			last = row_seq(place);
		findings_tell(&walk->findings, "event", first, last,
		    "in no block: they were added, or their blocks are gone");
	}
	for (; place->has_row; next_row(place))
		walk->unproven++;
	for (; place->has_checkpoint;
	     place->has_checkpoint = step(place, place->checkpoints)) {
		first = sqlite3_column_int64(place->checkpoints, 0);
		findings_tell(&walk->findings, "checkpoint", first, first,
		    "it was signed over more blocks than there are: the last "
		    "ones are gone");
	}
	for (; walk->is_newest && walk->anchor < walk->anchor_count;
	     walk->anchor++) {
		first = (int64_t)walk->anchors[walk->anchor].size;
		findings_tell(&walk->findings, "anchor", first, first,
		    "it was signed over more blocks than there are: the last "
		    "ones are gone");
	}
}

static void
look_at_rest_of(struct place *place, enum leaf_table table)
{
	struct walk *walk = place->walk;
	sqlite3_stmt *statement = place->entries[table];
	int64_t last = walk->last.last_ids[table], id;

	if (walk->last.no == 0 || last == INT64_MAX)
		return;
	if (sqlite3_bind_int64(statement, 1,
		walk->begun ? last + 1 : INT64_MIN) != SQLITE_OK ||
	    sqlite3_bind_int64(statement, 2, INT64_MAX) != SQLITE_OK)
		place->broken = true;
	while (!place->broken && step(place, statement)) {
		id = sqlite3_column_int64(statement, 0);
		findings_tell(&walk->findings, leaf_table_name(table), id, id,
		    "it stands in no block: it was added");
	}
	(void)sqlite3_reset(statement);
}

static bool
prepare(struct walk *walk, const char *sql, sqlite3_stmt **ret)
{
	return sqlite3_prepare_v2(walk->db, sql, -1, ret, NULL) == SQLITE_OK;
}

static bool
prepare_all(struct place *place)
{
	struct walk *walk = place->walk;
	bool well =
	    prepare(walk, leaf_event_sql, &place->rows) &&
	    sqlite3_bind_int64(place->rows, 1, INT64_MIN) == SQLITE_OK &&
	    sqlite3_bind_int64(place->rows, 2, INT64_MAX) == SQLITE_OK &&
	    prepare(walk, block_select_sql, &place->blocks) &&
	    prepare(walk,
		"SELECT size, us, root, note FROM checkpoint ORDER BY size",
		&place->checkpoints);

	for (int i = 0; i < LEAF_TABLES && well; i++)
		well = prepare(walk, leaf_table_sql((enum leaf_table)i),
		    &place->entries[i]);
	return well;
}

static void
finalize_all(struct place *place)
{
	(void)sqlite3_finalize(place->rows);
	(void)sqlite3_finalize(place->blocks);
	(void)sqlite3_finalize(place->checkpoints);
	for (int i = 0; i < LEAF_TABLES; i++)
		(void)sqlite3_finalize(place->entries[i]);
}

int
walk_run(struct walk *walk)
{
	struct place place = { .walk = walk };
	struct digest before = walk->last.hash;

	place.row_end = walk->last.last_seq;
	walk->begun = false;
	memset(walk->last.last_ids, 0, sizeof(walk->last.last_ids));
	if (!prepare_all(&place)) {
		finalize_all(&place);
		return STATUS_SYSTEM;
	}
	next_row(&place);
	place.has_checkpoint = step(&place, place.checkpoints);
	next_block(&place);
	while (place.has_next && !place.broken) {
		place.block = place.next;
		next_block(&place);
		look_at_block(&place, &before);
	}
	if (!place.broken)
		look_at_rest(&place);
	for (int i = 0; i < LEAF_TABLES && !place.broken; i++)
		look_at_rest_of(&place, (enum leaf_table)i);
	finalize_all(&place);
	return place.broken ? STATUS_SYSTEM : STATUS_OK;
}
