/*
 * trust - the certificates the sandbox believes in, laid where programs look.
 *
 * One bundle: the machine's roots and the run's own authority, as the gateway
 * gave it.  It is copied, so that nobody changes it later.  The files are for
 * what reads no variable (GnuTLS, apt, git on Debian); the variables of
 * gateway/launch/environment name the same bundle.
 */
#ifndef GATEWAY_LAUNCH_TRUST_H
#define GATEWAY_LAUNCH_TRUST_H

#include "schema/attr.h"
#include "schema/problem.h"

#define TRUST_BUNDLE "/etc/ssl/certs/ca-certificates.crt"
#define TRUST_DIRECTORY "/etc/ssl/certs"

struct mounts;

/* Borrows bundle, a file that can be read at an offset. */
int trust_lay(struct mounts *mounts, int bundle, struct problem *reterr)
    MUST_CHECK;

#endif
