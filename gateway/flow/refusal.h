/*
 * refusal - a reason as a response that a program can act on.
 *
 * application/problem+json (RFC 9457) with the members type, title, status,
 * detail, reason, rule, event and ask.  The text says that it was the policy
 * and not a fault of the network, and whether trying again can help: an agent
 * that takes a refusal for an outage looks for ways around it.
 */
#ifndef GATEWAY_FLOW_REFUSAL_H
#define GATEWAY_FLOW_REFUSAL_H

#include "schema/cursor.h"
#include "schema/reason.h"

struct refusal {
	enum reason reason;
	unsigned status; /* 0: the reason's own */
	const char *tried; /* "POST https://example.com/x"; ours, one line */
	const char *rule; /* its id, or NULL when none decided */
	const char *advice; /* the operator's own words, or NULL */
	const char *cause; /* a library's words, or "" */
	const char *event; /* where the audit has it, or NULL */
	const char *ask; /* the question that a person was asked, or NULL */
	unsigned retry_s; /* when trying again may help; 0: not said */
};

/* How large a page can get; a caller's buffer has this room. */
#define REFUSAL_MAX 8192

/*
 * Writes a whole HTTP/1.1 response.  Without body for HEAD, whose fields are
 * those of the page all the same (RFC 9110 section 9.3.2).
 */
void refusal_write_http1(const struct refusal *refusal, bool is_head,
    bool keep_alive, struct cursor_writer *out);

/*
 * For gRPC: a status of its own, and its detail as one line that may stand in
 * a field, percent-encoded as gRPC has it.
 */
unsigned refusal_grpc_status(const struct refusal *refusal);
void refusal_write_grpc(
    const struct refusal *refusal, struct cursor_writer *out);

/* Writes the problem document alone. */
void refusal_write_body(
    const struct refusal *refusal, struct cursor_writer *out);

#endif
