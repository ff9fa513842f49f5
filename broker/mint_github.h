/*
 * mint_github - tokens of a GitHub App's installation.
 *
 * Repositories and permissions are always sent: without them a token has all
 * that the installation has.  It lives an hour, and is taken back when the run
 * ends.  The API takes it as a bearer token; git over HTTPS, at any host that
 * is not an API's, in Basic.
 */
#ifndef BROKER_MINT_GITHUB_H
#define BROKER_MINT_GITHUB_H

#include "broker/mint.h"

extern const struct mint mint_github_app;

#endif
