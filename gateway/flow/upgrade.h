/*
 * upgrade - the proof that HTTP/1.1 wants of a WebSocket handshake (RFC 6455
 * section 4), for clients of HTTP/2, where there is none (RFC 8441).
 */
#ifndef GATEWAY_FLOW_UPGRADE_H
#define GATEWAY_FLOW_UPGRADE_H

#include "schema/attr.h"
#include "schema/cursor.h"

#define UPGRADE_KEY 25 /* with its NUL */

/* A new key; STATUS_SYSTEM when there is no randomness. */
int upgrade_key(char ret[UPGRADE_KEY]) MUST_CHECK;

/* Whether a server that was given this key answers so. */
bool upgrade_is_proven(const char *key, struct cursor accept);

#endif
