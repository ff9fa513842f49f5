/*
 * h2_tail - a message's trailers, kept until its body is through.
 */
#ifndef GATEWAY_FLOW_H2_TAIL_H
#define GATEWAY_FLOW_H2_TAIL_H

#include "gateway/proto/header.h"
#include "schema/attr.h"

/* In one piece of memory: free() is enough. */
struct h2_tail {
	struct header header;
	unsigned char bytes[]; /* that header's cursors point into */
};

/* A copy; NULL: no memory. */
struct h2_tail *h2_tail_new(const struct header *trailers) MUST_CHECK;

#endif
