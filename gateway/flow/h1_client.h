/*
 * h1_client - HTTP/1.1 facing the internet: the client leg of an exchange.
 *
 * Serves one exchange after another on one connection.  What comes between
 * exchanges, or behind an answer, belongs to nobody: the connection is not
 * used again.
 */
#ifndef GATEWAY_FLOW_H1_CLIENT_H
#define GATEWAY_FLOW_H1_CLIENT_H

#include "schema/attr.h"

struct carrier;
struct plane;
struct stream;

/*
 * A connection of its own for carriers_add(); takes stream, also on failure.
 */
struct carrier *h1_client_new(struct plane *plane, struct stream *stream)
    MUST_CHECK;

#endif
