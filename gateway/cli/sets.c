#include "gateway/cli/sets.h"

#include "gateway/cli/toolrc.h"
#include "schema/cursor.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 4096

/* One set while it is gathered. */
struct gathering {
	struct sets *sets;
	sets_writable *writable;
	const void *arg;
	const char *home; /* "" when there is none */
	bool no_memory;
};

static void
add_host(struct gathering *g, const struct sets_host *host)
{
	struct sets *sets = g->sets;

	for (size_t i = 0; i < sets->count; i++)
		if (hostname_equals(&sets->hosts[i].name, &host->name) &&
		    sets->hosts[i].port == host->port)
			return;
	if (sets->count == sets->room) {
		size_t room = sets->room == 0 ? 8 : 2 * sets->room;
		struct sets_host *hosts =
		    room > LIMIT_SET_HOSTS
			? NULL
			: reallocarray(sets->hosts, room, sizeof(*hosts));

		if (hosts == NULL) {
			g->no_memory = true;
			return;
		}
		sets->hosts = hosts;
		sets->room = room;
	}
	sets->hosts[sets->count++] = *host;
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
add_url(struct gathering *g, struct cursor url)
{
	struct sets_host host = { .port = 0 };
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
		add_host(g, &host);
}

static void
add_words(struct gathering *g, struct cursor text)
{
	struct cursor word;

	while (toolrc_word(&text, &word))
		add_url(g, word);
}

/* Reads one file and gives its text to a reader of that tool's format. */
typedef void file_reader(struct gathering *g, struct cursor text);

static void
read_file(struct gathering *g, const char *path, file_reader *reader)
{
	struct cursor text;
	char *owned;

	if (path[0] != '/' ||
	    (g->writable != NULL && g->writable(path, g->arg)))
		return;
	owned = toolrc_read(path, &text);
	if (owned == NULL)
		return;
	reader(g, text);
	free(owned);
}

/* A pattern for files, with "~" for the user's own folder. */
static void
read_files(struct gathering *g, const char *pattern, file_reader *reader)
{
	char path[PATH_SIZE];
	bool home = pattern[0] == '~';
	glob_t found = { 0 };

	if (home && g->home[0] != '/')
		return;
	if (snprintf(path, sizeof(path), "%s%s", home ? g->home : "",
		pattern + home) >= (int)sizeof(path))
		return;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	if (glob(path, GLOB_NOSORT, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			read_file(g, found.gl_pathv[i], reader);
	globfree(&found);
}

static void
read_lists(
    struct gathering *g, const char *const *patterns, file_reader *reader)
{
	for (size_t i = 0; patterns[i] != NULL; i++)
		read_files(g, patterns[i], reader);
}

/* "deb [ options ] URI suite component..." */
static void
read_apt_list(struct gathering *g, struct cursor text)
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
			add_url(g, word);
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
read_stanza(struct gathering *g, struct cursor stanza)
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
			add_words(g, line);
	}
}

/* deb822: stanzas with an empty line between them. */
static void
read_apt_sources(struct gathering *g, struct cursor text)
{
	struct cursor line, word;

	while (!cursor_is_empty(&text)) {
		struct cursor stanza = text;

		while (toolrc_line(&text, &line) && toolrc_word(&line, &word))
			;
		stanza.left -= text.left;
		read_stanza(g, stanza);
	}
}

static void
read_apt(struct gathering *g)
{
	read_files(g, "/etc/apt/sources.list", read_apt_list);
	read_files(g, "/etc/apt/sources.list.d/*.list", read_apt_list);
	read_files(g, "/etc/apt/sources.list.d/*.sources", read_apt_sources);
}

static bool
ends_with(struct cursor text, const char *end)
{
	size_t length = strlen(end);

	return text.left >= length &&
	       memcmp(text.at + text.left - length, end, length) == 0;
}

/* "registry=URL", "@scope:registry=URL" */
static void
read_npmrc(struct gathering *g, struct cursor text)
{
	struct cursor line, key, value;

	while (toolrc_line(&text, &line)) {
		if (!toolrc_pair(line, &key, &value) || key.left == 0 ||
		    strchr(";#", key.at[0]) != NULL)
			continue;
		if (cursor_equals(key, "registry") ||
		    ends_with(key, ":registry"))
			add_url(g, value);
	}
}

/* The first quoted text behind the words that lead to it. */
static void
add_quoted(struct gathering *g, struct cursor text, const char *behind)
{
	struct cursor url;

	if (toolrc_find(&text, behind) && toolrc_find(&text, "'") &&
	    cursor_until(&text, '\'', &url))
		add_url(g, url);
}

static void
read_npm_default(struct gathering *g, struct cursor text)
{
	if (toolrc_find(&text, "Definition('registry'"))
		add_quoted(g, text, "default:");
}

static void
add_variable(struct gathering *g, const char *name)
{
	const char *value = secure_getenv(name);

	if (value != NULL)
		add_words(g, cursor_of_text(value));
}

#define NPM_DEFINITIONS \
	"/node_modules/@npmcli/config/lib/definitions/definitions.js"

static void
read_npm(struct gathering *g)
{
	static const char *const files[] = { "/etc/npmrc", "/usr/etc/npmrc",
		"/usr/local/etc/npmrc", "/usr/lib/node_modules/npm/npmrc",
		"/usr/local/lib/node_modules/npm/npmrc",
		"/usr/share/nodejs/npm/npmrc", "~/.npmrc", NULL };
	static const char *const defaults[] = {
		"/usr/lib/node_modules/npm" NPM_DEFINITIONS,
		"/usr/local/lib/node_modules/npm" NPM_DEFINITIONS,
		"/usr/share/nodejs/@npmcli/config/lib/definitions/"
		"definitions.js",
		"/usr/share/nodejs/npm/lib/utils/config/definitions.js",
		"~/.nvm/versions/node/*/lib/node_modules/npm" NPM_DEFINITIONS,
		NULL
	};

	read_lists(g, files, read_npmrc);
	add_variable(g, "npm_config_registry");
	add_variable(g, "NPM_CONFIG_REGISTRY");
	if (g->sets->count == 0)
		read_lists(g, defaults, read_npm_default);
}

/* A value goes on in lines that begin with a blank. */
static void
read_pip_conf(struct gathering *g, struct cursor text)
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
				add_words(g, line);
			continue;
		}
		if (!toolrc_pair(line, &key, &value))
			continue;
		inside = cursor_equals(key, "index-url") ||
			 cursor_equals(key, "extra-index-url") ||
			 cursor_equals(key, "find-links");
		if (inside)
			add_words(g, value);
	}
}

