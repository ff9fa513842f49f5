#include "gateway/audit/chain.h"

#include "gateway/audit/binding.h"
#include "gateway/audit/block.h"
#include "gateway/audit/checkpoint.h"
#include "gateway/audit/merkle.h"
#include "gateway/audit/segment.h"
#include "gateway/audit/start.h"
#include "gateway/proc/clock.h"
#include "schema/event.h"
#include "schema/status.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum statement {
	INSERT_BLOCK,
	INSERT_CHECKPOINT,
	PUT_META,
	SELECT_ENTRIES, /* one for each dictionary */
	STATEMENT_COUNT = SELECT_ENTRIES + LEAF_TABLES
};

#define US_A_MS 1000

/* What a commit moves on, and a rollback back. */
struct chain_state {
	struct block last; /* no is 0 before the first */
	struct merkle tree;
	int64_t checkpoint; /* size of the newest, or 0 */
	int64_t checkpoint_us; /* by the monotonic clock; 0: not by us */
	bool names_told; /* a block has the names as they are */
	bool begun; /* this segment has a block */
};

struct chain {
	struct segment *segment;
	struct digester *digester;
	struct signer *signer;
	unsigned char name[CHECKPOINT_ORIGIN];
	size_t name_length;
	char origin[CHECKPOINT_ORIGIN];
	struct digest names;
	struct chain_state state, kept;
	struct block block; /* that is being made */
	struct merkle rows; /* its tree */
	bool is_end; /* a run ends in it, or the writer */
	sqlite3_stmt *statements[STATEMENT_COUNT];
};

/* ---- opening ---- */

static const char *
text_of(size_t which)
{
	switch (which) {
	case INSERT_BLOCK:
		return block_insert_sql;
	case INSERT_CHECKPOINT:
		return "INSERT INTO checkpoint(size, us, root, note) "
		       "VALUES(?, ?, ?, ?)";
	case PUT_META:
		return "INSERT OR REPLACE INTO meta(k, v) VALUES(?, ?)";
	default:
		return leaf_table_sql(
		    (enum leaf_table)(which - SELECT_ENTRIES));
	}
}

static bool
prepare_all(struct chain *chain)
{
	for (size_t i = 0; i < STATEMENT_COUNT; i++) {
		chain->statements[i] =
		    segment_prepare(chain->segment, text_of(i));
		if (chain->statements[i] == NULL)
			return false;
	}
	return true;
}

/* One value of meta; *ret_length is 0 when it is not there. */
static bool
read_meta(struct chain *chain, const char *key, unsigned char *out, size_t size,
    size_t *ret_length)
{
	sqlite3_stmt *statement =
	    segment_prepare(chain->segment, "SELECT v FROM meta WHERE k = ?");
	struct binding binding = { .statement = statement };
	size_t length = 0;
	bool well = statement != NULL;

	if (well) {
		binding_text(&binding, cursor_of_text(key));
		well = !binding.failed;
	}
	if (well && sqlite3_step(statement) == SQLITE_ROW) {
		const void *bytes = sqlite3_column_blob(statement, 0);

		length = (size_t)sqlite3_column_bytes(statement, 0);
		well = bytes != NULL && length <= size;
		if (well)
			memcpy(out, bytes, length);
	}
	well = sqlite3_finalize(statement) == SQLITE_OK && well;
	if (well)
		*ret_length = length;
	return well;
}

static int
put_meta_number(struct chain *chain, const char *key, int64_t number)
{
	struct binding binding = { .statement = chain->statements[PUT_META] };

	binding_text(&binding, cursor_of_text(key));
	binding_id(&binding, number);
	return binding_finish(&binding);
}

static int
put_meta(struct chain *chain, const char *key, struct cursor blob)
{
	struct binding binding = { .statement = chain->statements[PUT_META] };

	binding_text(&binding, cursor_of_text(key));
	binding_blob(&binding, blob.at, blob.left);
	return binding_finish(&binding);
}

/* The newest block that sql gives, if there is one. */
static bool
read_block(struct chain *chain, const char *sql, struct block *ret)
{
	sqlite3_stmt *statement = segment_prepare(chain->segment, sql);
	bool well = statement != NULL;

	if (well && sqlite3_step(statement) == SQLITE_ROW)
		well = block_read(statement, ret);
	return sqlite3_finalize(statement) == SQLITE_OK && well;
}

