#include "gateway/cli/sets.h"

#include "gateway/cli/abspath.h"
#include "gateway/cli/toolrc.h"
#include "schema/cursor.h"
#include "schema/status.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_SIZE 4096

/* One set while it is gathered. */
struct gathering {
	struct toolhosts *hosts;
	sets_writable *writable;
	const void *arg;
	const char *home; /* "" when there is none */
};

static void
read_file(struct gathering *g, const char *path, toolhosts_reader *reader)
{
	struct abspath place;
	struct cursor text;
	char *owned;

	/* A link may lead into the workspace. */
	if (abspath_of(path, false, &place, NULL) != STATUS_OK ||
	    (g->writable != NULL && g->writable(place.path, g->arg)))
		return;
	owned = toolrc_read(place.path, &text);
	if (owned == NULL)
		return;
	reader(g->hosts, text);
	free(owned);
}

/* A pattern for files, with "~" for the user's own folder. */
static void
read_files(struct gathering *g, const char *pattern, toolhosts_reader *reader)
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
    struct gathering *g, const char *const *patterns, toolhosts_reader *reader)
{
	for (size_t i = 0; patterns[i] != NULL; i++)
		read_files(g, patterns[i], reader);
}

static void
read_apt(struct gathering *g)
{
	read_files(g, "/etc/apt/sources.list", toolhosts_apt_list);
	read_files(g, "/etc/apt/sources.list.d/*.list", toolhosts_apt_list);
	read_files(
	    g, "/etc/apt/sources.list.d/*.sources", toolhosts_apt_sources);
}

static void
add_variable(struct gathering *g, const char *name)
{
	const char *value = secure_getenv(name);

	if (value != NULL)
		toolhosts_words(g->hosts, cursor_of_text(value));
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

	read_lists(g, files, toolhosts_npmrc);
	add_variable(g, "npm_config_registry");
	add_variable(g, "NPM_CONFIG_REGISTRY");
	if (g->hosts->count == 0)
		read_lists(g, defaults, toolhosts_npm_default);
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

	read_lists(g, files, toolhosts_pip_conf);
	add_variable(g, "PIP_INDEX_URL");
	add_variable(g, "PIP_EXTRA_INDEX_URL");
	if (g->hosts->count == 0)
		read_lists(g, defaults, toolhosts_pip_default);
}

static void
read_cargo(struct gathering *g)
{
	static const char *const files[] = { "~/.cargo/config.toml",
		"~/.cargo/config", "/etc/cargo/config.toml", NULL };

	read_lists(g, files, toolhosts_cargo_toml);
	add_variable(g, "CARGO_REGISTRIES_CRATES_IO_INDEX");
}

static void
read_go(struct gathering *g)
{
	static const char *const files[] = { "~/.config/go/env", NULL };
	static const char *const defaults[] = { "/usr/lib/go/go.env",
		"/usr/lib/go-*/go.env", "/usr/share/go-*/go.env",
		"/usr/local/go/go.env", NULL };
	const char *proxy = secure_getenv("GOPROXY");

	read_lists(g, files, toolhosts_go_env);
	if (proxy != NULL)
		toolhosts_go_proxies(g->hosts, cursor_of_text(proxy));
	if (g->hosts->count == 0)
		read_lists(g, defaults, toolhosts_go_env);
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

int
sets_of(const char *name, sets_writable *writable, const void *arg,
    struct toolhosts *ret, struct problem *reterr)
{
	const struct tool *tool = find_tool(name);
	const char *home = secure_getenv("HOME");
	struct toolhosts hosts = { 0 };
	struct gathering g = { .hosts = &hosts,
		.writable = writable,
		.arg = arg,
		.home = home == NULL ? "" : home };

	if (tool == NULL)
		return problem_set(reterr, "there is no set \"%s\"", name);
	tool->read(&g);
	if (hosts.incomplete) {
		toolhosts_done(&hosts);
		return problem_set(
		    reterr, "there are too many hosts in \"%s\"", name);
	}
	if (hosts.count == 0) {
		(void)problem_set(reterr,
		    "the set \"%s\" is empty: no configuration of the system "
		    "or of the user names a host for it",
		    name);
		return problem_cure(reterr, "%s", tool->cure);
	}
	toolhosts_sort(&hosts);
	*ret = hosts;
	return STATUS_OK;
}
