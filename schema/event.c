#include "schema/event.h"

#include "schema/jsontext.h"
#include "schema/status.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static const char *const kind_names[EVENT_KIND_END] = {
	[EVENT_HTTP] = "http",
	[EVENT_FLOW_END] = "flow_end",
	[EVENT_FLOW_OPEN] = "flow_open",
	[EVENT_HTTP_INTENT] = "http_intent",
	[EVENT_DNS] = "dns",
	[EVENT_TOKEN_ISSUE] = "token_issue",
	[EVENT_TOKEN_EXCHANGE] = "token_exchange",
	[EVENT_TOKEN_REVOKE] = "token_revoke",
	[EVENT_CRED_MINT] = "cred_mint",
	[EVENT_APPROVAL_ASK] = "approval_ask",
	[EVENT_APPROVAL_DECISION] = "approval_decision",
	[EVENT_POLICY_LOAD] = "policy_load",
	[EVENT_ADMIN] = "admin",
	[EVENT_SANDBOX_START] = "sandbox_start",
	[EVENT_SANDBOX_END] = "sandbox_end",
	[EVENT_ALERT] = "alert",
	[EVENT_AUDIT] = "audit",
	[EVENT_MCP_CALL] = "mcp_call",
	[EVENT_EXEC] = "exec",
	[EVENT_EXEC_EXIT] = "exec_exit",
	[EVENT_TOKEN_REFUSED] = "token_refused",
};

static const char *const verdict_names[] = {
	[EVENT_INFO] = "info",
	[EVENT_ALLOW] = "allow",
	[EVENT_DENY] = "deny",
	[EVENT_WOULD_DENY] = "would_deny",
	[EVENT_ERROR] = "error",
	[EVENT_PENDING] = "pending",
};

static const char *const l7_names[] = {
	[EVENT_L7_TCP] = "tcp",
	[EVENT_L7_HTTP1] = "http1",
	[EVENT_L7_H2] = "h2",
	[EVENT_L7_H3] = "h3",
	[EVENT_L7_WS] = "ws",
	[EVENT_L7_DNS] = "dns",
	[EVENT_L7_GRPC] = "grpc",
	[EVENT_L7_MCP] = "mcp",
	[EVENT_L7_EXEC] = "exec",
	[EVENT_L7_INTERNAL] = "internal",
	[EVENT_L7_UDP] = "udp",
};

static_assert(
    sizeof(verdict_names) / sizeof(verdict_names[0]) == EVENT_VERDICT_COUNT,
    "every verdict has a name");
static_assert(sizeof(l7_names) / sizeof(l7_names[0]) == EVENT_L7_COUNT,
    "every protocol has a name");

/*
 * The fields that may be missing.  The place in this table is the tag on the
 * wire, so a new field goes to the end.
 */
enum field_type {
	FIELD_NUMBER, /* int64_t; -1 is missing */
	FIELD_TEXT, /* struct cursor; length 0 is missing */
	FIELD_ADDRESS
};

static const struct field {
	enum field_type type;
	size_t place;
	size_t max; /* of a text, in bytes */
	int64_t low, high;
} fields[] = {
	{ FIELD_NUMBER, offsetof(struct event, flow_id), 0, 0, INT64_MAX },
	{ FIELD_NUMBER, offsetof(struct event, parent_seq), 0, 0, INT64_MAX },
	{ FIELD_TEXT, offsetof(struct event, req_id), EVENT_REQ_ID, 0, 0 },
	{ FIELD_TEXT, offsetof(struct event, host), LIMIT_HOST, 0, 0 },
	{ FIELD_ADDRESS, offsetof(struct event, dst_ip), 0, 0, 0 },
	{ FIELD_NUMBER, offsetof(struct event, dst_port), 0, 0, 65535 },
	{ FIELD_NUMBER, offsetof(struct event, l7), 0, 0, EVENT_L7_COUNT - 1 },
	{ FIELD_NUMBER, offsetof(struct event, tls), 0, -65535, 65535 },
	{ FIELD_TEXT, offsetof(struct event, verb), LIMIT_EVENT_VERB, 0, 0 },
	{ FIELD_TEXT, offsetof(struct event, object), LIMIT_EVENT_OBJECT, 0,
	    0 },
	{ FIELD_NUMBER, offsetof(struct event, status), 0, -1000, 65535 },
	{ FIELD_TEXT, offsetof(struct event, rule), LIMIT_RULE_ID, 0, 0 },
	{ FIELD_TEXT, offsetof(struct event, policy), 32, 0, 0 },
	{ FIELD_TEXT, offsetof(struct event, cred), LIMIT_RULE_ID, 0, 0 },
	{ FIELD_NUMBER, offsetof(struct event, bytes_out), 0, 0, INT64_MAX },
	{ FIELD_NUMBER, offsetof(struct event, bytes_in), 0, 0, INT64_MAX },
	{ FIELD_NUMBER, offsetof(struct event, dur_us), 0, 0, INT64_MAX },
	{ FIELD_TEXT, offsetof(struct event, detail), LIMIT_EVENT_DETAIL, 0,
	    0 },
};

