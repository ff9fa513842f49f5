#include "gateway/audit/mend.h"

#include <sqlite3.h>
#include <stddef.h>

bool
mend_is_needed(struct sqlite3 *db)
{
	return sqlite3_extended_errcode(db) == SQLITE_READONLY_ROLLBACK;
}

/* Whoever reads it with the right to write has SQLite take it back. */
bool
mend(const char *path)
{
	sqlite3 *db = NULL;
	bool done = sqlite3_open_v2(path, &db,
			SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
			NULL) == SQLITE_OK &&
		    sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema", NULL,
			NULL, NULL) == SQLITE_OK;

	(void)sqlite3_close(db);
	return done;
}
