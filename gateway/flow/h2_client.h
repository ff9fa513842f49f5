/*
 * h2_client - HTTP/2 facing the internet: a client leg for each exchange,
 * many beside one another on one connection.
 *
 * A GOAWAY takes no stream away that the server has looked at; those that it
 * has not are told so, and may be tried on another connection.
 */
#ifndef GATEWAY_FLOW_H2_CLIENT_H
#define GATEWAY_FLOW_H2_CLIENT_H

#include "schema/attr.h"

struct carrier;
struct plane;
struct stream;

/* A connection for carriers_add(); takes stream, also on failure. */
struct carrier *h2_client_new(struct plane *plane, struct stream *stream)
    MUST_CHECK;

#endif
