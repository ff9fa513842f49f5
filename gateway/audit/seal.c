#include "gateway/audit/seal.h"

#include "gateway/audit/sqltext.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	BUSY_MS = 1000,
	PIECE = 65536
};

static void
fd_done(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

/* The mode that the file has now: "wal" or "delete". */
static bool
leave_log(sqlite3 *db)
{
	sqlite3_stmt *statement = NULL;
	const unsigned char *mode;
	bool left = false;

	if (sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE,
		NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "PRAGMA journal_mode = DELETE", -1,
		&statement, NULL) != SQLITE_OK)
		return false;
	if (sqlite3_step(statement) == SQLITE_ROW) {
		mode = sqlite3_column_text(statement, 0);
		left =
		    mode != NULL && strcmp((const char *)mode, "delete") == 0;
	}
	(void)sqlite3_finalize(statement);
	return left;
}

static bool
make_indexes(sqlite3 *db)
{
	bool made =
	    sqlite3_exec(db,
		"PRAGMA cache_size = -65536; PRAGMA trusted_schema = OFF", NULL,
		NULL, NULL) == SQLITE_OK;

	for (size_t i = 0; made && sqltext_seal[i].name != NULL; i++)
		made = sqlite3_exec(db, sqltext_seal[i].sql, NULL, NULL,
			   NULL) == SQLITE_OK;
	return made;
}

static int
prepare_file(const char *path, struct problem *reterr)
{
	sqlite3 *db = NULL;
	int status = STATUS_OK;

	if (sqlite3_open_v2(path, &db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
		    SQLITE_OPEN_EXRESCODE,
		NULL) != SQLITE_OK ||
	    sqlite3_busy_timeout(db, BUSY_MS) != SQLITE_OK)
		status = problem_set(
		    reterr, "cannot open %s: %s", path, sqlite3_errmsg(db));
	/* With its log: readers go on, and what is half done is forgotten. */
	else if (!make_indexes(db))
		status = problem_set(
		    reterr, "cannot seal %s: %s", path, sqlite3_errmsg(db));
	else if (!leave_log(db)) {
		(void)problem_set(reterr, "%s is in use", path);
		status = STATUS_AGAIN;
	}
	(void)sqlite3_close(db);
	return status;
}

static bool
digest_file(int fd, EVP_MD_CTX *context, uint8_t ret[32], int64_t *ret_bytes)
{
	unsigned char piece[PIECE];
	int64_t bytes = 0;
	ssize_t got;

	if (context == NULL ||
	    EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1)
		return false;
	do {
		got = read(fd, piece, sizeof(piece));
		if (got < 0 ||
		    EVP_DigestUpdate(context, piece, (size_t)got) != 1)
			return false;
		bytes += got;
	} while (got > 0);
	*ret_bytes = bytes;
	return EVP_DigestFinal_ex(context, ret, NULL) == 1;
}

/* Nothing is written into it from here on. */
static int
finish_file(const char *path, uint8_t ret_sha256[32], int64_t *ret_bytes,
    struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool well = fd >= 0 && fchmod(fd, S_IRUSR | S_IRGRP) == 0 &&
		    fsync(fd) == 0 &&
		    digest_file(fd, context, ret_sha256, ret_bytes);

	EVP_MD_CTX_free(context);
	return well ? STATUS_OK : problem_errno(reterr, "cannot seal %s", path);
}

int
seal(const char *path, uint8_t ret_sha256[32], int64_t *ret_bytes,
    struct problem *reterr)
{
	int status;

	/* A sealer that was interrupted may have taken the right already. */
	if (chmod(path, S_IRUSR | S_IWUSR) != 0)
		return problem_errno(reterr, "cannot seal %s", path);
	status = prepare_file(path, reterr);
	return status == STATUS_OK
		   ? finish_file(path, ret_sha256, ret_bytes, reterr)
		   : status;
}
