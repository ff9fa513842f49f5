/*
 * send_in - a command into a running sandbox, with our standard descriptors,
 * until it has ended.
 *
 * It never holds our terminal or our files: it has a terminal of its own, or
 * pipes, as the run's own command has.
 */
#ifndef GATEWAY_CLI_SEND_IN_H
#define GATEWAY_CLI_SEND_IN_H

#include "schema/attr.h"
#include "schema/problem.h"

struct settings;

struct send_in {
	const char *run, *cwd; /* an empty cwd is the run's */
	char **argv; /* ends in NULL; at least one */
};

int send_in(const struct send_in *order, const struct settings *settings,
    unsigned *ret_code, struct problem *reterr) MUST_CHECK;

#endif