enum {
	FIELD_COUNT = sizeof(fields) / sizeof(fields[0])
};

static const char *
name_in(const char *const *names, size_t count, unsigned number)
{
	return number < count ? names[number] : NULL;
}

const char *
event_kind_name(unsigned kind)
{
	return name_in(kind_names, EVENT_KIND_END, kind);
}

const char *
event_verdict_name(unsigned verdict)
{
	return name_in(verdict_names, EVENT_VERDICT_COUNT, verdict);
}

const char *
event_l7_name(unsigned l7)
{
	return name_in(l7_names, EVENT_L7_COUNT, l7);
}

struct event
event_empty(void)
{
	return (struct event){ .flow_id = -1,
		.parent_seq = -1,
		.dst_port = -1,
		.l7 = -1,
		.tls = -1,
		.status = -1,
		.bytes_out = -1,
		.bytes_in = -1,
		.dur_us = -1 };
}

bool
event_is_refusal(const struct event *event)
{
	/* The end of a flow repeats what its beginning said. */
	if (event->kind == EVENT_FLOW_END && event->parent_seq >= 0)
		return false;
	/* A person's no refuses requests, which have rows of their own. */
	return event->verdict == EVENT_DENY &&
	       event->kind != EVENT_APPROVAL_DECISION;
}

bool
event_is_request(const struct event *event)
{
	/* A second row of something that is counted already. */
	if (event->parent_seq >= 0)
		return false;
	if (event_is_refusal(event) || event->kind == EVENT_HTTP_INTENT ||
	    event->kind == EVENT_HTTP)
		return true;
	if (event->kind != EVENT_FLOW_OPEN && event->kind != EVENT_FLOW_END)
		return false;
	return event->tls < -1 || event->l7 == EVENT_L7_TCP ||
	       event->l7 == EVENT_L7_UDP;
}

static void
write_field(const struct event *event, size_t tag, struct cursor_writer *out)
{
	const void *place = (const char *)event + fields[tag].place;

	if (fields[tag].type == FIELD_NUMBER) {
		const int64_t *number = place;

		if (*number == -1)
			return;
		cursor_put_u8(out, (uint8_t)tag);
		cursor_put_u64(out, (uint64_t)*number);
	} else if (fields[tag].type == FIELD_TEXT) {
		const struct cursor *text = place;

		if (text->left == 0)
			return;
		cursor_put_u8(out, (uint8_t)tag);
		cursor_put_block(out, text->at, text->left);
	} else {
		const struct address *address = place;

		if (!address_is_set(address))
			return;
		cursor_put_u8(out, (uint8_t)tag);
		cursor_put_u8(out, address->length);
		cursor_put(out, address->bytes, address->length);
	}
}

void
event_write(const struct event *event, struct cursor_writer *out)
{
	size_t start = out->used;

	cursor_put_u16(out, 0);
	cursor_put_u64(out, event->number);
	cursor_put_u8(out, (uint8_t)event->wait);
	cursor_put_u8(out, (uint8_t)event->kind);
	cursor_put_u8(out, (uint8_t)event->verdict);
	cursor_put_u8(out, (uint8_t)event->reason);
	cursor_put_u64(out, (uint64_t)event->ts_us);
	for (size_t tag = 0; tag < FIELD_COUNT; tag++)
		write_field(event, tag, out);
	if (!cursor_written(out))
		return;
	cursor_patch_u16(out, start, (uint16_t)(out->used - start - 2));
}

static bool
read_number(struct cursor *block, const struct field *field, int64_t *ret)
{
	uint64_t bits;
	int64_t number;

	if (!cursor_u64(block, &bits))
		return false;
	memcpy(&number, &bits, sizeof(number));
	if (number < field->low || number > field->high || number == -1)
		return false;
	*ret = number;
	return true;
}

