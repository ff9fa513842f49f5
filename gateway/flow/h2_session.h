/*
 * h2_session - what nghttp2 tells of a connection: frames, heads, pieces of
 * bodies, and how often the peer does what costs us and brings it nothing.
 *
 * Heads are not nghttp2's to judge: their fields are gathered, and read by
 * proto/http2.
 */
#ifndef GATEWAY_FLOW_H2_SESSION_H
#define GATEWAY_FLOW_H2_SESSION_H

#include "schema/attr.h"

struct h2;

/* Makes h2->session and its settings; STATUS_NO_MEMORY, maybe half made. */
int h2_session_open(struct h2 *h2) MUST_CHECK;

#endif
