/*
 * h1_client - HTTP/1.1 facing the internet: the client leg of an exchange.
 *
 * Serves one exchange after another on one connection.  What comes between
 * exchanges, or behind an answer, belongs to nobody: the connection is not
 * used again.
 */
#ifndef GATEWAY_FLOW_H1_CLIENT_H
#define GATEWAY_FLOW_H1_CLIENT_H

#include "gateway/flow/leg.h"

struct h1_client;
struct plane;
struct stream;

/* Takes stream, also on failure. */
struct h1_client *h1_client_new(struct plane *plane, struct stream *stream)
    MUST_CHECK;

/*
 * Closes, or resets if what it was doing is not whole; never inside one of
 * its own callbacks: the memory goes at the end of the tick.
 */
void h1_client_free(struct h1_client *client);

/* Its leg, if it can serve an exchange now; NULL otherwise. */
struct leg *h1_client_idle_leg(struct h1_client *client);

/* Its leg, fresh from connecting. */
struct leg *h1_client_leg(struct h1_client *client);

/* Whether it serves an exchange, or may serve another. */
bool h1_client_is_alive(const struct h1_client *client);

#endif