static bool
read_address(struct cursor *block, struct address *ret)
{
	struct address address = { 0 };

	if (!cursor_u8(block, &address.length))
		return false;
	if (address.length != 4 && address.length != 16)
		return false;
	if (!cursor_copy(block, address.length, address.bytes))
		return false;
	*ret = address;
	return true;
}

static bool
read_field(struct cursor *block, const struct field *field, void *place)
{
	struct cursor text;

	if (field->type == FIELD_NUMBER)
		return read_number(block, field, place);
	if (field->type == FIELD_ADDRESS)
		return read_address(block, place);
	if (!cursor_block(block, &text) || text.left == 0 ||
	    text.left > field->max)
		return false;
	memcpy(place, &text, sizeof(text));
	return true;
}

static bool
read_fields(struct cursor *block, struct event *event)
{
	int last = -1;
	uint8_t tag;

	while (cursor_u8(block, &tag)) {
		if (tag >= FIELD_COUNT || (int)tag <= last)
			return false;
		if (!read_field(
			block, &fields[tag], (char *)event + fields[tag].place))
			return false;
		last = tag;
	}
	return true;
}

static bool
is_sound(const struct event *event)
{
	if (event_kind_name(event->kind) == NULL || event->number == 0 ||
	    event->ts_us < 0)
		return false;
	if (event->req_id.left != 0 && event->req_id.left != EVENT_REQ_ID)
		return false;
	if (event->policy.left != 0 && event->policy.left != 32)
		return false;
	return event->detail.left == 0 || jsontext_is_object(event->detail);
}

int
event_read(struct cursor *body, struct event *ret)
{
	struct event event = event_empty();
	struct cursor block, at = *body;
	uint8_t wait, kind, verdict, reason;
	uint64_t time;

	if (!cursor_block(&at, &block) || !cursor_u64(&block, &event.number) ||
	    !cursor_u8(&block, &wait) || !cursor_u8(&block, &kind) ||
	    !cursor_u8(&block, &verdict) || !cursor_u8(&block, &reason) ||
	    !cursor_u64(&block, &time) || time > INT64_MAX)
		return STATUS_MALFORMED;
	if (wait >= EVENT_WAIT_COUNT || verdict >= EVENT_VERDICT_COUNT ||
	    !reason_is_known(reason))
		return STATUS_MALFORMED;
	event.wait = (enum event_wait)wait;
	event.kind = (enum event_kind)kind;
	event.verdict = (enum event_verdict)verdict;
	event.reason = (enum reason)reason;
	event.ts_us = (int64_t)time;
	if (!read_fields(&block, &event) || !is_sound(&event))
		return STATUS_MALFORMED;
	*body = at;
	*ret = event;
	return STATUS_OK;
}

static const char *const sync_names[] = {
	[EVENT_SYNC_AUTO] = "auto",
	[EVENT_SYNC_FULL] = "full",
	[EVENT_SYNC_NORMAL] = "normal",
};

static_assert(sizeof(sync_names) / sizeof(sync_names[0]) == EVENT_SYNC_COUNT,
    "every way to sync has a name");

const char *
event_sync_name(enum event_sync sync)
{
	return sync_names[sync];
}

void
event_run_write(const struct event_run *run, struct cursor_writer *out)
{
	cursor_put_u8(out, (uint8_t)run->sync);
	cursor_put_string(out, run->uid);
	cursor_put_string(out, run->principal);
	cursor_put_string(out, run->owner);
	cursor_put_string(out, run->host);
	cursor_put_string(out, run->image);
	cursor_put_block(out, run->detail.at, run->detail.left);
}

/* A JSON object or nothing, and nothing behind it. */
static bool
read_detail(struct cursor *body, struct cursor *ret)
{
	struct cursor detail;

	if (!cursor_block(body, &detail) || !cursor_is_empty(body) ||
	    detail.left > LIMIT_EVENT_DETAIL)
		return false;
	if (detail.left != 0 && !jsontext_is_object(detail))
		return false;
	*ret = detail;
	return true;
}

int
event_run_read(struct cursor body, struct event_run *ret)
{
	struct event_run run;
	uint8_t sync;

	if (!cursor_u8(&body, &sync) || sync >= EVENT_SYNC_COUNT ||
	    !cursor_string(&body, run.uid, sizeof(run.uid)) ||
	    run.uid[0] == '\0' ||
	    !cursor_string(&body, run.principal, sizeof(run.principal)) ||
	    !cursor_string(&body, run.owner, sizeof(run.owner)) ||
	    !cursor_string(&body, run.host, sizeof(run.host)) ||
	    !cursor_string(&body, run.image, sizeof(run.image)) ||
	    !read_detail(&body, &run.detail))
		return STATUS_MALFORMED;
	run.sync = (enum event_sync)sync;
	*ret = run;
	return STATUS_OK;
}

