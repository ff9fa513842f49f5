#include "gateway/net/hosts.h"

#include "gateway/net/textfile.h"
#include "schema/address.h"
#include "schema/hostname.h"
#include "schema/limits.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

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

	if (!textfile_word(&line, &word))
		return STATUS_OK;
	if (address_parse((const char *)word.at, word.left, &address) !=
	    STATUS_OK)
		return STATUS_OK;
	while (textfile_word(&line, &word)) {
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
	while (textfile_line(&text, &line)) {
		if (hosts_add_line(hosts, line) != STATUS_OK)
			goto fail;
	}
	if (hosts->count > 0)
		qsort(hosts->list, hosts->count, sizeof(hosts->list[0]),
		    host_compare);
	return hosts;
fail:
	hosts_free(hosts);
	return NULL;
}

struct hosts *
hosts_read(const char *path, struct problem *reterr)
{
	struct hosts *hosts;
	char *text;
	size_t length;

	if (textfile_read(path, LIMIT_HOSTS_BYTES, &text, &length, reterr) !=
	    STATUS_OK)
		return NULL;
	hosts = hosts_of_text(cursor_of(text, length));
	if (hosts == NULL)
		(void)problem_set(reterr, "no memory to read %s", path);
	free(text);
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