/* Where the chain goes on, and whether a block has the names as they are. */
static bool
read_last_block(struct chain *chain)
{
	struct block named = { .has_names = false };
	int64_t blocks;

	if (!read_block(chain, "SELECT * FROM block ORDER BY no DESC LIMIT 1",
		&chain->state.last) ||
	    !read_block(chain,
		"SELECT * FROM block WHERE names IS NOT NULL ORDER BY no DESC "
		"LIMIT 1",
		&named) ||
	    !segment_number(chain->segment,
		"SELECT count(*) FROM (SELECT 1 FROM block LIMIT 1)", &blocks))
		return false;
	chain->state.begun = blocks > 0;
	chain->state.names_told =
	    named.has_names && digest_equals(&named.names, &chain->names);
	return true;
}

static bool
read_tree(struct chain *chain)
{
	unsigned char bytes[MERKLE_ROOM];
	size_t length;

	if (!read_meta(chain, "tree", bytes, sizeof(bytes), &length) ||
	    (length > 0 &&
		!merkle_read(cursor_of(bytes, length), &chain->state.tree)))
		return false;
	return chain->state.tree.size == (uint64_t)chain->state.last.no;
}

static bool
read_checkpoint(struct chain *chain)
{
	int64_t newest;

	if (!segment_number(chain->segment,
		"SELECT ifnull(max(size), 0) FROM checkpoint", &newest))
		return false;
	if (newest > 0)
		chain->state.checkpoint = newest;
	return true;
}

/* Where a segment that is not the first goes on. */
static bool
read_start(struct chain *chain)
{
	unsigned char bytes[START_ROOM];
	struct start start;
	size_t length;

	if (!read_meta(chain, "start", bytes, sizeof(bytes), &length) ||
	    !start_read(cursor_of(bytes, length), &start))
		return false;
	/* Its dictionaries begin anew: no id is covered. */
	chain->state.last = (struct block){ .no = (int64_t)start.tree.size,
		.last_seq = start.last_seq,
		.last_us = start.last_us,
		.hash = start.hash };
	chain->state.tree = start.tree;
	chain->state.checkpoint = start.checkpoint;
	return true;
}

/* The digest of the names, and what the first block is linked to. */
static bool
read_fixed(struct chain *chain)
{
	struct cursor name;
	int64_t number;
	sqlite3_stmt *statement =
	    segment_prepare(chain->segment, leaf_names_sql);
	bool well = statement != NULL && leaf_names(chain->digester, statement);

	(void)sqlite3_finalize(statement);
	if (!well ||
	    !read_meta(chain, "chain", chain->name, sizeof(chain->name),
		&chain->name_length) ||
	    !segment_number(chain->segment,
		"SELECT v FROM meta WHERE k = 'segment'", &number))
		return false;
	name = chain_name(chain);
	if (checkpoint_origin(name, chain->origin) != STATUS_OK)
		return false;
	digester_end(chain->digester, &chain->names);
	if (number > 1)
		return read_start(chain) && digester_is_well(chain->digester);
	block_genesis(chain->digester, name, number, &chain->state.last.hash);
	return digester_is_well(chain->digester);
}

/* The key beside the database must be the one its checkpoints are of. */
static int
check_key(struct chain *chain, const char *path, struct problem *reterr)
{
	unsigned char known[SIGNER_KEY];
	const uint8_t *key;
	size_t length;
	int status = signer_open(path, &chain->signer, reterr);

	if (status != STATUS_OK)
		return status;
	key = signer_public(chain->signer);
	if (!read_meta(chain, "key", known, sizeof(known), &length))
		return problem_set(reterr, "cannot read the key of %s", path);
	if (length == 0 &&
	    put_meta(chain, "key", cursor_of(key, SIGNER_KEY)) != STATUS_OK)
		return problem_set(reterr, "cannot write %s: %s", path,
		    segment_error(chain->segment));
	if (length == 0 ||
	    (length == SIGNER_KEY && memcmp(known, key, SIGNER_KEY) == 0))
		return STATUS_OK;
	(void)problem_set(reterr,
	    "%s.key is not the key that %s was signed with", path, path);
	return problem_cure(reterr,
	    "Put that key back, or begin another audit with --audit DB.");
}

int
chain_open(const char *path, struct segment *segment, struct chain **ret,
    struct problem *reterr)
{
	struct chain *chain = calloc(1, sizeof(*chain));

