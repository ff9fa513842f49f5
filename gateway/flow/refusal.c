#include "gateway/flow/refusal.h"

#include "gateway/proto/response.h"
#include "schema/json.h"

#include <stdio.h>

#define DETAIL_MAX 2048

static const char *
who_decided(enum reason_fault fault)
{
	switch (fault) {
	case FAULT_POLICY:
		return "was refused by the policy of this sandbox (this is not "
		       "a network fault)";
	case FAULT_CLIENT:
		return "was refused by the gateway of this sandbox";
	case FAULT_UPSTREAM:
		return "was allowed, but failed outside this sandbox";
	case FAULT_GATEWAY:
	case FAULT_COUNT:
		break;
	}
	return "was refused by the gateway of this sandbox (this is not a "
	       "network fault)";
}

static unsigned
status_of(const struct refusal *refusal)
{
	return refusal->status == 0 ? reason_entry(refusal->reason)->http_status
				    : refusal->status;
}

/* What was tried, what was decided, and what to do about it. */
static void
print_detail(const struct refusal *refusal, char out[DETAIL_MAX])
{
	const struct reason_entry *entry = reason_entry(refusal->reason);
	const char *advice =
	    refusal->advice == NULL ? entry->advice : refusal->advice;
	int length = snprintf(out, DETAIL_MAX, "%s %s: %s%s%s. %s",
	    refusal->tried, who_decided(entry->fault), entry->title,
	    refusal->cause[0] == '\0' ? "" : ": ", refusal->cause, advice);

	/* What does not fit is cut at the end: the sentence begins with what
	 * was tried and what was decided. */
	if (length < 0)
		out[0] = '\0';
}

void
refusal_write_body(const struct refusal *refusal, struct cursor_writer *out)
{
	const struct reason_entry *entry = reason_entry(refusal->reason);
	struct json j = json_to(out);
	char type[128], detail[DETAIL_MAX];
	int length = snprintf(
	    type, sizeof(type), "http://exeat.internal/reason/%s", entry->id);

	print_detail(refusal, detail);
	if (length < 0 || (size_t)length >= sizeof(type))
		type[0] = '\0';
	json_open(&j, NULL, '{');
	json_text(&j, "type", type);
	json_text(&j, "title", entry->title);
	json_number(&j, "status", status_of(refusal));
	json_text(&j, "detail", detail);
	json_text(&j, "reason", entry->id);
	if (refusal->rule != NULL)
		json_text(&j, "rule", refusal->rule);
	else
		json_none(&j, "rule");
	if (refusal->event != NULL)
		json_text(&j, "event", refusal->event);
	else
		json_none(&j, "event");
	if (refusal->retry_s > 0)
		json_number(&j, "retry_after", refusal->retry_s);
	if (refusal->ask != NULL)
		json_text(&j, "ask", refusal->ask);
	else
		json_none(&j, "ask");
	json_close(&j, '}');
	cursor_put_u8(out, '\n');
}

void
refusal_write_http1(const struct refusal *refusal, bool is_head,
    bool keep_alive, struct cursor_writer *out)
{
	const struct reason_entry *entry = reason_entry(refusal->reason);
	unsigned char bytes[REFUSAL_MAX / 2];
	struct cursor_writer body = cursor_writer_of(bytes, sizeof(bytes));

	refusal_write_body(refusal, &body);
	if (!cursor_written(&body))
		body.used = 0;
	cursor_put_text(out, "HTTP/1.1 ");
	cursor_put_decimal(out, status_of(refusal));
	cursor_put_u8(out, ' ');
	cursor_put_text(out, response_phrase(status_of(refusal)));
	cursor_put_text(out, "\r\nContent-Type: application/problem+json\r\n"
			     "Cache-Control: no-store\r\nExeat-Reason: ");
	cursor_put_text(out, entry->id);
	if (refusal->retry_s > 0) {
		cursor_put_text(out, "\r\nRetry-After: ");
		cursor_put_decimal(out, refusal->retry_s);
	}
	cursor_put_text(out, "\r\nContent-Length: ");
	cursor_put_decimal(out, body.used);
	cursor_put_text(out, keep_alive ? "\r\nConnection: keep-alive\r\n\r\n"
					: "\r\nConnection: close\r\n\r\n");
	if (!is_head)
		cursor_put(out, body.bytes, body.used);
}

/* The codes of gRPC that say the same to a program. */
enum {
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_UNAVAILABLE = 14
};

unsigned
refusal_grpc_status(const struct refusal *refusal)
{
	const struct reason_entry *entry = reason_entry(refusal->reason);

	if (entry->http_status == 429)
		return GRPC_RESOURCE_EXHAUSTED;
	if (refusal->reason == REASON_UPSTREAM_TIMEOUT)
		return GRPC_DEADLINE_EXCEEDED;
	switch (entry->fault) {
	case FAULT_POLICY:
		return GRPC_PERMISSION_DENIED;
	case FAULT_CLIENT:
		return GRPC_INVALID_ARGUMENT;
	case FAULT_UPSTREAM:
	case FAULT_GATEWAY:
	case FAULT_COUNT:
		break;
	}
	return GRPC_UNAVAILABLE;
}

void
refusal_write_grpc(const struct refusal *refusal, struct cursor_writer *out)
{
	static const char hex[] = "0123456789ABCDEF";
	char detail[DETAIL_MAX];

	print_detail(refusal, detail);
	for (const char *at = detail; *at != '\0'; at++) {
		unsigned char byte = (unsigned char)*at;

		if (byte >= 0x20 && byte <= 0x7e && byte != '%') {
			cursor_put_u8(out, byte);
			continue;
		}
		cursor_put_u8(out, '%');
		cursor_put_u8(out, (uint8_t)hex[byte >> 4]);
		cursor_put_u8(out, (uint8_t)hex[byte & 15]);
	}
}
