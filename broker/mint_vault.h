/*
 * mint_vault - one secret of a Vault or OpenBao: login by a JWT, read it, give
 * the login back.
 *
 * It is granted in the field "header" (x-api-key, say), or as a bearer token.
 */
#ifndef BROKER_MINT_VAULT_H
#define BROKER_MINT_VAULT_H

#include "broker/mint.h"

extern const struct mint mint_vault;

#endif