	if (chain == NULL)
		return problem_set(reterr, "no memory to open %s", path);
	chain->segment = segment;
	chain->digester = digester_new();
	if (chain->digester == NULL || !prepare_all(chain) ||
	    !read_fixed(chain) || !read_last_block(chain) ||
	    !read_tree(chain) || !read_checkpoint(chain)) {
		(void)problem_set(reterr, "the blocks of %s are damaged", path);
		(void)problem_cure(reterr,
		    "See exeat audit verify; begin another audit with "
		    "--audit DB.");
		goto fail;
	}
	if (check_key(chain, path, reterr) != STATUS_OK)
		goto fail;
	chain->kept = chain->state;
	*ret = chain;
	return STATUS_OK;
fail:
	chain_close(chain);
	return STATUS_PROBLEM;
}

void
chain_close(struct chain *chain)
{
	if (chain == NULL)
		return;
	for (size_t i = 0; i < STATEMENT_COUNT; i++)
		(void)sqlite3_finalize(chain->statements[i]);
	digester_free(chain->digester);
	signer_free(chain->signer);
	free(chain);
}

int64_t
chain_last_seq(const struct chain *chain)
{
	return chain->kept.last.last_seq;
}

bool
chain_is_new(const struct chain *chain)
{
	return !chain->kept.begun;
}

void
chain_start(const struct chain *chain, struct start *ret)
{
	const struct chain_state *state = &chain->kept;

	*ret = (struct start){ .last_seq = state->last.last_seq,
		.last_us = state->last.last_us,
		.checkpoint = state->checkpoint,
		.hash = state->last.hash,
		.tree = state->tree };
}

struct cursor
chain_name(const struct chain *chain)
{
	return cursor_of(chain->name, chain->name_length);
}

struct cursor
chain_key(const struct chain *chain)
{
	return cursor_of(signer_public(chain->signer), SIGNER_KEY);
}

/* ---- one block ---- */

void
chain_begin(struct chain *chain)
{
	chain->rows.size = 0;
	chain->is_end = false;
}

void
chain_row(struct chain *chain, int64_t seq, const struct event *event,
    const struct leaf_keys *keys)
{
	struct block *block = &chain->block;
	struct digest leaf;

	leaf_event(chain->digester, seq, event, keys);
	digester_end(chain->digester, &leaf);
	if (chain->rows.size == 0) {
		block->first_seq = seq;
		block->first_us = event->ts_us;
		block->last_us = event->ts_us;
	}
	merkle_add(&chain->rows, chain->digester, &leaf);
	block->last_seq = seq;
	if (event->ts_us < block->first_us)
		block->first_us = event->ts_us;
	if (event->ts_us > block->last_us)
		block->last_us = event->ts_us;
	/* The writer's own start and stop belong to no run. */
	if (event->kind == EVENT_SANDBOX_END ||
	    (event->kind == EVENT_AUDIT && keys->sandbox.left == 0))
		chain->is_end = true;
}

