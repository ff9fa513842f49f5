/*
 * record - a flow's and an exchange's life as events.
 *
 * A flow that is tunneled or inspected has a flow_open row before a byte of
 * it leaves and a flow_end row after the last; one that is refused has one
 * flow_open row that says why.  An exchange has an http_intent row that is
 * accepted before a byte of the request leaves, and an http row that points
 * to it; one that is refused has one http row.
 */
#ifndef GATEWAY_FLOW_RECORD_H
#define GATEWAY_FLOW_RECORD_H

#include "gateway/audit/sink.h"
#include "gateway/flow/flow.h"

/*
 * Puts flow_open.  With wait the caller is told once it is a row; without,
 * nobody waits.  STATUS_CLOSED when the audit cannot take it.
 */
int record_open(struct flow *flow, struct sink_wait *wait) MUST_CHECK;

/* Puts flow_end, or, if the flow was never opened, its only flow_open. */
void record_end(struct flow *flow);

struct fold_sum;

/* Puts a flow_open for all that were refused alike and have no row. */
void record_sum(struct plane *plane, const struct fold_sum *sum);

/* One request, for the rows about it; text is borrowed for the call. */
struct record_request {
	const uint8_t *id; /* EVENT_REQ_ID bytes */
	enum event_l7 l7;
	struct cursor method;
	struct cursor object; /* path and names of query keys */
	const struct verdict *verdict;
	const char *cred; /* that goes along, or NULL */
	const char *ask; /* the question that it waited for or used; or "" */
	enum reason reason;
	const char *cause; /* in words, or "" */
	struct cursor unread; /* bytes that could not be read, or none */
	const struct endpoint *to; /* where it went, or NULL */
	int64_t intent_seq; /* of its intent row, or -1 */
	int64_t began_us; /* monotonic, or -1 */
	int64_t status, bytes_out, bytes_in;
};

/* Puts http_intent and waits as sink_put() says. */
int record_intent(struct flow *flow, const struct record_request *request,
    struct sink_wait *wait) MUST_CHECK;

/* Puts http: how it ended, or that it was refused. */
void record_http(struct flow *flow, const struct record_request *request);

/* Puts mcp_call: one message of a request that is let through. */
struct record_call {
	const uint8_t *id; /* EVENT_REQ_ID bytes */
	struct cursor method, tool;
	const struct verdict *verdict;
};
void record_call(struct flow *flow, const struct record_call *call);

/* "/path?key1&key2": the values of a query are not written down. */
void record_object(
    struct cursor path, struct cursor query, struct cursor_writer *out);

#endif
