#include "gateway/audit/identity.h"

#include "gateway/audit/segment.h"
#include "schema/status.h"

#include <assert.h>
#include <sqlite3.h>
#include <string.h>

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

static bool
take_start(sqlite3_stmt *statement, struct identity *identity)
{
	return sqlite3_column_type(statement, 1) == SQLITE_BLOB &&
	       start_read(column_bytes(statement, 1), &identity->start);
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
	{ "start", take_start },
	{ "tree", take_tree },
};

static_assert(sizeof(metas) / sizeof(metas[0]) == IDENTITY_COUNT,
    "every key has its bit");

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

int
identity_read(sqlite3 *db, struct identity *ret, struct problem *reterr)
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

const char *
identity_key(enum identity_place place)
{
	return metas[place].key;
}

unsigned
identity_wanted(const struct identity *identity, bool has_blocks)
{
	unsigned wanted = (1U << IDENTITY_COUNT) - 1;

	if (identity->segment == 1)
		wanted &= ~(1U << IDENTITY_START);
	/* The first block brings them. */
	if (!has_blocks && identity->segment != 1)
		wanted &=
		    ~((1U << IDENTITY_TREE) | (1U << IDENTITY_CHECKPOINT));
	return wanted;
}
