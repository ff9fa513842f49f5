#include "gateway/net/textfile.h"

#include "schema/problem.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* Reads all of fd into bytes; STATUS_TOO_LONG when it has size or more. */
static int
file_fill(int fd, char *bytes, size_t size, size_t *ret_length)
{
	size_t have = 0;

	while (have < size) {
		ssize_t got = read(fd, bytes + have, size - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return STATUS_SYSTEM;
		if (got == 0) {
			*ret_length = have;
			return STATUS_OK;
		}
		have += (size_t)got;
	}
	return STATUS_TOO_LONG;
}

static int
file_read(int fd, const char *path, size_t limit, char **ret_text,
    size_t *ret_length, struct problem *reterr)
{
	char *text = malloc(limit + 1);
	int status;

	if (text == NULL)
		return problem_set(reterr, "no memory to read %s", path);
	status = file_fill(fd, text, limit + 1, ret_length);
	if (status == STATUS_OK) {
		*ret_text = text;
		return STATUS_OK;
	}
	free(text);
	if (status == STATUS_TOO_LONG)
		return problem_set(
		    reterr, "%s has more than %zu bytes", path, limit);
	return problem_errno(reterr, "cannot read %s", path);
}

int
textfile_read(const char *path, size_t limit, char **ret_text,
    size_t *ret_length, struct problem *reterr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int status;

	if (fd < 0 && errno == ENOENT) {
		*ret_text = NULL;
		*ret_length = 0;
		return STATUS_OK;
	}
	if (fd < 0)
		return problem_errno(reterr, "cannot open %s", path);
	status = file_read(fd, path, limit, ret_text, ret_length, reterr);
	(void)close(fd);
	return status;
}

bool
textfile_line(struct cursor *text, struct cursor *ret)
{
	if (cursor_is_empty(text))
		return false;
	/* The last line may have no end. */
	return cursor_until(text, '\n', ret) ||
	       cursor_take(text, text->left, ret);
}

static bool
is_blank(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r';
}

bool
textfile_word(struct cursor *line, struct cursor *ret)
{
	uint8_t byte;
	size_t length = 0;

	while (cursor_peek(line, &byte) && is_blank(byte)) {
		if (!cursor_skip(line, 1))
			return false;
	}
	while (length < line->left && !is_blank(line->at[length]) &&
	       line->at[length] != '#')
		length++;
	return length > 0 && cursor_take(line, length, ret);
}
