#include "broker/scope.h"

#include "schema/address.h"
#include "schema/cursor.h"
#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

enum {
	PORT_TLS = 443,
	PORT_CLEAR = 80
};

void
scope_done(struct scope *scope)
{
	free(STEAL(scope->entries));
	scope->count = 0;
}

/* What stands behind the host: nothing, or a colon and a port. */
static int
read_port(struct cursor rest, uint16_t *ret)
{
	uint64_t port = 0;

	if (!cursor_is_empty(&rest) &&
	    (!cursor_literal(&rest, ":") ||
		!cursor_decimal(&rest, UINT16_MAX, &port) || port == 0 ||
		!cursor_is_empty(&rest)))
		return STATUS_MALFORMED;
	*ret = (uint16_t)port;
	return STATUS_OK;
}

/* Takes what is the host, and leaves what follows it. */
static struct cursor
take_host(struct cursor *text)
{
	struct cursor host = { .left = 0 };
	struct cursor rest = *text;

	if (cursor_literal(&rest, "[")) {
		if (cursor_until(&rest, ']', &host))
			*text = rest;
		return host;
	}
	if (!cursor_until(&rest, ':', &host)) {
		host = *text;
		*text = cursor_of(text->at + text->left, 0);
		return host;
	}
	*text = cursor_of(host.at + host.left, text->left - host.left);
	return host;
}

static int
read_host(struct cursor text, struct scope_entry *entry)
{
	struct hostname name;
	struct address address;
	int status;

	entry->below = cursor_literal(&text, "*.");
	if (address_parse((const char *)text.at, text.left, &address) ==
	    STATUS_OK) {
		char printed[ADDRESS_TEXT_MAX];

		if (entry->below)
			return STATUS_MALFORMED;
		address_print(&address, printed);
		memcpy(entry->host, printed, strlen(printed) + 1);
		return STATUS_OK;
	}
	status = hostname_parse((const char *)text.at, text.left, &name);
	if (status == STATUS_OK)
		memcpy(entry->host, name.text, (size_t)name.length + 1);
	return status;
}

int
scope_add(struct scope *scope, const char *text)
{
	struct cursor rest = cursor_of_text(text), host;
	struct scope_entry entry = { .port = 0 };
	int status;

	if (scope->count == LIMIT_CREDENTIAL_HOSTS)
		return STATUS_FULL;
	host = take_host(&rest);
	status = read_host(host, &entry);
	if (status == STATUS_OK)
		status = read_port(rest, &entry.port);
	if (status != STATUS_OK)
		return STATUS_MALFORMED;
	if (scope->entries == NULL)
		scope->entries =
		    calloc(LIMIT_CREDENTIAL_HOSTS, sizeof(*scope->entries));
	if (scope->entries == NULL)
		return STATUS_NO_MEMORY;
	scope->entries[scope->count++] = entry;
	return STATUS_OK;
}

static bool
entry_admits(
    const struct scope_entry *entry, const char *host, uint16_t port, bool tls)
{
	size_t below = strlen(entry->host), length = strlen(host);
	uint16_t usual = tls ? PORT_TLS : PORT_CLEAR;

	if (port != (entry->port == 0 ? usual : entry->port))
		return false;
	if (!entry->below)
		return strcmp(host, entry->host) == 0;
	return length > below + 1 && host[length - below - 1] == '.' &&
	       strcmp(host + length - below, entry->host) == 0;
}

bool
scope_admits(
    const struct scope *scope, const char *host, uint16_t port, bool tls)
{
	for (size_t i = 0; i < scope->count; i++)
		if (entry_admits(&scope->entries[i], host, port, tls))
			return true;
	return false;
}
