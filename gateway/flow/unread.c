#include "gateway/flow/unread.h"

#include "gateway/flow/flow.h"
#include "gateway/flow/leg.h"
#include "gateway/flow/record.h"
#include "gateway/flow/refusal.h"
#include "gateway/run/run.h"

void
unread_refuse(struct flow *flow, struct leg *server, enum head_fault fault,
    struct cursor bytes)
{
	static const struct verdict no_verdict = { .kind = VERDICT_DENY };
	uint8_t id[EVENT_REQ_ID];
	char event[RUN_REQUEST_TEXT];
	struct refusal refusal = { .reason = head_fault_reason(fault),
		.status = head_fault_status(fault),
		.tried = "The request",
		.cause = head_fault_words(fault),
		.event = event };
	struct record_request row = { .id = id,
		.l7 = flow->speaks_h2 ? EVENT_L7_H2 : EVENT_L7_HTTP1,
		.method = cursor_of_text(""),
		.object = cursor_of_text(""),
		.verdict = &no_verdict,
		.ask = "",
		.reason = refusal.reason,
		.cause = head_fault_id(fault),
		.unread = bytes,
		.intent_seq = -1,
		.began_us = -1,
		.status = refusal.status };

	run_request_id(flow->plane->run, id);
	run_request_print(id, event);
	record_http(flow, &row);
	server->ops->refuse(server, &refusal);
}
