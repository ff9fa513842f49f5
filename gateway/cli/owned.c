#include "gateway/cli/owned.h"

#include "gateway/cli/abspath.h"
#include "gateway/proc/fd.h"
#include "schema/status.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
check_writer(int fd, const char *path, owned_writable *writable,
    const void *arg, struct problem *reterr)
{
	struct abspath place;
	int status;

	if (writable == NULL)
		return STATUS_OK;
	status = abspath_of_fd(fd, path, &place, reterr);
	if (status != STATUS_OK || !writable(place.path, arg))
		return status;
	(void)problem_set(reterr, "the sandbox could write %s", path);
	return problem_cure(reterr, "keep it outside the workspace");
}

static int
check_file(int fd, const char *path, size_t most, struct problem *reterr)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return problem_errno(reterr, "cannot examine %s", path);
	if (!S_ISREG(st.st_mode))
		return problem_set(reterr, "%s is not a file", path);
	if (st.st_size > (off_t)most)
		return problem_set(
		    reterr, "%s is too long, %zu bytes are read", path, most);
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		(void)problem_set(
		    reterr, "%s can be written by others than its owner", path);
		return problem_cure(reterr, "chmod go-w %s", path);
	}
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return problem_set(
		    reterr, "%s belongs to neither you nor root", path);
	return STATUS_OK;
}

static int
read_open(int fd, const char *path, size_t most, struct cursor *ret,
    struct problem *reterr)
{
	char *text = calloc(most + 1, 1);
	size_t done = 0;
	ssize_t got;

	if (text == NULL)
		return problem_set(reterr, "there is no memory for %s", path);
	do {
		got = read(fd, text + done, most - done);
		done += got > 0 ? (size_t)got : 0;
	} while (got > 0 && done < most);
	if (got < 0) {
		free(text);
		return problem_errno(reterr, "cannot read %s", path);
	}
	*ret = cursor_of(text, done);
	return STATUS_OK;
}

int
owned_read(const char *path, size_t most, owned_writable *writable,
    const void *arg, struct cursor *ret, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int status;

	if (fd < 0)
		return problem_errno(reterr, "cannot open %s", path);
	status = check_file(fd, path, most, reterr);
	if (status == STATUS_OK)
		status = check_writer(fd, path, writable, arg, reterr);
	return status == STATUS_OK ? read_open(fd, path, most, ret, reterr)
				   : status;
}

int
owned_check(const char *path, owned_writable *writable, const void *arg,
    struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return problem_errno(reterr, "cannot open %s", path);
	return check_writer(fd, path, writable, arg, reterr);
}

bool
owned_resolve(const char *file, const char *name, char *out, size_t size)
{
	const char *slash = strrchr(file, '/');
	int folder = slash == NULL ? 0 : (int)(slash - file) + 1;
	int length;

	if (name[0] == '/')
		folder = 0;
	length = snprintf(out, size, "%.*s%s", folder, file, name);
	return length >= 0 && (size_t)length < size;
}
