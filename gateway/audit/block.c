#include "gateway/audit/block.h"

#include "gateway/audit/binding.h"

#include <sqlite3.h>

#define COLUMNS                                                    \
	"no, first_seq, last_seq, first_us, last_us, root, prev, " \
	"hash, last_sandbox, last_principal, last_dst, "           \
	"last_cred, last_token, last_policy, last_rule, "          \
	"last_checkpoint, names"

/* Places in COLUMNS. */
enum column {
	AT_ROOT = 5,
	AT_PREV,
	AT_HASH,
	AT_IDS,
	AT_CHECKPOINT = AT_IDS + LEAF_TABLES,
	AT_NAMES
};

const char block_select_sql[] = "SELECT " COLUMNS " FROM block ORDER BY no";
const char block_insert_sql[] =
    "INSERT INTO block(" COLUMNS ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
    "?, ?, ?, ?, ?)";

static bool
read_digest(struct sqlite3_stmt *statement, int at, struct digest *ret)
{
	const void *bytes = sqlite3_column_blob(statement, at);

	return digest_read(
	    cursor_of(bytes, bytes == NULL
				 ? 0
				 : (size_t)sqlite3_column_bytes(statement, at)),
	    ret);
}

bool
block_read(struct sqlite3_stmt *statement, struct block *ret)
{
	struct block block = { .no = sqlite3_column_int64(statement, 0),
		.first_seq = sqlite3_column_int64(statement, 1),
		.last_seq = sqlite3_column_int64(statement, 2),
		.first_us = sqlite3_column_int64(statement, 3),
		.last_us = sqlite3_column_int64(statement, 4),
		.last_checkpoint =
		    sqlite3_column_int64(statement, AT_CHECKPOINT) };

	for (int i = 0; i < LEAF_TABLES; i++)
		block.last_ids[i] = sqlite3_column_int64(statement, AT_IDS + i);
	block.has_names =
	    sqlite3_column_type(statement, AT_NAMES) != SQLITE_NULL;
	if (!read_digest(statement, AT_ROOT, &block.root) ||
	    !read_digest(statement, AT_PREV, &block.prev) ||
	    !read_digest(statement, AT_HASH, &block.hash) ||
	    (block.has_names &&
		!read_digest(statement, AT_NAMES, &block.names)))
		return false;
	*ret = block;
	return true;
}

int
block_insert(struct sqlite3_stmt *statement, const struct block *block)
{
	struct binding binding = { .statement = statement };

	binding_id(&binding, block->no);
	binding_id(&binding, block->first_seq);
	binding_id(&binding, block->last_seq);
	binding_id(&binding, block->first_us);
	binding_id(&binding, block->last_us);
	binding_blob(&binding, block->root.bytes, DIGEST_BYTES);
	binding_blob(&binding, block->prev.bytes, DIGEST_BYTES);
	binding_blob(&binding, block->hash.bytes, DIGEST_BYTES);
	for (int i = 0; i < LEAF_TABLES; i++)
		binding_id(&binding, block->last_ids[i]);
	binding_id(&binding, block->last_checkpoint);
	binding_blob(
	    &binding, block->names.bytes, block->has_names ? DIGEST_BYTES : 0);
	return binding_finish(&binding);
}

void
block_border(
    struct digester *digester, const struct block *block, struct digest *ret)
{
	digester_begin(digester, DIGEST_LEAF);
	digester_text(digester, cursor_of_text("block"));
	for (int i = 0; i < LEAF_TABLES; i++)
		digester_number(digester, block->last_ids[i]);
	digester_number(digester, block->last_checkpoint);
	if (block->has_names)
		digester_blob(
		    digester, cursor_of(block->names.bytes, DIGEST_BYTES));
	else
		digester_null(digester);
	digester_end(digester, ret);
}

void
block_digest(
    struct digester *digester, const struct block *block, struct digest *ret)
{
	digester_begin(digester, DIGEST_BLOCK);
	digester_put_number(digester, block->no);
	digester_put_number(digester, block->first_seq);
	digester_put_number(digester, block->last_seq);
	digester_put_number(digester, block->first_us);
	digester_put_number(digester, block->last_us);
	digester_put(digester, block->root.bytes, DIGEST_BYTES);
	digester_put(digester, block->prev.bytes, DIGEST_BYTES);
	digester_end(digester, ret);
}

void
block_genesis(struct digester *digester, struct cursor chain, int64_t segment,
    struct digest *ret)
{
	digester_begin(digester, DIGEST_CHAIN);
	digester_text(digester, chain);
	digester_number(digester, segment);
	digester_end(digester, ret);
}

uint64_t
block_rows(const struct block *block)
{
	return (uint64_t)(block->last_seq - block->first_seq) + 1;
}
