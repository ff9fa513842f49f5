/*
 * provision - opens what a broker wants of its parent.
 *
 * The broker opens no path itself; and only here it is known what a sandbox
 * can see.  A file that it could read, or change, is refused: the secret in
 * it would be none.  Nothing of what is opened is read here, but a variable
 * of the environment, which is where it stands.
 */
#ifndef GATEWAY_CLI_PROVISION_H
#define GATEWAY_CLI_PROVISION_H

#include "gateway/cli/abspath.h"
#include "schema/brokerage.h"

struct task;

struct provision {
	struct abspath file; /* the credential file */
	int fd; /* open on it, or -1 */
	const struct task *task; /* NULL: there is no sandbox */
};

/* Opens the credential file; provision_done() is due in any case. */
int provision_open(struct provision *ret, const char *path,
    const struct task *task, struct problem *reterr) MUST_CHECK;
void provision_done(struct provision *provision);

/* Gives a descriptor from which the secret can be read. */
int provision_get(const struct provision *provision,
    const struct brokerage_want *want, int *ret_fd, struct problem *reterr)
    MUST_CHECK;

/*
 * Gives the folder in which a broker keeps what outlives the run, made if it
 * is not there; it must be ours alone, and out of the sandbox's sight.
 */
int provision_folder(const struct provision *provision, const char *path,
    int *ret_fd, struct problem *reterr) MUST_CHECK;

#endif
