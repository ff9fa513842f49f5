/*
 * settings - where things are when no option says so.
 *
 * Read once from the environment and the account that runs us: the XDG base
 * directories, the person's policy, the machine's ceiling, the audit
 * database.  An XDG variable that is not an absolute path is ignored, as its
 * specification asks.
 */
#ifndef GATEWAY_CLI_SETTINGS_H
#define GATEWAY_CLI_SETTINGS_H

#include "schema/limits.h"
#include "schema/problem.h"

#define SETTINGS_PATH_MAX 4096
#define SETTINGS_CEILINGS 2

struct settings {
	char user[LIMIT_PRINCIPAL + 1]; /* the account's name, or its number */
	char home[SETTINGS_PATH_MAX]; /* empty when there is none */
	char host[LIMIT_HOST + 1]; /* this machine's name */
	char policy[SETTINGS_PATH_MAX]; /* the person's; it may not exist */
	char audit[SETTINGS_PATH_MAX];
	char credentials[SETTINGS_PATH_MAX]; /* it may not exist */
	char kept[SETTINGS_PATH_MAX]; /* folder of tokens that were renewed */
	char templates[SETTINGS_PATH_MAX]; /* folder of task templates */
	char runs[SETTINGS_PATH_MAX]; /* folder of the runs under way */
	char files[SETTINGS_PATH_MAX]; /* and of what they wrote */
	/* Policies over every run: the machine's, and EXEAT_CEILING's. */
	char ceilings[SETTINGS_CEILINGS][SETTINGS_PATH_MAX];
	size_t ceiling_count;
};

int settings_read(struct settings *ret, struct problem *reterr) MUST_CHECK;

/*
 * Makes the folder of the default audit database and what lies above it,
 * open to nobody else; a folder that exists stays as it is.
 */
int settings_make_folder(const char *file, struct problem *reterr) MUST_CHECK;

#endif
