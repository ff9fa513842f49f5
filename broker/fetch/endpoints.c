#include "broker/fetch/endpoints.h"

#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

enum {
	HTTPS_PORT = 443
};

/* Whether a byte may stand in a path or query as it is, or as a '%'. */
static bool
is_plain(uint8_t byte)
{
	return byte > ' ' && byte < 0x7f && byte != '#' && byte != '\\' &&
	       byte != '"' && byte != '<' && byte != '>';
}

static int
read_url(const char *url, struct authority *ret)
{
	struct cursor text = cursor_of_text(url), host;
	struct authority authority;
	uint8_t byte;

	if (!cursor_literal(&text, "https://"))
		return STATUS_MALFORMED;
	host = text;
	while (cursor_peek(&text, &byte) && byte != '/')
		if (byte == '?' || !cursor_skip(&text, 1))
			return STATUS_MALFORMED;
	host.left -= text.left;
	while (cursor_u8(&text, &byte))
		if (!is_plain(byte))
			return STATUS_MALFORMED;
	if (authority_parse(host, &authority) != STATUS_OK)
		return STATUS_MALFORMED;
	if (authority.port == 0)
		authority.port = HTTPS_PORT;
	*ret = authority;
	return STATUS_OK;
}

int
endpoints_add(
    struct endpoints *endpoints, const struct errand_endpoint *endpoint)
{
	struct endpoint_entry entry = { .roots_length = endpoint->roots.left };
	int status = read_url(endpoint->url, &entry.authority);

	if (endpoints->sealed)
		return STATUS_REFUSED;
	if (status != STATUS_OK)
		return status;
	if (endpoints->count == LIMIT_ERRAND_ENDPOINTS)
		return STATUS_FULL;
	entry.url = strdup(endpoint->url);
	if (entry.roots_length > 0)
		entry.roots = malloc(entry.roots_length);
	if (entry.url == NULL ||
	    (entry.roots_length > 0 && entry.roots == NULL)) {
		free(entry.url);
		free(entry.roots);
		return STATUS_NO_MEMORY;
	}
	if (entry.roots_length > 0)
		memcpy(entry.roots, endpoint->roots.at, entry.roots_length);
	endpoints->entries[endpoints->count++] = entry;
	return STATUS_OK;
}

void
endpoints_seal(struct endpoints *endpoints)
{
	endpoints->sealed = true;
}

const struct endpoint_entry *
endpoints_at(const struct endpoints *endpoints, size_t place)
{
	if (!endpoints->sealed || place >= endpoints->count)
		return NULL;
	return &endpoints->entries[place];
}

void
endpoints_done(struct endpoints *endpoints)
{
	for (size_t i = 0; i < endpoints->count; i++) {
		free(endpoints->entries[i].url);
		free(endpoints->entries[i].roots);
	}
	endpoints->count = 0;
}
