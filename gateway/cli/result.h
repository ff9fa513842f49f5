/*
 * result - how a run ended, as a launcher tells it and as a file keeps it.
 *
 * Exit codes of the command and of Exeat overlap by nature; the result
 * settles what they leave open.
 */
#ifndef GATEWAY_CLI_RESULT_H
#define GATEWAY_CLI_RESULT_H

#include "schema/problem.h"

#include <stdbool.h>
#include <stdint.h>

struct event_closed;
struct harvest;

/* An empty one is all zeroes: nothing was said. */
struct result {
	char end[32]; /* exited, signaled, timeout, launch_failed ... */
	char *text; /* the launcher's JSON object */
	char *packets; /* what of it says which packets were refused; or NULL */
};

/* STATUS_NOT_FOUND when nothing was written, STATUS_MALFORMED otherwise. */
int result_read(int fd, struct result *ret) MUST_CHECK;
void result_done(struct result *result);

/* What only the parent of all knows about a run. */
struct result_run {
	const char *uid, *database;
	int code;
	const struct event_closed *counts; /* NULL: not known */
	const struct harvest *harvest; /* NULL: not known */
	const struct problem *problem; /* NULL: nothing of ours failed */
};

/*
 * Writes the launcher's object, and what the parent knows, into an open file;
 * what it held before is gone.
 */
int result_write(int fd, const struct result *result,
    const struct result_run *run, struct problem *reterr) MUST_CHECK;

#endif
