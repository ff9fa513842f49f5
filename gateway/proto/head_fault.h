/*
 * head_fault - which rule a head broke, so that the refusal can say it.
 *
 * Ids are stable: they stand in the audit.
 */
#ifndef GATEWAY_PROTO_HEAD_FAULT_H
#define GATEWAY_PROTO_HEAD_FAULT_H

#include "schema/reason.h"

enum head_fault {
	HEAD_FAULT_NONE,
	HEAD_FAULT_LINE_END, /* a CR or LF that is not CR LF */
	HEAD_FAULT_CONTROL, /* NUL or another control character */
	HEAD_FAULT_START_LINE, /* does not read as one */
	HEAD_FAULT_METHOD, /* no token, too long, or in lower case */
	HEAD_FAULT_CONNECT,
	HEAD_FAULT_TARGET, /* of no form that its method may have */
	HEAD_FAULT_TARGET_LONG,
	HEAD_FAULT_VERSION, /* neither HTTP/1.0 nor HTTP/1.1; none is HTTP/0.9
			     */
	HEAD_FAULT_STATUS,
	HEAD_FAULT_HEAD_LONG,
	HEAD_FAULT_FIELDS, /* too many */
	HEAD_FAULT_FIELD_NAME,
	HEAD_FAULT_FIELD_SPACE, /* white space before the colon */
	HEAD_FAULT_FOLD, /* a line that begins with white space */
	HEAD_FAULT_HOST_MISSING,
	HEAD_FAULT_HOST_TWICE,
	HEAD_FAULT_HOST, /* is no authority */
	HEAD_FAULT_HOST_DISAGREES, /* with an absolute-form target */
	HEAD_FAULT_LENGTH, /* Content-Length is no number, or one too large */
	HEAD_FAULT_LENGTH_TWICE, /* even if both are equal */
	HEAD_FAULT_CODING, /* Transfer-Encoding is not a single "chunked" */
	HEAD_FAULT_CODING_VERSION, /* Transfer-Encoding in HTTP/1.0 */
	HEAD_FAULT_LENGTH_AND_CODING,
	HEAD_FAULT_BODY, /* on a message that has none */
	/* HTTP/2 */
	HEAD_FAULT_PSEUDO, /* unknown, twice, missing, or out of place */
	HEAD_FAULT_FIELD_CASE, /* a name with a letter in upper case */
	HEAD_FAULT_HOP_FIELD, /* about the connection, which is no business */
	HEAD_FAULT_BLANK, /* white space around a value */
	HEAD_FAULT_LENGTH_DISAGREES, /* with the bytes that came */
	HEAD_FAULT_COUNT
};

/* A stable id for the audit, and words for people. */
const char *head_fault_id(enum head_fault fault);
const char *head_fault_words(enum head_fault fault);

/*
 * REASON_AMBIGUOUS for what could make two readers see two messages,
 * REASON_MALFORMED for the rest.
 */
enum reason head_fault_reason(enum head_fault fault);

/* The status to refuse a request with: 414 or 431 for what is too long. */
unsigned head_fault_status(enum head_fault fault);

#endif
