/*
 * mint_oauth - tokens from a token endpoint (RFC 6749, RFC 7523, RFC 8693).
 *
 * oauth2_client: client credentials, the client shown by its secret in Basic
 * or by an assertion that its key signs.  oauth2_refresh: a refresh token; a
 * new one that comes with the answer is on the disk before the access token is
 * used.  token_exchange: a token that the owner has, for one of a foreign
 * issuer's.  Each is granted as "Authorization: Bearer".
 */
#ifndef BROKER_MINT_OAUTH_H
#define BROKER_MINT_OAUTH_H

#include "broker/mint.h"

extern const struct mint mint_oauth2_client;
extern const struct mint mint_oauth2_refresh;
extern const struct mint mint_token_exchange;

#endif
