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

#include "gateway/proto/request.h"
#include "gateway/proto/response.h"
#include "schema/reason.h"
#include "schema/status.h"

enum http1_fault {
	HTTP1_NO_FAULT,
	HTTP1_LINE_END, /* a CR or LF that is not CR LF */
	HTTP1_CONTROL, /* NUL or another control character */
	HTTP1_START_LINE, /* does not read as one */
	HTTP1_METHOD, /* no token, too long, or in lower case */
	HTTP1_CONNECT,
	HTTP1_TARGET, /* of no form that its method may have */
	HTTP1_TARGET_LONG,
	HTTP1_VERSION, /* neither HTTP/1.0 nor HTTP/1.1; none is HTTP/0.9 */
	HTTP1_STATUS,
	HTTP1_HEAD_LONG,
	HTTP1_FIELDS, /* too many */
	HTTP1_FIELD_NAME,
	HTTP1_FIELD_SPACE, /* white space before the colon */
	HTTP1_FOLD, /* a line that begins with white space */
	HTTP1_HOST_MISSING,
	HTTP1_HOST_TWICE,
	HTTP1_HOST, /* is no authority */
	HTTP1_HOST_DISAGREES, /* with an absolute-form target */
	HTTP1_LENGTH, /* Content-Length is no number, or one too large */
	HTTP1_LENGTH_TWICE, /* even if both are equal */
	HTTP1_CODING, /* Transfer-Encoding is not a single "chunked" */
	HTTP1_CODING_VERSION, /* Transfer-Encoding in HTTP/1.0 */
	HTTP1_LENGTH_AND_CODING,
	HTTP1_BODY, /* on a message that has none */
	HTTP1_FAULT_COUNT
};

/* A stable id for the audit, and a sentence for people. */
const char *http1_fault_id(enum http1_fault fault);
const char *http1_fault_words(enum http1_fault fault);

/*
 * REASON_AMBIGUOUS for what could make two readers see two messages,
 * REASON_MALFORMED for the rest.
 */
enum reason http1_fault_reason(enum http1_fault fault);

/* The status to refuse a request with: 414 or 431 for what is too long. */
unsigned http1_fault_status(enum http1_fault fault);

/*
 * Reads a request's head.  ret is written on PARSE_OK only, ret_fault on
 * PARSE_BAD only.
 */
enum parse_result http1_request_parse(struct cursor bytes, struct request *ret,
    enum http1_fault *ret_fault) MUST_CHECK;

/* The same for a response to a request with this method. */
enum parse_result http1_response_parse(struct cursor bytes, const char *method,
    struct response *ret, enum http1_fault *ret_fault) MUST_CHECK;

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
