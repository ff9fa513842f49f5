/*
 * http1_fault - which rule a head broke, so that the refusal can say it.
 *
 * Ids are stable: they stand in the audit.
 */
#ifndef GATEWAY_PROTO_HTTP1_FAULT_H
#define GATEWAY_PROTO_HTTP1_FAULT_H

#include "schema/reason.h"

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

/* A stable id for the audit, and words for people. */
const char *http1_fault_id(enum http1_fault fault);
const char *http1_fault_words(enum http1_fault fault);

/*
 * REASON_AMBIGUOUS for what could make two readers see two messages,
 * REASON_MALFORMED for the rest.
 */
enum reason http1_fault_reason(enum http1_fault fault);

/* The status to refuse a request with: 414 or 431 for what is too long. */
unsigned http1_fault_status(enum http1_fault fault);

#endif
