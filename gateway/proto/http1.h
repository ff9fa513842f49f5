/*
 * http1 - HTTP/1.0 and HTTP/1.1 heads, read strictly and written anew (RFC
 * 9112).
 *
 * What two readers could read differently is refused, never repaired; which
 * rule was broken is told, so that the refusal can say it.  What goes out is
 * written from the struct that was judged, never copied from what came in:
 * Host first and from the authority, one framing, the other fields in order.
 *
 * Pure.  A head must lie in one piece of memory, at most LIMIT_HTTP_HEAD
 * bytes; PARSE_MORE until its empty line is there.  What is already certain
 * to be wrong is refused before that.
 */
#ifndef GATEWAY_PROTO_HTTP1_H
#define GATEWAY_PROTO_HTTP1_H

#include "gateway/proto/head_fault.h"
#include "gateway/proto/request.h"
#include "gateway/proto/response.h"
#include "schema/status.h"

/*
 * Reads a request's head.  ret is written on PARSE_OK only, ret_fault on
 * PARSE_BAD only.
 */
enum parse_result http1_request_parse(struct cursor bytes, struct request *ret,
    enum head_fault *ret_fault) MUST_CHECK;

/*
 * The same for what is sent to a proxy: there CONNECT is meant, and its target
 * names host and port.
 */
enum parse_result http1_proxy_parse(struct cursor bytes, struct request *ret,
    enum head_fault *ret_fault) MUST_CHECK;

/* The same for a response to a request with this method. */
enum parse_result http1_response_parse(struct cursor bytes, const char *method,
    struct response *ret, enum head_fault *ret_fault) MUST_CHECK;

/* What is to become of the connection behind the message. */
enum http1_connection {
	HTTP1_KEEP, /* what HTTP/1.1 does unless told otherwise */
	HTTP1_CLOSE,
	HTTP1_UPGRADE /* to the message's upgrade token */
};

/*
 * Writes the head as HTTP/1.1 in origin-form ("*" stays).  path is the
 * canonical one that was judged; the query goes out as it was sent.
 * request->authority must be set.  Ask cursor_written() afterwards.
 */
void http1_request_write(const struct request *request, struct cursor path,
    enum http1_connection connection, struct cursor_writer *out);

/*
 * Writes the head as HTTP/1.1.  The caller has chosen a body that its reader
 * understands: no chunks for HTTP/1.0, and HTTP1_CLOSE with
 * MESSAGE_UNTIL_CLOSE.
 */
void http1_response_write(const struct response *response,
    enum http1_connection connection, struct cursor_writer *out);

#endif
