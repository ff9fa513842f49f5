#include "gateway/audit/unite.h"

#include "gateway/audit/mend.h"
#include "gateway/audit/shelf.h"
#include "schema/cursor.h"
#include "schema/status.h"

#include <assert.h>
#include <sqlite3.h>
#include <string.h>

enum {
	SQL_ROOM = 4096
};

/* The newest is main; its predecessors, newest first. */
static const char *const names[] = { "main", "s1", "s2", "s3", "s4", "s5", "s6",
	"s7", "s8", "s9", "s10" };

static_assert(
    sizeof(names) / sizeof(names[0]) == UNITE_MAX, "every file has a name");

/*
 * Tables by what means the same in every segment: without ids, and once where
 * several segments have the same entry.
 */
static const struct {
	const char *name, *columns, *behind;
} tables[] = {
	{ "event",
	    "seq, ts_us, kind, verdict, reason, flow_id, req_id, parent_seq, "
	    "dst_ip, dst_port, l7, tls, verb, object, status, bytes_out, "
	    "bytes_in, dur_us, detail",
	    "" },
	{ "sandbox",
	    "uid, tenant, image, image_digest, runtime, host, owner, "
	    "started_us, max(ended_us) AS ended_us, labels",
	    " GROUP BY uid" },
	{ "principal", "sub, type", " GROUP BY sub" },
	{ "dst", "host, reg_domain, is_ip, min(first_us) AS first_us",
	    " GROUP BY host" },
	{ "cred", "name, provider, type, bound_hosts, fp", " GROUP BY name" },
	{ "token",
	    "jti, depth, sub_on_behalf, act, aud, scope, cnf, txn, iat, exp, "
	    "max(revoked_us) AS revoked_us, max(revoke_why) AS revoke_why",
	    " GROUP BY jti" },
	{ "policy", "sha256, min(loaded_us) AS loaded_us, loaded_by, body",
	    " GROUP BY sha256" },
	{ "rule", "name", " GROUP BY name" },
	{ "block", "*", "" },
	{ "checkpoint", "*", "" },
};

static const char *const views[] = { "v_event", "v_denied", "v_exec" };

/* The file is named as a URI, so what has a meaning there is escaped. */
int
unite_uri(const char *path, char ret[UNITE_URI], struct problem *reterr)
{
	static const char hex[] = "0123456789abcdef";
	struct cursor_writer writer = cursor_writer_of(ret, UNITE_URI);

	cursor_put_text(&writer, "file:");
	for (; *path != '\0'; path++) {
		unsigned char byte = (unsigned char)*path;

		if (byte != '%' && byte != '?' && byte != '#') {
			cursor_put_u8(&writer, byte);
			continue;
		}
		cursor_put_u8(&writer, '%');
		cursor_put_u8(&writer, (unsigned char)hex[byte >> 4]);
		cursor_put_u8(&writer, (unsigned char)hex[byte & 15]);
	}
	cursor_put_text(&writer, "?mode=ro");
	cursor_put_u8(&writer, 0);
	if (!cursor_written(&writer))
		return problem_set(reterr, "the database's path is too long");
	return STATUS_OK;
}

static bool
try_attach(sqlite3 *db, const char *uri, const char *name)
{
	sqlite3_stmt *statement = NULL;
	bool attached = sqlite3_prepare_v2(db, "ATTACH ? AS ?", -1, &statement,
			    NULL) == SQLITE_OK &&
			sqlite3_bind_text(statement, 1, uri, -1,
			    SQLITE_STATIC) == SQLITE_OK &&
			sqlite3_bind_text(statement, 2, name, -1,
			    SQLITE_STATIC) == SQLITE_OK &&
			sqlite3_step(statement) == SQLITE_DONE;

	(void)sqlite3_finalize(statement);
	return attached;
}

int
unite_attach(struct sqlite3 *db, const char *path, const char *name,
    struct problem *reterr)
{
	char uri[UNITE_URI];

	if (unite_uri(path, uri, reterr) != STATUS_OK)
		return STATUS_PROBLEM;
	if (try_attach(db, uri, name) ||
	    (mend_is_needed(db) && mend(path) && try_attach(db, uri, name)))
		return STATUS_OK;
	return problem_set(
	    reterr, "cannot read %s: %s", path, sqlite3_errmsg(db));
}

/* "before main.what behind UNION ALL before s1.what behind ..." */
static void
put_union(struct cursor_writer *out, size_t count, const char *before,
    const char *what, const char *behind)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			cursor_put_text(out, " UNION ALL ");
		cursor_put_text(out, before);
		cursor_put_text(out, names[i]);
		cursor_put_text(out, ".");
		cursor_put_text(out, what);
		cursor_put_text(out, behind);
	}
}

static int
run(sqlite3 *db, struct cursor_writer *out, struct problem *reterr)
{
	cursor_put_u8(out, 0);
	/* All of it is our own words. */
	if (!cursor_written(out) || sqlite3_exec(db, (const char *)out->bytes,
					NULL, NULL, NULL) != SQLITE_OK)
		return problem_set(reterr, "cannot put segments together: %s",
		    sqlite3_errmsg(db));
	return STATUS_OK;
}

static int
make_view(sqlite3 *db, const char *view, size_t count, struct problem *reterr)
{
	char text[SQL_ROOM];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	cursor_put_text(&out, "CREATE TEMP VIEW ");
	cursor_put_text(&out, view);
	cursor_put_text(&out, " AS ");
	put_union(&out, count, "SELECT * FROM ", view, "");
	return run(db, &out, reterr);
}

static int
make_table(sqlite3 *db, size_t which, size_t count, struct problem *reterr)
{
	char text[SQL_ROOM];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	cursor_put_text(&out, "CREATE TEMP VIEW ");
	cursor_put_text(&out, tables[which].name);
	cursor_put_text(&out, " AS SELECT ");
	cursor_put_text(&out, tables[which].columns);
	cursor_put_text(&out, " FROM (");
	put_union(&out, count, "SELECT * FROM ", tables[which].name, "");
	cursor_put_text(&out, ")");
	cursor_put_text(&out, tables[which].behind);
	return run(db, &out, reterr);
}

/* A request may end in a later segment than it began in. */
static int
make_open_intent(sqlite3 *db, size_t count, struct problem *reterr)
{
	char text[SQL_ROOM];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	cursor_put_text(&out,
	    "CREATE TEMP VIEW v_open_intent AS SELECT i.* FROM temp.v_event i "
	    "WHERE i.kind = 'http_intent' AND i.seq NOT IN (");
	put_union(&out, count, "SELECT parent_seq FROM ", "event",
	    " WHERE kind = 1 AND parent_seq IS NOT NULL");
	cursor_put_text(&out, ")");
	return run(db, &out, reterr);
}

int
unite(struct sqlite3 *db, const char *audit, const struct shelf *shelf,
    struct problem *reterr)
{
	size_t count = shelf->count < UNITE_MAX ? shelf->count : UNITE_MAX;
	char path[SHELF_PATH];
	int status = STATUS_OK;

	for (size_t i = 1; i < count && status == STATUS_OK; i++) {
		status = shelf_path(
		    audit, shelf->numbers[shelf->count - 1 - i], path, reterr);
		if (status == STATUS_OK)
			status = unite_attach(db, path, names[i], reterr);
	}
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		if (status == STATUS_OK)
			status = make_view(db, views[i], count, reterr);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (status == STATUS_OK)
			status = make_table(db, i, count, reterr);
	return status == STATUS_OK ? make_open_intent(db, count, reterr)
				   : status;
}
