/*
 * toolhosts - the hosts that the configuration of a package tool names.
 *
 * One reader for each format.  What does not read as that tool would read it
 * names nobody; a literal address is no name and needs a rule of its own.
 */
#ifndef GATEWAY_CLI_TOOLHOSTS_H
#define GATEWAY_CLI_TOOLHOSTS_H

#include "schema/cursor.h"
#include "schema/hostname.h"

struct toolhost {
	struct hostname name;
	uint16_t port; /* 0: the one that its scheme has */
};

/* Each once; all zeroes is an empty one. */
struct toolhosts {
	struct toolhost *list;
	size_t count, room;
	bool incomplete; /* there was no room or no memory for one */
};

void toolhosts_done(struct toolhosts *hosts);
void toolhosts_sort(struct toolhosts *hosts);

/* Adds the hosts that text names. */
typedef void toolhosts_reader(struct toolhosts *hosts, struct cursor text);

toolhosts_reader toolhosts_words; /* URLs with blanks between them */
toolhosts_reader toolhosts_apt_list; /* sources.list */
toolhosts_reader toolhosts_apt_sources; /* *.sources */
toolhosts_reader toolhosts_npmrc;
toolhosts_reader toolhosts_npm_default; /* npm's own definitions.js */
toolhosts_reader toolhosts_pip_conf;
toolhosts_reader toolhosts_pip_default; /* pip's own models/index.py */
toolhosts_reader toolhosts_cargo_toml;
toolhosts_reader toolhosts_go_env;
toolhosts_reader toolhosts_go_proxies; /* the value of GOPROXY */

#endif
