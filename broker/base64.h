/*
 * base64 - RFC 4648 section 4, with padding: what Basic is written in.
 */
#ifndef BROKER_BASE64_H
#define BROKER_BASE64_H

#include "schema/cursor.h"

struct secret;

void base64_write(struct cursor bytes, struct cursor_writer *out);

/* In locked memory; NULL without memory. */
struct secret *base64_encode(struct cursor bytes) MUST_CHECK;

/* NULL for what is not written so, or without memory. */
struct secret *base64_decode(struct cursor text) MUST_CHECK;

#endif
