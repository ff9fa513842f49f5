/*
 * trust - the certificates the sandbox believes in, laid where programs look.
 *
 * One bundle: the machine's roots and the run's own authority, as the gateway
 * gave it, and the same as a Java key store.  They are copied, so that nobody
 * changes them later.  The files are for what reads no variable (GnuTLS, apt,
 * git on Debian, browsers); the variables of gateway/launch/environment name
 * the same ones.
 */
#ifndef GATEWAY_LAUNCH_TRUST_H
#define GATEWAY_LAUNCH_TRUST_H

#include "schema/attr.h"
#include "schema/handoff.h"
#include "schema/problem.h"

#include <stddef.h>

#define TRUST_BUNDLE "/etc/ssl/certs/ca-certificates.crt"
#define TRUST_DIRECTORY "/etc/ssl/certs"
#define TRUST_KEYSTORE "/etc/ssl/certs/java/cacerts"

struct mounts;

/* A file that is laid, and for whom. */
struct trust_place {
	const char *at, *reader;
};

/* In the order they are laid. */
const struct trust_place *trust_places(size_t *ret_count);

/* Borrows files that can be read at an offset. */
int trust_lay(struct mounts *mounts, const int trust[HANDOFF_TRUST_COUNT],
    struct problem *reterr) MUST_CHECK;

#endif
