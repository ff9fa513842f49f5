#include "gateway/cli/toolrc.h"

#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t
read_all(int fd, char *out, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = read(fd, out + done, size - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

char *
toolrc_read(const char *path, struct cursor *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	char *text = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size <= LIMIT_TOOLRC)
		text = calloc((size_t)st.st_size + 1, 1);
	if (text != NULL)
		*ret = cursor_of(text, read_all(fd, text, (size_t)st.st_size));
	(void)close(fd);
	return text;
}

bool
toolrc_line(struct cursor *text, struct cursor *ret)
{
	if (cursor_is_empty(text))
		return false;
	if (!cursor_until(text, '\n', ret)) {
		*ret = *text;
		text->left = 0;
	}
	return true;
}

static bool
is_blank(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r';
}

static void
skip_blanks(struct cursor *in)
{
	uint8_t byte;

	while (cursor_peek(in, &byte) && is_blank(byte) && cursor_skip(in, 1))
		;
}

static void
drop_blanks(struct cursor *in)
{
	skip_blanks(in);
	while (in->left > 0 && is_blank(in->at[in->left - 1]))
		in->left--;
}

bool
toolrc_word(struct cursor *line, struct cursor *ret)
{
	uint8_t byte;

	skip_blanks(line);
	*ret = cursor_of(line->at, 0);
	while (
	    cursor_peek(line, &byte) && !is_blank(byte) && cursor_skip(line, 1))
		ret->left++;
	return ret->left > 0;
}

static void
drop_quotes(struct cursor *in)
{
	if (in->left < 2 || in->at[0] != in->at[in->left - 1] ||
	    (in->at[0] != '"' && in->at[0] != '\''))
		return;
	*in = cursor_of(in->at + 1, in->left - 2);
}

bool
toolrc_pair(
    struct cursor line, struct cursor *ret_key, struct cursor *ret_value)
{
	struct cursor key;

	if (!cursor_until(&line, '=', &key))
		return false;
	drop_blanks(&key);
	drop_blanks(&line);
	drop_quotes(&key);
	drop_quotes(&line);
	*ret_key = key;
	*ret_value = line;
	return true;
}

bool
toolrc_find(struct cursor *text, const char *found)
{
	const unsigned char *at = text->left == 0 ? NULL
						  : memmem(text->at, text->left,
							found, strlen(found));

	return at != NULL &&
	       cursor_skip(text, (size_t)(at - text->at) + strlen(found));
}
