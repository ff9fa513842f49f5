#include "gateway/audit/earlier.h"

#include "gateway/audit/binding.h"
#include "gateway/audit/mend.h"
#include "gateway/audit/shelf.h"
#include "schema/status.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum {
	BUSY_MS = 50 /* a sealer that just changes the file's mode */
};

struct earlier {
	const char *audit; /* the caller's */
	int64_t end; /* the first number that is not ours */
	int64_t number; /* the segment that is open, or 0 */
	int64_t first_seq;
	sqlite3 *db;
	sqlite3_stmt *policy; /* what the last answer borrows from */
};

struct earlier *
earlier_new(const char *audit, int64_t number)
{
	struct earlier *earlier = calloc(1, sizeof(*earlier));

	if (earlier != NULL) {
		earlier->audit = audit;
		earlier->end = number;
	}
	return earlier;
}

void
earlier_close(struct earlier *earlier)
{
	(void)sqlite3_finalize(earlier->policy);
	(void)sqlite3_close(earlier->db);
	earlier->policy = NULL;
	earlier->db = NULL;
	earlier->number = 0;
}

void
earlier_free(struct earlier *earlier)
{
	if (earlier == NULL)
		return;
	earlier_close(earlier);
	free(earlier);
}

static sqlite3_stmt *
prepare(struct earlier *earlier, const char *sql)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(earlier->db, sql, -1, &statement, NULL) !=
	    SQLITE_OK)
		return NULL;
	return statement;
}

static bool
read_first_seq(struct earlier *earlier)
{
	sqlite3_stmt *statement =
	    prepare(earlier, "SELECT min(seq) FROM event");
	bool found = statement != NULL &&
		     sqlite3_step(statement) == SQLITE_ROW &&
		     sqlite3_column_type(statement, 0) == SQLITE_INTEGER;

	if (found)
		earlier->first_seq = sqlite3_column_int64(statement, 0);
	return sqlite3_finalize(statement) == SQLITE_OK && found;
}

static bool
open_file(struct earlier *earlier, const char *path)
{
	return sqlite3_open_v2(path, &earlier->db,
		   SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX |
		       SQLITE_OPEN_EXRESCODE,
		   NULL) == SQLITE_OK &&
	       sqlite3_busy_timeout(earlier->db, BUSY_MS) == SQLITE_OK &&
	       sqlite3_db_config(earlier->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
		   1, NULL) == SQLITE_OK &&
	       read_first_seq(earlier);
}

static bool
open_segment(struct earlier *earlier, int64_t number)
{
	struct problem problem;
	char path[SHELF_PATH];
	bool opened;

	if (earlier->number == number)
		return true;
	earlier_close(earlier);
	if (shelf_path(earlier->audit, number, path, &problem) != STATUS_OK)
		return false;
	opened = open_file(earlier, path);
	if (!opened && mend_is_needed(earlier->db) && mend(path)) {
		earlier_close(earlier);
		opened = open_file(earlier, path);
	}
	if (!opened) {
		earlier_close(earlier);
		return false;
	}
	earlier->number = number;
	return true;
}

/* Calls ask for each segment, newest first, until it says true. */
static bool
ask_each(struct earlier *earlier,
    bool (*ask)(struct earlier *earlier, void *arg), void *arg)
{
	struct shelf *shelf;
	struct problem problem;
	bool found = false;

	/* Most audits have one file. */
	if (earlier->end <= 1)
		return false;
	shelf = calloc(1, sizeof(*shelf));
	if (shelf != NULL &&
	    shelf_read(earlier->audit, shelf, &problem) == STATUS_OK)
		for (size_t i = shelf->count; i > 0 && !found; i--)
			found = shelf->numbers[i - 1] < earlier->end &&
				open_segment(earlier, shelf->numbers[i - 1]) &&
				ask(earlier, arg);
	free(shelf);
	return found;
}

struct ownership {
	const char *uid;
	int64_t seq;
	bool owned;
};