/* Entries that no block covers yet. */
static int
add_entries(struct chain *chain, enum leaf_table table)
{
	sqlite3_stmt *statement = chain->statements[SELECT_ENTRIES + table];
	struct binding binding = { .statement = statement };
	int64_t last = chain->state.last.last_ids[table];
	struct digest leaf;
	int result;

	binding_id(&binding, chain->state.begun ? last + 1 : INT64_MIN);
	binding_id(&binding, INT64_MAX);
	if (binding.failed)
		return STATUS_SYSTEM;
	for (;;) {
		result = sqlite3_step(statement);
		if (result != SQLITE_ROW)
			break;
		last = sqlite3_column_int64(statement, 0);
		leaf_entry(chain->digester, table, statement);
		digester_end(chain->digester, &leaf);
		merkle_add(&chain->rows, chain->digester, &leaf);
	}
	chain->block.last_ids[table] = last;
	if (sqlite3_reset(statement) != SQLITE_OK || result != SQLITE_DONE)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

static void
finish_block(struct chain *chain)
{
	struct block *block = &chain->block;
	struct digest leaf;

	block->no = chain->state.last.no + 1;
	block->prev = chain->state.last.hash;
	block->last_checkpoint = chain->state.checkpoint;
	block->has_names = !chain->state.names_told;
	block->names = chain->names;
	block_border(chain->digester, block, &leaf);
	merkle_add(&chain->rows, chain->digester, &leaf);
	merkle_root(&chain->rows, chain->digester, &block->root);
	block_digest(chain->digester, block, &block->hash);
}

/* The leaf of a block in the tree over all of them. */
static void
add_to_tree(struct chain *chain)
{
	struct digest leaf;

	digester_begin(chain->digester, DIGEST_LEAF);
	digester_put(chain->digester, chain->block.hash.bytes, DIGEST_BYTES);
	digester_end(chain->digester, &leaf);
	merkle_add(&chain->state.tree, chain->digester, &leaf);
}

static int
put_tree(struct chain *chain)
{
	unsigned char bytes[MERKLE_ROOM];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	merkle_write(&chain->state.tree, &out);
	if (!cursor_written(&out))
		return STATUS_TOO_LONG;
	return put_meta(chain, "tree", cursor_of(bytes, out.used));
}

/* ---- checkpoints ---- */

static bool
checkpoint_is_due(const struct chain *chain, int64_t now_us)
{
	return chain->is_end || chain->state.checkpoint_us == 0 ||
	       now_us - chain->state.checkpoint_us >=
		   (int64_t)LIMIT_CHECKPOINT_MS * US_A_MS;
}

static int
insert_checkpoint(struct chain *chain, const struct checkpoint *checkpoint)
{
	struct binding binding = { .statement =
				       chain->statements[INSERT_CHECKPOINT] };
	unsigned char note[CHECKPOINT_NOTE];
	struct cursor_writer out = cursor_writer_of(note, sizeof(note));

	checkpoint_write(checkpoint, &out);
	if (!cursor_written(&out))
		return STATUS_TOO_LONG;
	binding_id(&binding, (int64_t)checkpoint->size);
	binding_id(&binding, chain->state.last.last_us);
	binding_blob(&binding, checkpoint->root.bytes, DIGEST_BYTES);
	binding_text(&binding, cursor_of(note, out.used));
	return binding_finish(&binding);
}

static int
add_checkpoint(struct chain *chain, int64_t now_us)
{
	struct checkpoint checkpoint = { .size = chain->state.tree.size };
	int status;

	memcpy(checkpoint.origin, chain->origin, sizeof(checkpoint.origin));
	merkle_root(&chain->state.tree, chain->digester, &checkpoint.root);
	status = checkpoint_sign(&checkpoint, chain->signer);
	if (status == STATUS_OK)
		status = insert_checkpoint(chain, &checkpoint);
	if (status == STATUS_OK)
		status =
		    put_meta_number(chain, "checkpoint", chain->state.last.no);
	chain->state.checkpoint = chain->state.last.no;
	chain->state.checkpoint_us = now_us;
	return status;
}

int
chain_seal(struct chain *chain)
{
	int64_t now_us = clock_monotonic_us();
	int status = STATUS_OK;

	if (chain->rows.size == 0)
		return STATUS_OK;
	for (int i = 0; i < LEAF_TABLES && status == STATUS_OK; i++)
		status = add_entries(chain, (enum leaf_table)i);
	if (status != STATUS_OK)
		return status;
	finish_block(chain);
	add_to_tree(chain);
	status = block_insert(chain->statements[INSERT_BLOCK], &chain->block);
	if (status == STATUS_OK)
		status = put_tree(chain);
	chain->state.last = chain->block;
	if (status == STATUS_OK && checkpoint_is_due(chain, now_us))
		status = add_checkpoint(chain, now_us);
	/* A digest that could not be made must not be committed. */
	if (!digester_is_well(chain->digester))
		return STATUS_SYSTEM;
	chain->state.names_told = true;
	chain->state.begun = true;
	return status;
}

bool
chain_wants_checkpoint(const struct chain *chain)
{
	return chain->state.begun &&
	       chain->state.checkpoint < chain->state.last.no;
}

int
chain_checkpoint(struct chain *chain)
{
	int status = add_checkpoint(chain, clock_monotonic_us());

	return status == STATUS_OK && !digester_is_well(chain->digester)
		   ? STATUS_SYSTEM
		   : status;
}

void
chain_keep(struct chain *chain)
{
	chain->kept = chain->state;
}

void
chain_forget(struct chain *chain)
{
	chain->state = chain->kept;
}
