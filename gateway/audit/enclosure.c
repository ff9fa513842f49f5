#include "gateway/audit/enclosure.h"

#include "gateway/audit/digest.h"
#include "schema/status.h"

#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where SQLite puts what it sorts, told before it begins. */
static bool
name_folder(const char *audit, char out[PATH_MAX])
{
	const char *slash = strrchr(audit, '/');
	int length = slash == NULL ? 0 : (int)(slash - audit);
	int used = slash == audit
		       ? snprintf(out, PATH_MAX, "/")
		       : snprintf(out, PATH_MAX, "%.*s", length, audit);

	if (used == 0)
		used = snprintf(out, PATH_MAX, ".");
	return used > 0 && used < PATH_MAX &&
	       setenv("SQLITE_TMPDIR", out, 1) == 0;
}

int
enclosure_enter(
    enum confine_program program, const char *audit, struct problem *reterr)
{
	char path[PATH_MAX], chance;
	int folder, status;

	if (!name_folder(audit, path))
		return problem_set(reterr, "the path of the audit is too long");
	/* OpenSSL reads its configuration with the first digest. */
	digester_free(digester_new());
	sqlite3_randomness(sizeof(chance), &chance);
	folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return problem_errno(reterr, "cannot open %s", path);
	status = confine_enter(program, folder, reterr);
	(void)close(folder);
	return status;
}
