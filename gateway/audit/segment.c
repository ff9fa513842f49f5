#include "gateway/audit/segment.h"

#include "gateway/audit/sqltext.h"
#include "schema/event.h"
#include "schema/reason.h"
#include "schema/status.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/random.h>

/* In pages of 8 KiB: 64 MiB.  Smaller logs are copied too often. */
enum {
	CHECKPOINT_PAGES = 8192,
	CHAIN_BYTES = 16
};

struct segment {
	sqlite3 *db;
	int log_pages; /* in the write-ahead log after the last commit */
};

struct sqlite3 *
segment_handle(struct segment *segment)
{
	return segment->db;
}

const char *
segment_error(struct segment *segment)
{
	return sqlite3_errmsg(segment->db);
}

struct sqlite3_stmt *
segment_prepare(struct segment *segment, const char *sql)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v3(segment->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
		&statement, NULL) != SQLITE_OK)
		return NULL;
	return statement;
}

bool
segment_run(struct segment *segment, const char *sql)
{
	return sqlite3_exec(segment->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

bool
segment_number(struct segment *segment, const char *sql, int64_t *ret)
{
	sqlite3_stmt *statement = segment_prepare(segment, sql);
	bool found;

	if (statement == NULL)
		return false;
	found = sqlite3_step(statement) == SQLITE_ROW;
	if (found)
		*ret = sqlite3_column_int64(statement, 0);
	return sqlite3_finalize(statement) == SQLITE_OK && found;
}

/* Runs one insert with what is bound, and makes it ready for the next. */
static bool
insert(sqlite3_stmt *statement)
{
	bool done = sqlite3_step(statement) == SQLITE_DONE;

	return sqlite3_reset(statement) == SQLITE_OK && done;
}

static bool
bind_name(sqlite3_stmt *statement, int64_t id, const char *name)
{
	return sqlite3_bind_int64(statement, 1, id) == SQLITE_OK &&
	       sqlite3_bind_text(statement, 2, name, -1, SQLITE_STATIC) ==
		   SQLITE_OK;
}

/* Numbers to names, from number 0 to end; some are not in use. */
static bool
fill_names(struct segment *segment, const char *sql,
    const char *(*name_of)(unsigned number), unsigned end)
{
	sqlite3_stmt *statement = segment_prepare(segment, sql);
	bool filled = statement != NULL;

	for (unsigned number = 0; filled && number < end; number++) {
		const char *name = name_of(number);

		if (name != NULL)
			filled = bind_name(statement, number, name) &&
				 insert(statement);
	}
	return sqlite3_finalize(statement) == SQLITE_OK && filled;
}

static bool
fill_reasons(struct segment *segment)
{
	sqlite3_stmt *statement = segment_prepare(segment,
	    "INSERT OR IGNORE INTO reason(id, name, fault) VALUES(?, ?, ?)");
	bool filled = statement != NULL;
	size_t count;
	const struct reason_entry *entry = reason_entries(&count);

	for (; filled && count > 0; count--, entry++)
		filled = bind_name(statement, entry->reason, entry->id) &&
			 sqlite3_bind_text(statement, 3,
			     reason_fault_name(entry->fault), -1,
			     SQLITE_STATIC) == SQLITE_OK &&
			 insert(statement);
	return sqlite3_finalize(statement) == SQLITE_OK && filled;
}

static bool
put_meta(struct segment *segment, const char *sql, struct cursor value)
{
	sqlite3_stmt *statement = segment_prepare(segment, sql);
	bool put = statement != NULL &&
		   sqlite3_bind_blob64(statement, 1, value.at, value.left,
		       SQLITE_STATIC) == SQLITE_OK &&
		   insert(statement);

	return sqlite3_finalize(statement) == SQLITE_OK && put;
}

/* The chain's name is what tells two databases of one host apart. */
static bool
make_chain(struct segment *segment)
{
	unsigned char chain[CHAIN_BYTES];

	return getrandom(chain, sizeof(chain), 0) == (ssize_t)sizeof(chain) &&
	       put_meta(segment,
		   "INSERT INTO meta(k, v) VALUES('schema', 2), "
		   "('segment', 1), ('chain', lower(hex(?)))",
		   cursor_of(chain, sizeof(chain)));
}

static bool
fill_meta(struct segment *segment, const struct segment_birth *birth)
{
	sqlite3_stmt *statement;
	bool filled;

	if (birth->number == 1)
		return make_chain(segment);
	statement = segment_prepare(segment,
	    "INSERT INTO meta(k, v) VALUES('schema', 2), ('segment', ?)");
	filled = statement != NULL &&
		 sqlite3_bind_int64(statement, 1, birth->number) == SQLITE_OK &&
		 insert(statement);
	return sqlite3_finalize(statement) == SQLITE_OK && filled &&
	       put_meta(segment,
		   "INSERT INTO meta(k, v) VALUES('chain', CAST(? AS TEXT))",
		   birth->chain) &&
	       put_meta(segment, "INSERT INTO meta(k, v) VALUES('key', ?)",
		   birth->key) &&
	       put_meta(segment, "INSERT INTO meta(k, v) VALUES('start', ?)",
		   birth->start);
}

/* Each text brings the file from one version to the next. */
static bool
make_schema(
    struct segment *segment, int64_t version, const struct segment_birth *birth)
{
	for (size_t i = (size_t)version; sqltext_schema[i].name != NULL; i++)
		if (!segment_run(segment, sqltext_schema[i].sql))
			return false;
	/* The numbers of SEGMENT_APPLICATION and SEGMENT_VERSION. */
	return (version > 0 || fill_meta(segment, birth)) &&
	       segment_run(segment, "PRAGMA application_id = 0x45584541") &&
	       segment_run(segment, "PRAGMA user_version = 2");
}

/* A newer program of ours may know more kinds and reasons than the file. */
static bool
fill(
    struct segment *segment, int64_t version, const struct segment_birth *birth)
{
	if (!segment_run(segment, "BEGIN IMMEDIATE"))
		return false;
	return (version == SEGMENT_VERSION ||
		   make_schema(segment, version, birth)) &&
	       fill_names(segment,
		   "INSERT OR IGNORE INTO kind(id, name) VALUES(?, ?)",
		   event_kind_name, EVENT_KIND_END) &&
	       fill_names(segment,
		   "INSERT OR IGNORE INTO verdict(id, name) VALUES(?, ?)",
		   event_verdict_name, EVENT_VERDICT_COUNT) &&
	       fill_reasons(segment) && segment_run(segment, "COMMIT");
}

/* The file's version, 0 for an empty one; a problem when it is not ours. */
static int
examine(struct segment *segment, const char *path, int64_t *ret_version,
    struct problem *reterr)
{
	int64_t objects, application, version;

	if (!segment_number(
		segment, "SELECT count(*) FROM sqlite_schema", &objects) ||
	    !segment_number(segment, "PRAGMA application_id", &application) ||
	    !segment_number(segment, "PRAGMA user_version", &version))
		return problem_set(
		    reterr, "cannot read %s: %s", path, segment_error(segment));
	*ret_version = version;
	if (objects == 0 && application == 0 && version == 0)
		return STATUS_OK;
	if (application != SEGMENT_APPLICATION) {
		(void)problem_set(
		    reterr, "%s is a database, but no audit", path);
		return problem_cure(reterr, "Name another file.");
	}
	if (version < 1 || version > SEGMENT_VERSION) {
		(void)problem_set(
		    reterr, "%s was written by another version", path);
		return problem_cure(reterr, "Name another file.");
	}
	return STATUS_OK;
}

void
segment_begin_alone(void)
{
	/* Both only cost time where they are refused. */
	(void)sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static int
on_commit(void *arg, sqlite3 *db, const char *name, int pages)
{
	struct segment *segment = arg;

	(void)db;
	(void)name;
	segment->log_pages = pages;
	return SQLITE_OK;
}

static bool
configure(struct segment *segment)
{
	sqlite3 *db = segment->db;

	if (sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) !=
		SQLITE_OK ||
	    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL) !=
		SQLITE_OK)
		return false;
	if (!segment_run(segment, "PRAGMA page_size = 8192") ||
	    !segment_run(segment, "PRAGMA journal_mode = WAL") ||
	    !segment_run(segment, "PRAGMA wal_autocheckpoint = 0") ||
	    !segment_run(segment, "PRAGMA cache_size = -65536") ||
	    !segment_run(segment, "PRAGMA temp_store = MEMORY") ||
	    !segment_run(segment, "PRAGMA trusted_schema = OFF") ||
	    !segment_run(segment, "PRAGMA foreign_keys = OFF"))
		return false;
	(void)sqlite3_wal_hook(db, on_commit, segment);
	return true;
}

int
segment_open(const char *path, const struct segment_birth *birth,
    struct segment **ret, struct problem *reterr)
{
	struct segment *segment = calloc(1, sizeof(*segment));
	int64_t version = 0;

	if (segment == NULL) {
		errno = ENOMEM;
		return problem_errno(reterr, "cannot open %s", path);
	}
	if (sqlite3_open_v2(path, &segment->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
		    SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOMUTEX |
		    SQLITE_OPEN_EXRESCODE,
		NULL) != SQLITE_OK) {
		(void)problem_set(
		    reterr, "cannot open %s: %s", path, segment_error(segment));
		goto fail;
	}
	/* Asked first: a file of somebody else's is not even configured. */
	if (examine(segment, path, &version, reterr) != STATUS_OK)
		goto fail;
	if (version == 0 && birth->number > 1 && birth->start.left == 0) {
		segment_close(segment);
		return STATUS_NOT_FOUND;
	}
	if (!configure(segment) || !fill(segment, version, birth)) {
		(void)problem_set(reterr, "cannot write %s: %s", path,
		    segment_error(segment));
		goto fail;
	}
	*ret = segment;
	return STATUS_OK;
fail:
	segment_close(segment);
	return STATUS_PROBLEM;
}

bool
segment_is_in_place(struct segment *segment)
{
	int moved = 1;

	return sqlite3_file_control(segment->db, "main", SQLITE_FCNTL_HAS_MOVED,
		   &moved) == SQLITE_OK &&
	       moved == 0;
}

void
segment_close(struct segment *segment)
{
	if (segment == NULL)
		return;
	(void)sqlite3_close(segment->db);
	free(segment);
}

void
segment_leave(struct segment *segment)
{
	if (segment != NULL)
		(void)sqlite3_db_config(
		    segment->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	segment_close(segment);
}

void
segment_checkpoint(struct segment *segment)
{
	/* A failure is no loss: the rows are in the log, and it is tried again
	 * after the next commit. */
	if (segment->log_pages >= CHECKPOINT_PAGES)
		(void)sqlite3_wal_checkpoint_v2(
		    segment->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}
