#include "gateway/cli/page.h"

#include "gateway/audit/report.h"
#include "gateway/cli/command.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool
write_all(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t wrote = write(fd, bytes, length);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return false;
		bytes += wrote;
		length -= (size_t)wrote;
	}
	return true;
}

/* What is there is replaced, unless it is a link to somewhere else. */
static int
put_file(
    const char *file, const char *bytes, size_t length, struct problem *reterr)
{
	int fd = open(
	    file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool well;

	if (fd < 0)
		return problem_errno(reterr, "cannot write %s", file);
	well = write_all(fd, bytes, length);
	if (close(fd) != 0 || !well)
		return problem_errno(reterr, "cannot write all of %s", file);
	return STATUS_OK;
}

static int
deliver(
    const char *file, const char *bytes, size_t length, struct problem *reterr)
{
	if (strcmp(file, "-") != 0)
		return put_file(file, bytes, length, reterr);
	if (fwrite(bytes, 1, length, stdout) != length || fflush(stdout) != 0)
		return problem_errno(reterr, "cannot write the page");
	return STATUS_OK;
}

static void
tell(const char *file, enum report_state state)
{
	static const char *const words[] = {
		[REPORT_CLEAN] = "clean",
		[REPORT_REFUSALS] = "there is something to look at",
		[REPORT_ALARMS] = "there is an alarm",
	};

	if (strcmp(file, "-") != 0)
		(void)printf("%s: %s\n", file, words[state]);
}

int
page_write(struct query *query, const struct report *report, const char *file)
{
	struct problem problem = { 0 };
	enum report_state state = REPORT_ALARMS;
	char *bytes = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&bytes, &length);
	int status = out == NULL
			 ? problem_errno(&problem, "no memory for a page")
			 : report_write(query, report, out, &state, &problem);

	if (out != NULL && (ferror(out) != 0 || fclose(out) != 0) &&
	    status == STATUS_OK)
		status = problem_set(&problem, "no memory for a page");
	if (status == STATUS_OK)
		status = deliver(file, bytes, length, &problem);
	free(bytes);
	if (status != STATUS_OK) {
		(void)fprintf(stderr, "exeat: %s\n", problem.text);
		if (problem.cure[0] != '\0')
			(void)fprintf(stderr, "       %s\n", problem.cure);
		return COMMAND_FAILED;
	}
	tell(file, state);
	return COMMAND_OK;
}
