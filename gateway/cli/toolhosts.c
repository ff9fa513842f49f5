#include "gateway/cli/toolhosts.h"

#include "gateway/cli/toolrc.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

static void
add_host(struct toolhosts *hosts, const struct toolhost *host)
{
	for (size_t i = 0; i < hosts->count; i++)
		if (hostname_equals(&hosts->list[i].name, &host->name) &&
		    hosts->list[i].port == host->port)
			return;
	if (hosts->count == hosts->room) {
		size_t room = hosts->room == 0 ? 8 : 2 * hosts->room;
		struct toolhost *list = NULL;

		if (room <= LIMIT_SET_HOSTS)
			list = reallocarray(hosts->list, room, sizeof(*list));
		if (list == NULL) {
			hosts->incomplete = true;
			return;
		}
		hosts->list = list;
		hosts->room = room;
	}
	hosts->list[hosts->count++] = *host;
}

/* What stands before the path of a URL, and without a user. */
static struct cursor
authority_of(struct cursor url)
{
	struct cursor authority = cursor_of(url.at, 0), user;
	uint8_t byte;

	while (cursor_peek(&url, &byte) && strchr("/?#", byte) == NULL &&
	       cursor_skip(&url, 1))
		authority.left++;
	while (cursor_until(&authority, '@', &user))
		;
	return authority;
}

/*
 * Adds the host of "https://host/", whatever stands before "http", as in
 * "mirror+https" and "sparse+https".  A literal address is no name: it needs
 * a rule with "address".
 */
static void
add_url(struct toolhosts *hosts, struct cursor url)
{
	struct toolhost host = { .port = 0 };
	struct cursor scheme = url, authority, name;
	uint64_t port = 443, usual = 443;

	if (!toolrc_find(&url, "://"))
		return;
	scheme.left -= url.left;
	if (toolrc_find(&scheme, "http://"))
		port = usual = 80;
	else if (!toolrc_find(&scheme, "https://"))
		return;
	authority = authority_of(url);
	if (!cursor_until(&authority, ':', &name)) {
		name = authority;
		authority.left = 0;
	}
	if (!cursor_is_empty(&authority) &&
	    !cursor_decimal(&authority, UINT16_MAX, &port))
		return;
	host.port = port == usual ? 0 : (uint16_t)port;
	if (hostname_parse((const char *)name.at, name.left, &host.name) ==
	    STATUS_OK)
		add_host(hosts, &host);
}

void
toolhosts_words(struct toolhosts *hosts, struct cursor text)
{
	struct cursor word;

	while (toolrc_word(&text, &word))
		add_url(hosts, word);
}

/* "deb [ options ] URI suite component..." */
void
toolhosts_apt_list(struct toolhosts *hosts, struct cursor text)
{
	struct cursor line, word, rest;

	while (toolrc_line(&text, &line)) {
		if (cursor_until(&line, '#', &rest))
			line = rest;
		if (!toolrc_word(&line, &word) ||
		    (!cursor_equals(word, "deb") &&
			!cursor_equals(word, "deb-src")))
			continue;
		rest = line;
		if (toolrc_word(&rest, &word) && word.at[0] == '[' &&
		    !cursor_until(&line, ']', &rest))
			continue;
		if (toolrc_word(&line, &word))
			add_url(hosts, word);
	}
}

static bool
is_disabled(struct cursor stanza)
{
	struct cursor line, word;

	while (toolrc_line(&stanza, &line)) {
		if (!cursor_literal(&line, "Enabled:"))
			continue;
		return toolrc_word(&line, &word) && cursor_equals(word, "no");
	}
	return false;
}

/* The field's value goes on in lines that begin with a blank. */
static void
read_stanza(struct toolhosts *hosts, struct cursor stanza)
{
	struct cursor line;
	bool inside = false;

	if (is_disabled(stanza))
		return;
	while (toolrc_line(&stanza, &line)) {
		uint8_t first = 0;

		if (cursor_peek(&line, &first) && first == '#')
			continue;
		if (first != ' ' && first != '\t')
			inside = cursor_literal(&line, "URIs:");
		if (inside)
			toolhosts_words(hosts, line);
	}
}

/* deb822: stanzas with an empty line between them. */
void
toolhosts_apt_sources(struct toolhosts *hosts, struct cursor text)
{
	struct cursor line, word;

	while (!cursor_is_empty(&text)) {
		struct cursor stanza = text;

		while (toolrc_line(&text, &line) && toolrc_word(&line, &word))
			;
		stanza.left -= text.left;
		read_stanza(hosts, stanza);
	}
}

static bool
ends_with(struct cursor text, const char *end)
{
	size_t length = strlen(end);

	return text.left >= length &&
	       memcmp(text.at + text.left - length, end, length) == 0;
}

