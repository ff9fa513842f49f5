#include "gateway/cli/program.h"

#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of the running program, without the slash at its end. */
static int
own_folder(char *ret, size_t size, struct problem *reterr)
{
	ssize_t length = readlink("/proc/self/exe", ret, size - 1);
	char *slash;

	if (length < 0)
		return problem_errno(reterr, "cannot read /proc/self/exe");
	if ((size_t)length >= size - 1)
		return problem_set(reterr, "the path of exeat is too long");
	ret[length] = '\0';
	slash = strrchr(ret, '/');
	if (slash == NULL)
		return problem_set(reterr, "exeat has no path of its own");
	*slash = '\0';
	return STATUS_OK;
}

static bool
found_in(const char *folder, const char *name, struct program *ret)
{
	int length =
	    snprintf(ret->path, sizeof(ret->path), "%s/%s", folder, name);

	return length > 0 && (size_t)length < sizeof(ret->path) &&
	       access(ret->path, X_OK) == 0;
}

int
program_find(const char *name, struct program *ret, struct problem *reterr)
{
	char folder[PROGRAM_PATH_MAX];
	struct program program;
	int status = own_folder(folder, sizeof(folder), reterr);

	if (status != STATUS_OK)
		return status;
	if (!found_in(folder, name, &program) &&
	    !found_in(EXEAT_LIBEXEC, name, &program)) {
		(void)problem_set(reterr, "%s is neither in %s nor in %s", name,
		    folder, EXEAT_LIBEXEC);
		return problem_cure(
		    reterr, "install all programs of Exeat together");
	}
	*ret = program;
	return STATUS_OK;
}

const char *const program_environment[] = { NULL };

const char *
program_log_level(void)
{
	static const char *const levels[] = { "error", "warning", "info",
		"debug" };
	const char *wanted = secure_getenv("EXEAT_LOG");

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (wanted != NULL && strcmp(wanted, levels[i]) == 0)
			return levels[i];
	return NULL;
}