/* PackageIndex("URL", file_storage_domain="host") */
static void
read_pip_default(struct gathering *g, struct cursor text)
{
	struct sets_host files = { .port = 0 };
	struct cursor url, host;

	if (!toolrc_find(&text, "PyPI = PackageIndex(") ||
	    !toolrc_find(&text, "\"") || !cursor_until(&text, '"', &url))
		return;
	add_url(g, url);
	if (toolrc_find(&text, "file_storage_domain=\"") &&
	    cursor_until(&text, '"', &host) &&
	    hostname_parse((const char *)host.at, host.left, &files.name) ==
		STATUS_OK)
		add_host(g, &files);
}

#define PIP_INDEX "/pip/_internal/models/index.py"

static void
read_pip(struct gathering *g)
{
	static const char *const files[] = { "/etc/pip.conf",
		"/etc/xdg/pip/pip.conf", "~/.pip/pip.conf",
		"~/.config/pip/pip.conf", NULL };
	static const char *const defaults[] = {
		"/usr/lib/python3/dist-packages" PIP_INDEX,
		"/usr/lib/python3*/site-packages" PIP_INDEX,
		"/usr/local/lib/python3*/*-packages" PIP_INDEX,
		"~/.local/lib/python3*/site-packages" PIP_INDEX,
		"~/.pyenv/versions/*/lib/python3*/site-packages" PIP_INDEX, NULL
	};

	read_lists(g, files, read_pip_conf);
	add_variable(g, "PIP_INDEX_URL");
	add_variable(g, "PIP_EXTRA_INDEX_URL");
	if (g->sets->count == 0)
		read_lists(g, defaults, read_pip_default);
}

/* [registries.x] index = "sparse+URL", [source.x] registry = "URL" */
static void
read_cargo_toml(struct gathering *g, struct cursor text)
{
	struct cursor line, key, value;

	while (toolrc_line(&text, &line))
		if (toolrc_pair(line, &key, &value) &&
		    (cursor_equals(key, "index") ||
			cursor_equals(key, "registry")))
			add_url(g, value);
}

