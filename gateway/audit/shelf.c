#include "gateway/audit/shelf.h"

#include "schema/cursor.h"
#include "schema/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	DIGITS = 6,
	HIGHEST = 999999
};

static int
too_long(const char *audit, struct problem *reterr)
{
	return problem_set(reterr, "%.100s... is too long a name", audit);
}

int
shelf_path(const char *audit, int64_t number, char ret[SHELF_PATH],
    struct problem *reterr)
{
	int used = number == 1 ? snprintf(ret, SHELF_PATH, "%s", audit)
			       : snprintf(ret, SHELF_PATH, "%s.%06" PRId64,
				     audit, number);

	if (number < 1 || number > HIGHEST)
		return problem_set(
		    reterr, "an audit has at most %d segments", HIGHEST);
	if (used < 0 || used >= SHELF_PATH)
		return too_long(audit, reterr);
	return STATUS_OK;
}

int
shelf_beside(const char *audit, const char *ending, char ret[SHELF_PATH],
    struct problem *reterr)
{
	int used = snprintf(ret, SHELF_PATH, "%s.%s", audit, ending);

	if (used < 0 || used >= SHELF_PATH)
		return too_long(audit, reterr);
	return STATUS_OK;
}

/* The folder, and the name in it. */
static int
split(const char *audit, char folder[SHELF_PATH], const char **ret_name,
    struct problem *reterr)
{
	const char *slash = strrchr(audit, '/');
	size_t length = slash == NULL ? 0 : (size_t)(slash - audit) + 1;

	if (length >= SHELF_PATH - 1)
		return too_long(audit, reterr);
	memcpy(folder, length == 0 ? "." : audit, length == 0 ? 1 : length);
	folder[length == 0 ? 1 : length] = '\0';
	*ret_name = slash == NULL ? audit : slash + 1;
	return STATUS_OK;
}

/* The number of the segment that has this name, or 0. */
static int64_t
number_of(const char *name, const char *audit)
{
	size_t length = strlen(audit);
	struct cursor digits;
	uint64_t number;

	if (strncmp(name, audit, length) != 0)
		return 0;
	if (name[length] == '\0')
		return 1;
	digits = cursor_of_text(name + length);
	if (!cursor_literal(&digits, ".") || digits.left != DIGITS ||
	    !cursor_decimal(&digits, HIGHEST, &number) ||
	    !cursor_is_empty(&digits) || number < 2)
		return 0;
	return (int64_t)number;
}

static int
compare(const void *a, const void *b)
{
	const int64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

int
shelf_read(const char *audit, struct shelf *ret, struct problem *reterr)
{
	char folder[SHELF_PATH];
	const char *name = "";
	const struct dirent *entry;
	DIR *directory;
	int status = split(audit, folder, &name, reterr);

	if (status != STATUS_OK)
		return status;
	ret->count = 0;
	directory = opendir(folder);
	if (directory == NULL)
		return errno == ENOENT
			   ? STATUS_OK
			   : problem_errno(reterr, "cannot read %s", folder);
	for (entry = readdir(directory); entry != NULL && status == STATUS_OK;
	     entry = readdir(directory)) {
		int64_t number = number_of(entry->d_name, name);

		if (number == 0)
			continue;
		if (ret->count == LIMIT_SEGMENTS)
			status = problem_set(reterr,
			    "%s has more than %d segments; see exeat audit "
			    "prune",
			    audit, LIMIT_SEGMENTS);
		else
			ret->numbers[ret->count++] = number;
	}
	(void)closedir(directory);
	qsort(ret->numbers, ret->count, sizeof(ret->numbers[0]), compare);
	return status;
}

int
shelf_sync(const char *audit, struct problem *reterr)
{
	char folder[SHELF_PATH];
	const char *name;
	int status = split(audit, folder, &name, reterr);
	int fd;

	if (status != STATUS_OK)
		return status;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) != 0)
		status = problem_errno(reterr, "cannot write %s", folder);
	if (fd >= 0)
		(void)close(fd);
	return status;
}
