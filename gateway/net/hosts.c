#include "gateway/net/hosts.h"

#include "schema/address.h"
#include "schema/hostname.h"
#include "schema/limits.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct host {
	char *name; /* of the one block of names, with a NUL */
	size_t place; /* in the file, so that sorting keeps its order */
	struct address address;
};

struct hosts {
	struct host *list;
	size_t count, room;
	char *names; /* as large as the text, so all names fit */
	size_t used;
};

static bool
is_blank(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r';
}

/* The next word of a line; false at its end or at a comment. */
static bool
line_word(struct cursor *line, struct cursor *ret)
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

static int
hosts_grow(struct hosts *hosts)
{
	size_t room = hosts->room == 0 ? 16 : hosts->room * 2;
	struct host *list;

	if (hosts->count < hosts->room)
		return STATUS_OK;
	list = reallocarray(hosts->list, room, sizeof(*list));
	if (list == NULL)
		return STATUS_NO_MEMORY;
	hosts->list = list;
	hosts->room = room;
	return STATUS_OK;
}

static int
hosts_add(
    struct hosts *hosts, struct cursor word, const struct address *address)
{
	struct hostname name;
	struct host *host;

	if (hostname_parse((const char *)word.at, word.left, &name) !=
	    STATUS_OK)
		return STATUS_OK;
	if (hosts_grow(hosts) != STATUS_OK)
		return STATUS_NO_MEMORY;
	host = &hosts->list[hosts->count];
	host->name = hosts->names + hosts->used;
	host->place = hosts->count++;
	host->address = *address;
	memcpy(host->name, name.text, name.length + 1U);
	hosts->used += name.length + 1U;
	return STATUS_OK;
}

static int
hosts_add_line(struct hosts *hosts, struct cursor line)
{
	struct cursor word;
	struct address address;

	if (!line_word(&line, &word))
		return STATUS_OK;
	if (address_parse((const char *)word.at, word.left, &address) !=
	    STATUS_OK)
		return STATUS_OK;
	while (line_word(&line, &word)) {
		if (hosts_add(hosts, word, &address) != STATUS_OK)
			return STATUS_NO_MEMORY;
	}
	return STATUS_OK;
}

static int
host_compare(const void *a, const void *b)
{
	const struct host *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	if (order != 0)
		return order;
	return left->place < right->place ? -1 : left->place > right->place;
}

struct hosts *
hosts_of_text(struct cursor text)
{
	struct hosts *hosts = calloc(1, sizeof(*hosts));
	struct cursor line;

	if (hosts == NULL)
		return NULL;
	/* A name needs a blank in front of it, which pays for its NUL. */
	hosts->names = calloc(1, text.left + 1);
	if (hosts->names == NULL)
		goto fail;
	while (cursor_until(&text, '\n', &line)) {
		if (hosts_add_line(hosts, line) != STATUS_OK)
			goto fail;
	}
	if (hosts_add_line(hosts, text) != STATUS_OK)
		goto fail;
	if (hosts->count > 0)
		qsort(hosts->list, hosts->count, sizeof(hosts->list[0]),
		    host_compare);
	return hosts;
fail:
	hosts_free(hosts);
	return NULL;
}

/* Reads all of fd into bytes; STATUS_TOO_LONG when it has more than size. */
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

static struct hosts *
hosts_from(int fd, const char *path, struct problem *reterr)
{
	const size_t size = LIMIT_HOSTS_BYTES + 1;
	char *bytes = malloc(size);
	struct hosts *hosts = NULL;
	size_t length;
	int status;

	if (bytes == NULL) {
		(void)problem_set(reterr, "no memory to read %s", path);
		return NULL;
	}
	status = file_fill(fd, bytes, size, &length);
	if (status == STATUS_OK)
		hosts = hosts_of_text(cursor_of(bytes, length));
	if (status == STATUS_TOO_LONG)
		(void)problem_set(reterr, "%s has more than %d bytes", path,
		    LIMIT_HOSTS_BYTES);
	else if (status == STATUS_SYSTEM)
		(void)problem_errno(reterr, "cannot read %s", path);
	else if (hosts == NULL)
		(void)problem_set(reterr, "no memory to read %s", path);
	free(bytes);
	return hosts;
}

struct hosts *
hosts_read(const char *path, struct problem *reterr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct hosts *hosts;

	if (fd < 0 && errno == ENOENT)
		return hosts_of_text(cursor_of(NULL, 0));
	if (fd < 0) {
		(void)problem_errno(reterr, "cannot open %s", path);
		return NULL;
	}
	hosts = hosts_from(fd, path, reterr);
	(void)close(fd);
	return hosts;
}

void
hosts_free(struct hosts *hosts)
{
	if (hosts == NULL)
		return;
	free(hosts->list);
	free(hosts->names);
	free(hosts);
}

/* The first of the sorted list that is not before name. */
static size_t
hosts_first(const struct hosts *hosts, const char *name)
{
	size_t low = 0, high = hosts->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(hosts->list[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t
hosts_find(const struct hosts *hosts, const struct hostname *name,
    struct address *out, size_t size)
{
	size_t count = 0;

	for (size_t i = hosts_first(hosts, name->text);
	     i < hosts->count && count < size &&
	     strcmp(hosts->list[i].name, name->text) == 0;
	     i++)
		out[count++] = hosts->list[i].address;
	return count;
}
