/*
 * head - what the heads of HTTP/1 and HTTP/2 have in common: one reading of
 * methods, targets, lengths and trailers, whatever they came in.
 *
 * For http1 and http2 only.  Outputs are written on HEAD_FAULT_NONE only.
 */
#ifndef GATEWAY_PROTO_HEAD_H
#define GATEWAY_PROTO_HEAD_H

#include "gateway/proto/head_fault.h"
#include "gateway/proto/request.h"

/* A token of usual length in upper case, and no CONNECT. */
enum head_fault head_method(struct cursor method, struct request *request);

/* Whether a target has the bytes that one may have, and is not too long. */
enum head_fault head_target_text(struct cursor target);

/* "/path?query", or "*" for OPTIONS; its text was found good. */
enum head_fault head_target(struct cursor target, struct request *request);

/* Splits "path?query"; a path that was left out is "/". */
void head_split(struct cursor text, struct request *request);

/* One Content-Length or none; with one, body becomes MESSAGE_LENGTH. */
enum head_fault head_length(
    const struct header *header, struct message_body *body);

/* RFC 9110 section 6.5.1, and what a credential could be smuggled in. */
bool head_may_trail(struct cursor name);

#endif