/* True once the segment that has the row was asked. */
static bool
ask_owner(struct earlier *earlier, void *arg)
{
	struct ownership *ownership = arg;
	struct binding binding;
	sqlite3_stmt *statement;
	int64_t one;

	if (ownership->seq < earlier->first_seq)
		return false;
	statement = prepare(earlier,
	    "SELECT 1 FROM event e JOIN sandbox s ON s.id = e.sandbox_id "
	    "WHERE e.seq = ? AND s.uid = ?");
	binding = (struct binding){ .statement = statement };
	if (statement != NULL) {
		binding_id(&binding, ownership->seq);
		binding_text(&binding, cursor_of_text(ownership->uid));
		ownership->owned = binding_look_up(&binding, &one) == STATUS_OK;
	}
	(void)sqlite3_finalize(statement);
	return true;
}

bool
earlier_owns(struct earlier *earlier, const char *uid, int64_t seq)
{
	struct ownership ownership = { .uid = uid, .seq = seq };

	/* The rows behind the open segment's first one are mostly in it. */
	if (earlier->number == earlier->end - 1 && earlier->number > 0 &&
	    seq >= earlier->first_seq)
		(void)ask_owner(earlier, &ownership);
	else
		(void)ask_each(earlier, ask_owner, &ownership);
	return ownership.owned;
}

static bool
ask_policy(struct earlier *earlier, void *arg)
{
	const struct cursor *sha256 = arg;
	struct binding binding;

	(void)sqlite3_finalize(earlier->policy);
	earlier->policy = prepare(earlier,
	    "SELECT loaded_us, loaded_by, body FROM policy WHERE sha256 = ?");
	binding = (struct binding){ .statement = earlier->policy };
	if (earlier->policy == NULL)
		return false;
	binding_blob(&binding, sha256->at, sha256->left);
	return !binding.failed && sqlite3_step(earlier->policy) == SQLITE_ROW;
}

static struct cursor
column(sqlite3_stmt *statement, int at)
{
	const void *text = sqlite3_column_text(statement, at);

	return cursor_of(text,
	    text == NULL ? 0 : (size_t)sqlite3_column_bytes(statement, at));
}

int
earlier_policy(
    struct earlier *earlier, struct cursor sha256, struct store_policy *ret)
{
	struct store_policy policy = { .loaded_us = 0 };
	struct cursor by;

	if (!ask_each(earlier, ask_policy, &sha256) ||
	    !cursor_copy(
		&sha256, sizeof(policy.about.sha256), policy.about.sha256))
		return STATUS_NOT_FOUND;
	policy.loaded_us = sqlite3_column_int64(earlier->policy, 0);
	policy.body = column(earlier->policy, 2);
	by = column(earlier->policy, 1);
	if (by.left >= sizeof(policy.about.loaded_by))
		return STATUS_NOT_FOUND;
	memcpy(policy.about.loaded_by, by.at, by.left);
	*ret = policy;
	return STATUS_OK;
}

static bool
ask_run(struct earlier *earlier, void *arg)
{
	const char *uid = arg;
	sqlite3_stmt *statement =
	    prepare(earlier, "SELECT 1 FROM sandbox WHERE uid = ?");
	struct binding binding = { .statement = statement };
	int64_t one;
	bool found = false;

	if (statement != NULL) {
		binding_text(&binding, cursor_of_text(uid));
		found = binding_look_up(&binding, &one) == STATUS_OK;
	}
	(void)sqlite3_finalize(statement);
	return found;
}

bool
earlier_has_run(struct earlier *earlier, const char *uid)
{
	return ask_each(earlier, ask_run, unconst(uid));
}

bool
earlier_is_of(struct earlier *earlier, int64_t number, const char *uid)
{
	bool found =
	    !open_segment(earlier, number) || ask_run(earlier, unconst(uid));

	earlier_close(earlier);
	return found;
}

struct sqlite3_stmt *
earlier_open_runs(struct earlier *earlier)
{
	if (earlier->end <= 1 || !open_segment(earlier, earlier->end - 1))
		return NULL;
	return prepare(earlier,
	    "SELECT uid, tenant, image, image_digest, runtime, host, owner, "
	    "started_us, labels FROM sandbox WHERE ended_us IS NULL "
	    "ORDER BY id");
}