static void
read_cargo(struct gathering *g)
{
	static const char *const files[] = { "~/.cargo/config.toml",
		"~/.cargo/config", "/etc/cargo/config.toml", NULL };

	read_lists(g, files, read_cargo_toml);
	add_variable(g, "CARGO_REGISTRIES_CRATES_IO_INDEX");
}

/* URLs with "," or "|" between them, and words such as "direct". */
static void
add_go_proxies(struct gathering *g, struct cursor text)
{
	while (!cursor_is_empty(&text)) {
		struct cursor one = cursor_of(text.at, 0);
		uint8_t byte;

		while (cursor_u8(&text, &byte) && byte != ',' && byte != '|')
			one.left++;
		add_url(g, one);
	}
}

/* "name", "name key" or "name key URL" */
static void
add_go_sumdb(struct gathering *g, struct cursor text)
{
	struct sets_host host = { .port = 0 };
	struct cursor name, rest = text;

	if (!toolrc_word(&rest, &name) || cursor_equals(name, "off"))
		return;
	add_words(g, rest);
	if (hostname_parse((const char *)name.at, name.left, &host.name) ==
	    STATUS_OK)
		add_host(g, &host);
}

static void
read_go_env(struct gathering *g, struct cursor text)
{
	struct cursor line, key, value;

	while (toolrc_line(&text, &line)) {
		if (!toolrc_pair(line, &key, &value))
			continue;
		if (cursor_equals(key, "GOPROXY"))
			add_go_proxies(g, value);
		else if (cursor_equals(key, "GOSUMDB"))
			add_go_sumdb(g, value);
	}
}

static void
read_go(struct gathering *g)
{
	static const char *const files[] = { "~/.config/go/env", NULL };
	static const char *const defaults[] = { "/usr/lib/go/go.env",
		"/usr/lib/go-*/go.env", "/usr/share/go-*/go.env",
		"/usr/local/go/go.env", NULL };
	const char *proxy = secure_getenv("GOPROXY");

	read_lists(g, files, read_go_env);
	if (proxy != NULL)
		add_go_proxies(g, cursor_of_text(proxy));
	if (g->sets->count == 0)
		read_lists(g, defaults, read_go_env);
}

struct tool {
	const char *name;
	void (*read)(struct gathering *g);
	const char *cure; /* where no host is found */
};

static const struct tool tools[] = {
	{ "@apt", read_apt, "name a mirror in /etc/apt/sources.list" },
	{ "@cargo", read_cargo,
	    "name a registry in ~/.cargo/config.toml, or write the hosts into "
	    "the rule: cargo's own choice is built into the program" },
	{ "@go", read_go, "set one with: go env -w GOPROXY=https://…" },
	{ "@npm", read_npm,
	    "set one with: npm config set --location=user registry https://…" },
	{ "@pip", read_pip,
	    "set one with: pip config --user set global.index-url https://…" },
};

static const struct tool *
find_tool(const char *name)
{
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}

bool
sets_is_known(const char *name)
{
	return find_tool(name) != NULL;
}

static int
compare_hosts(const void *a, const void *b)
{
	const struct sets_host *x = a, *y = b;
	int order = strcmp(x->name.text, y->name.text);

	return order != 0 ? order : (int)x->port - (int)y->port;
}

int
sets_of(const char *name, sets_writable *writable, const void *arg,
    struct sets *ret, struct problem *reterr)
{
	const struct tool *tool = find_tool(name);
	const char *home = secure_getenv("HOME");
	struct sets sets = { 0 };
	struct gathering g = { .sets = &sets,
		.writable = writable,
		.arg = arg,
		.home = home == NULL ? "" : home };

	if (tool == NULL)
		return problem_set(reterr, "there is no set \"%s\"", name);
	tool->read(&g);
	if (g.no_memory) {
		sets_done(&sets);
		return problem_set(
		    reterr, "there are too many hosts in \"%s\"", name);
	}
	if (sets.count == 0) {
		(void)problem_set(reterr,
		    "the set \"%s\" is empty: no configuration of the system "
		    "or of the user names a host for it",
		    name);
		return problem_cure(reterr, "%s", tool->cure);
	}
	qsort(sets.hosts, sets.count, sizeof(*sets.hosts), compare_hosts);
	*ret = sets;
	return STATUS_OK;
}

void
sets_done(struct sets *sets)
{
	if (sets == NULL)
		return;
	free(sets->hosts);
	memset(sets, 0, sizeof(*sets));
}