void
event_producer_write(enum event_role role, struct cursor_writer *out)
{
	cursor_put_u8(out, (uint8_t)role);
}

int
event_producer_read(struct cursor body, enum event_role *ret)
{
	uint8_t role;

	if (!cursor_u8(&body, &role) || role >= EVENT_ROLE_COUNT ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = (enum event_role)role;
	return STATUS_OK;
}

void
event_policy_write(const struct event_policy *policy, struct cursor_writer *out)
{
	cursor_put(out, policy->sha256, sizeof(policy->sha256));
	cursor_put_string(out, policy->loaded_by);
	cursor_put_string(out, policy->name);
}

int
event_policy_read(struct cursor body, struct event_policy *ret)
{
	struct event_policy policy;

	if (!cursor_copy(&body, sizeof(policy.sha256), policy.sha256) ||
	    !cursor_string(&body, policy.loaded_by, sizeof(policy.loaded_by)) ||
	    !cursor_string(&body, policy.name, sizeof(policy.name)) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = policy;
	return STATUS_OK;
}

void
event_end_write(const struct event_end *end, struct cursor_writer *out)
{
	cursor_put_u64(out, (uint64_t)end->status);
	cursor_put_string(out, end->end);
	cursor_put_block(out, end->detail.at, end->detail.left);
}

int
event_end_read(struct cursor body, struct event_end *ret)
{
	struct event_end end;
	uint64_t status;

	if (!cursor_u64(&body, &status) || status > 255 ||
	    !cursor_string(&body, end.end, sizeof(end.end)) ||
	    !read_detail(&body, &end.detail))
		return STATUS_MALFORMED;
	end.status = (int64_t)status;
	*ret = end;
	return STATUS_OK;
}

void
event_accepted_begin(uint64_t number, struct cursor_writer *out)
{
	cursor_put_u64(out, number);
}

void
event_accepted_patch(uint64_t number, size_t place, struct cursor_writer *out)
{
	for (size_t i = 0; i < 4; i++)
		cursor_patch_u16(
		    out, place + 2 * i, (uint16_t)(number >> (48 - 16 * i)));
}

void
event_accepted_pair(uint64_t number, int64_t seq, struct cursor_writer *out)
{
	cursor_put_u64(out, number);
	cursor_put_u64(out, (uint64_t)seq);
}

int
event_accepted_read(struct cursor body, struct event_accepted *ret)
{
	uint64_t number;

	if (!cursor_u64(&body, &number) || body.left % 16 != 0)
		return STATUS_MALFORMED;
	*ret = (struct event_accepted){ .number = number, .pairs = body };
	return STATUS_OK;
}

bool
event_accepted_next(
    struct event_accepted *accepted, uint64_t *ret_number, int64_t *ret_seq)
{
	uint64_t number, seq;

	if (!cursor_u64(&accepted->pairs, &number) ||
	    !cursor_u64(&accepted->pairs, &seq))
		return false;
	*ret_number = number;
	*ret_seq = (int64_t)(seq & INT64_MAX);
	return true;
}

void
event_state_write(bool available, struct cursor_writer *out)
{
	cursor_put_u8(out, available ? 1 : 0);
}

int
event_state_read(struct cursor body, bool *ret)
{
	uint8_t available;

	if (!cursor_u8(&body, &available) || available > 1 ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = available == 1;
	return STATUS_OK;
}

void
event_closed_write(const struct event_closed *closed, struct cursor_writer *out)
{
	cursor_put_u64(out, (uint64_t)closed->first_seq);
	cursor_put_u64(out, (uint64_t)closed->last_seq);
	cursor_put_u64(out, closed->requests);
	cursor_put_u64(out, closed->refused);
}

int
event_closed_read(struct cursor body, struct event_closed *ret)
{
	struct event_closed closed;
	uint64_t first, last;

	if (!cursor_u64(&body, &first) || first > INT64_MAX ||
	    !cursor_u64(&body, &last) || last > INT64_MAX ||
	    !cursor_u64(&body, &closed.requests) ||
	    !cursor_u64(&body, &closed.refused) || !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	closed.first_seq = (int64_t)first;
	closed.last_seq = (int64_t)last;
	*ret = closed;
	return STATUS_OK;
}
