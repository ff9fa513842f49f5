#include "gateway/net/nameservers.h"

#include "gateway/net/textfile.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <stdlib.h>

#define PORT 53

static bool
take_port(struct cursor text, uint16_t *ret)
{
	uint64_t port;

	if (!cursor_decimal(&text, UINT16_MAX, &port) || port == 0 ||
	    !cursor_is_empty(&text))
		return false;
	*ret = (uint16_t)port;
	return true;
}

static bool
take_address(struct cursor text, struct address *ret)
{
	return address_parse((const char *)text.at, text.left, ret) ==
	       STATUS_OK;
}

/* 192.0.2.1, 2001:db8::1, 192.0.2.1:5353 or [2001:db8::1]:5353. */
static bool
take_endpoint(struct cursor word, struct endpoint *ret)
{
	struct cursor rest = word, address;

	ret->port = PORT;
	if (take_address(word, &ret->address))
		return true;
	if (cursor_literal(&rest, "[")) {
		return cursor_until(&rest, ']', &address) &&
		       take_address(address, &ret->address) &&
		       cursor_literal(&rest, ":") &&
		       take_port(rest, &ret->port);
	}
	return cursor_until(&rest, ':', &address) &&
	       take_address(address, &ret->address) &&
	       take_port(rest, &ret->port);
}

struct nameservers
nameservers_of_text(struct cursor text)
{
	struct nameservers servers = { 0 };
	struct cursor line, word;

	while (
	    servers.count < LIMIT_NAMESERVERS && textfile_line(&text, &line)) {
		struct endpoint server;

		if (textfile_word(&line, &word) &&
		    cursor_equals(word, "nameserver") &&
		    textfile_word(&line, &word) && take_endpoint(word, &server))
			servers.list[servers.count++] = server;
	}
	if (servers.count == 0) {
		const uint8_t own[] = { 127, 0, 0, 1 };

		servers.list[servers.count].address = address_v4(own);
		servers.list[servers.count++].port = PORT;
	}
	return servers;
}

int
nameservers_read(
    const char *path, struct nameservers *ret, struct problem *reterr)
{
	char *text;
	size_t length;
	int status =
	    textfile_read(path, LIMIT_HOSTS_BYTES, &text, &length, reterr);

	if (status != STATUS_OK)
		return status;
	*ret = nameservers_of_text(cursor_of(text, length));
	free(text);
	return STATUS_OK;
}
