/*
 * session_cache - sessions with servers outside, by whom they are with, so
 * that the next handshake is short (RFC 8446 section 2.2).
 *
 * Holds LIMIT_SESSIONS at most; the one that was not used for longest goes
 * first.  Of one peer the newest is kept.
 */
#ifndef GATEWAY_TLS_SESSION_CACHE_H
#define GATEWAY_TLS_SESSION_CACHE_H

#include "schema/attr.h"

#include <stddef.h>

struct session_cache;
struct ssl_session_st;

struct session_cache *session_cache_new(void) MUST_CHECK;
void session_cache_free(struct session_cache *cache);

/* Takes session, and drops it when there is no memory to keep it. */
void session_cache_put(struct session_cache *cache, const char *peer,
    struct ssl_session_st *session);

/* Borrows from cache until the next put; NULL when there is none to resume. */
struct ssl_session_st *session_cache_get(
    struct session_cache *cache, const char *peer) MUST_CHECK;

size_t session_cache_count(const struct session_cache *cache);

#endif