/* "registry=URL", "@scope:registry=URL" */
void
toolhosts_npmrc(struct toolhosts *hosts, struct cursor text)
{
	struct cursor line, key, value;

	while (toolrc_line(&text, &line)) {
		if (!toolrc_pair(line, &key, &value) || key.left == 0 ||
		    strchr(";#", key.at[0]) != NULL)
			continue;
		if (cursor_equals(key, "registry") ||
		    ends_with(key, ":registry"))
			add_url(hosts, value);
	}
}

/* The first quoted text behind the words that lead to it. */
static void
add_quoted(struct toolhosts *hosts, struct cursor text, const char *behind)
{
	struct cursor url;

	if (toolrc_find(&text, behind) && toolrc_find(&text, "'") &&
	    cursor_until(&text, '\'', &url))
		add_url(hosts, url);
}

void
toolhosts_npm_default(struct toolhosts *hosts, struct cursor text)
{
	if (toolrc_find(&text, "Definition('registry'"))
		add_quoted(hosts, text, "default:");
}

/* A value goes on in lines that begin with a blank. */
void
toolhosts_pip_conf(struct toolhosts *hosts, struct cursor text)
{
	struct cursor line, key, value;
	bool inside = false;

	while (toolrc_line(&text, &line)) {
		uint8_t first = 0;

		if (!cursor_peek(&line, &first) ||
		    strchr("#;[", first) != NULL) {
			inside = false;
			continue;
		}
		if (first == ' ' || first == '\t') {
			if (inside)
				toolhosts_words(hosts, line);
			continue;
		}
		if (!toolrc_pair(line, &key, &value))
			continue;
		inside = cursor_equals(key, "index-url") ||
			 cursor_equals(key, "extra-index-url") ||
			 cursor_equals(key, "find-links");
		if (inside)
			toolhosts_words(hosts, value);
	}
}

/* PackageIndex("URL", file_storage_domain="host") */
void
toolhosts_pip_default(struct toolhosts *hosts, struct cursor text)
{
	struct toolhost files = { .port = 0 };
	struct cursor url, host;

	if (!toolrc_find(&text, "PyPI = PackageIndex(") ||
	    !toolrc_find(&text, "\"") || !cursor_until(&text, '"', &url))
		return;
	add_url(hosts, url);
	if (toolrc_find(&text, "file_storage_domain=\"") &&
	    cursor_until(&text, '"', &host) &&
	    hostname_parse((const char *)host.at, host.left, &files.name) ==
		STATUS_OK)
		add_host(hosts, &files);
}

/* [registries.x] index = "sparse+URL", [source.x] registry = "URL" */
void
toolhosts_cargo_toml(struct toolhosts *hosts, struct cursor text)
{
	struct cursor line, key, value;

	while (toolrc_line(&text, &line))
		if (toolrc_pair(line, &key, &value) &&
		    (cursor_equals(key, "index") ||
			cursor_equals(key, "registry")))
			add_url(hosts, value);
}

/* URLs with "," or "|" between them, and words such as "direct". */
void
toolhosts_go_proxies(struct toolhosts *hosts, struct cursor text)
{
	while (!cursor_is_empty(&text)) {
		struct cursor one = cursor_of(text.at, 0);
		uint8_t byte;

		while (cursor_u8(&text, &byte) && byte != ',' && byte != '|')
			one.left++;
		add_url(hosts, one);
	}
}

/* "name", "name key" or "name key URL" */
static void
add_go_sumdb(struct toolhosts *hosts, struct cursor text)
{
	struct toolhost host = { .port = 0 };
	struct cursor name, rest = text;

	if (!toolrc_word(&rest, &name) || cursor_equals(name, "off"))
		return;
	toolhosts_words(hosts, rest);
	if (hostname_parse((const char *)name.at, name.left, &host.name) ==
	    STATUS_OK)
		add_host(hosts, &host);
}

void
toolhosts_go_env(struct toolhosts *hosts, struct cursor text)
{
	struct cursor line, key, value;

	while (toolrc_line(&text, &line)) {
		if (!toolrc_pair(line, &key, &value))
			continue;
		if (cursor_equals(key, "GOPROXY"))
			toolhosts_go_proxies(hosts, value);
		else if (cursor_equals(key, "GOSUMDB"))
			add_go_sumdb(hosts, value);
	}
}

static int
compare_hosts(const void *a, const void *b)
{
	const struct toolhost *x = a, *y = b;
	int order = strcmp(x->name.text, y->name.text);

	return order != 0 ? order : (int)x->port - (int)y->port;
}

void
toolhosts_sort(struct toolhosts *hosts)
{
	if (hosts->count > 1)
		qsort(hosts->list, hosts->count, sizeof(*hosts->list),
		    compare_hosts);
}

void
toolhosts_done(struct toolhosts *hosts)
{
	if (hosts == NULL)
		return;
	free(hosts->list);
	memset(hosts, 0, sizeof(*hosts));
}
