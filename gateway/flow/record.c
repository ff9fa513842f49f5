#include "gateway/flow/record.h"

#include "gateway/flow/judge.h"
#include "gateway/flow/program.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/log.h"
#include "gateway/proto/excerpt.h"
#include "gateway/run/fold.h"
#include "gateway/run/run.h"
#include "policy/policy.h"
#include "policy/rule.h"
#include "schema/event.h"
#include "schema/json.h"
#include "schema/status.h"

#include <string.h>

/* TLS as a row has it: the newest version, negative when not decrypted. */
enum {
	TLS_1_3 = 0x0304
};

static int64_t
tls_of(const struct flow *flow)
{
	if (!flow->sniffed)
		return -1;
	if (flow->protocol != SNIFF_TLS)
		return 0;
	if (flow->verdict.tls == VERDICT_TLS_PASSTHROUGH)
		return -TLS_1_3;
	return TLS_1_3;
}

/*
 * Need_more and ask open a connection too: its requests are judged one by
 * one; and a request that was asked about and goes on has its yes.
 */
static enum event_verdict
verdict_of(enum verdict_kind kind, enum reason reason)
{
	if (reason == REASON_NONE)
		return kind == VERDICT_DENY ? EVENT_DENY : EVENT_ALLOW;
	return reason_entry(reason)->fault == FAULT_POLICY ? EVENT_DENY
							   : EVENT_ERROR;
}

/* How it went; what went on only because it is observed says why it would
 * not have. */
static void
put_outcome(
    const struct verdict *verdict, enum reason reason, struct event *event)
{
	event->reason = reason;
	event->verdict = verdict_of(verdict->kind, reason);
	if (reason != REASON_NONE || !verdict->would_deny)
		return;
	event->reason = verdict->reason;
	event->verdict = EVENT_WOULD_DENY;
}

/* The rule that decided, and the digest of the policy it stands in. */
static void
name_rule(const struct verdict *verdict, struct event *event)
{
	const uint8_t *digest;

	if (verdict->rule == NULL || verdict->policy == NULL)
		return;
	digest = policy_digest(verdict->policy);
	if (digest == NULL)
		return;
	event->rule = cursor_of_text(rule_id(verdict->rule));
	event->policy = cursor_of(digest, POLICY_DIGEST);
}

/* Room for the text of what an event borrows. */
struct words {
	char literal[ADDRESS_TEXT_MAX];
	char detail[LIMIT_EVENT_DETAIL];
};

/* What has no column and is said of this row alone. */
struct remark {
	const char *cause, *ask; /* or "" */
	struct cursor unread; /* what could not be read */
};

static struct event
describe(const struct flow *flow, struct words *words)
{
	struct event event = event_empty();

	event.ts_us = clock_wall_us();
	event.flow_id = flow->id;
	event.dst_port = flow->wanted.port;
	event.dst_ip = flow->upstream.address;
	event.tls = tls_of(flow);
	/* What is passed on unread, or not known yet, is only bytes. */
	event.l7 = flow->datagrams ? EVENT_L7_UDP : EVENT_L7_TCP;
	if (judge_reads_http(flow))
		event.l7 = flow->speaks_h2 ? EVENT_L7_H2 : EVENT_L7_HTTP1;
	if (flow->by_name) {
		event.host = cursor_of(flow->host.text, flow->host.length);
		return event;
	}
	address_print(&flow->wanted.address, words->literal);
	event.host = cursor_of_text(words->literal);
	if (!address_is_set(&event.dst_ip))
		event.dst_ip = flow->wanted.address;
	return event;
}

/* Who asks; the command line only where there is room for it. */
static void
add_program(struct json *j, const struct sighting *sighting, bool argv)
{
	if (sighting == NULL)
		return;
	json_number(j, "pid", sighting->pid);
	if (sighting->exe[0] != '\0')
		json_text(j, "exe", sighting->exe);
	if (argv && sighting->argv[0] != '\0')
		json_text(j, "argv", sighting->argv);
}

static void
add_excerpt(struct json *j, struct cursor unread)
{
	unsigned char text[LIMIT_EXCERPT];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	excerpt_write(unread, &out);
	if (cursor_written(&out) && out.used > 0)
		json_bytes(j, "excerpt", cursor_of(text, out.used));
}

/* What has no column: the name in the hello, a library's words, who asks. */
static bool
write_detail(const struct flow *flow, const struct remark *remark, bool argv,
    struct cursor_writer *out)
{
	const struct sighting *sighting = NULL;
	struct json j = json_to(out);
	bool differs = hostname_is_set(&flow->hello.sni) &&
		       !hostname_equals(&flow->hello.sni, &flow->host);

	/* Once for each connection, in its first row. */
	if (!flow->opened)
		sighting = program_sighting(flow->program);
	json_open(&j, NULL, '{');
	if (differs)
		json_text(&j, "sni", flow->hello.sni.text);
	if (flow->hello.offers_ech)
		json_bool(&j, "ech", true);
	if (remark->cause[0] != '\0')
		json_text(&j, "cause", remark->cause);
	add_excerpt(&j, remark->unread);
	if (remark->ask[0] != '\0')
		json_text(&j, "ask", remark->ask);
	if (!flow->opened && flow->proxy != NULL)
		json_text(&j, "proxy", flow->proxy);
	add_program(&j, sighting, argv);
	json_close(&j, '}');
	return cursor_written(out);
}

static void
add_detail(const struct flow *flow, const struct remark *remark,
    struct words *words, struct event *event)
{
	struct cursor_writer out =
	    cursor_writer_of(words->detail, sizeof(words->detail));
	struct cursor_writer less = out;

	if (write_detail(flow, remark, true, &out)) {
		/* "{}" says nothing. */
		if (out.used > 2)
			event->detail = cursor_of(out.bytes, out.used);
	} else if (write_detail(flow, remark, false, &less)) {
		event->detail = cursor_of(less.bytes, less.used);
	}
}

/* The tally is of what happened, also where no row can be had of it. */
static int
put(struct flow *flow, struct event *event, struct sink_wait *wait)
{
	run_count(flow->plane->run, event);
	return sink_put(flow->plane->sink, event, wait);
}

/* What came first is shown where nothing came of it. */
static struct remark
remark_on_flow(const struct flow *flow)
{
	struct remark remark = { .cause = flow->cause, .ask = "" };

	if (flow->reason == REASON_MALFORMED ||
	    flow->reason == REASON_AMBIGUOUS)
		remark.unread = cursor_of(flow->early, flow->early_length);
	return remark;
}

static struct remark
remark_on(const struct record_request *request)
{
	return (struct remark){ .cause = request->cause,
		.ask = request->ask,
		.unread = request->unread };
}

int
record_open(struct flow *flow, struct sink_wait *wait)
{
	struct words words;
	struct remark remark = remark_on_flow(flow);
	struct event event = describe(flow, &words);
	int status;

	event.kind = EVENT_FLOW_OPEN;
	put_outcome(&flow->verdict, flow->reason, &event);
	event.wait = wait == NULL ? EVENT_NO_WAIT : EVENT_WAIT_COMMIT;
	name_rule(&flow->verdict, &event);
	add_detail(flow, &remark, &words, &event);
	status = put(flow, &event, wait);
	if (status != STATUS_OK)
		return status;
	flow->opened = true;
	return STATUS_OK;
}

void
record_end(struct flow *flow)
{
	struct words words;
	struct remark remark = remark_on_flow(flow);
	struct event event = describe(flow, &words);
	int status;

	flow->plane->run->tally.flows++;
	put_outcome(&flow->verdict, flow->reason, &event);
	if (!flow->opened) {
		/* A refused request, or a sum of refusals, says it all. */
		if (flow->requests > 0 || flow->counted)
			return;
		status = record_open(flow, NULL);
		if (status != STATUS_OK)
			log_warning("a refusal has no row: the audit is gone");
		return;
	}
	event.kind = EVENT_FLOW_END;
	event.parent_seq = flow->open_seq;
	event.dur_us = clock_monotonic_us() - flow->opened_us;
	if (flow->tunneled) {
		event.bytes_out = flow->bytes_out;
		event.bytes_in = flow->bytes_in;
		flow->plane->run->tally.bytes_out += (uint64_t)flow->bytes_out;
		flow->plane->run->tally.bytes_in += (uint64_t)flow->bytes_in;
	} else if (flow->reason == REASON_NONE) {
		/* What was allowed in it stands in its requests' rows. */
		event.verdict = EVENT_INFO;
		event.reason = REASON_NONE;
	}
	name_rule(&flow->verdict, &event);
	add_detail(flow, &remark, &words, &event);
	status = put(flow, &event, NULL);
	if (status != STATUS_OK)
		log_warning("the end of a flow has no row: the audit is gone");
}

void
record_sum(struct plane *plane, const struct fold_sum *sum)
{
	char detail[64];
	struct cursor_writer out = cursor_writer_of(detail, sizeof(detail));
	struct json j = json_to(&out);
	struct event event = event_empty();

	json_open(&j, NULL, '{');
	json_number(&j, "count", (int64_t)sum->count);
	json_close(&j, '}');
	event.kind = EVENT_FLOW_OPEN;
	event.reason = sum->reason;
	event.verdict = verdict_of(VERDICT_DENY, sum->reason);
	event.ts_us = clock_wall_us();
	event.l7 = EVENT_L7_UDP;
	event.tls = 0;
	event.host = cursor_of_text(sum->what);
	event.dst_ip = sum->address;
	event.dst_port = sum->number;
	if (cursor_written(&out))
		event.detail = cursor_of(out.bytes, out.used);
	run_count(plane->run, &event);
	if (sink_put(plane->sink, &event, NULL) != STATUS_OK)
		log_warning("refusals have no row: the audit is gone");
}

static struct event
describe_request(const struct flow *flow, const struct record_request *request,
    struct words *words)
{
	struct event event = describe(flow, words);

	event.l7 = request->l7;
	if (flow->role == FLOW_INTERNAL)
		event.l7 = EVENT_L7_INTERNAL;
	if (request->to != NULL && address_is_set(&request->to->address))
		event.dst_ip = request->to->address;
	event.req_id = cursor_of(request->id, EVENT_REQ_ID);
	event.verb = request->method;
	event.object = request->object;
	put_outcome(request->verdict, request->reason, &event);
	name_rule(request->verdict, &event);
	if (request->cred != NULL)
		event.cred = cursor_of_text(request->cred);
	return event;
}

int
record_intent(struct flow *flow, const struct record_request *request,
    struct sink_wait *wait)
{
	struct words words;
	struct remark remark = remark_on(request);
	struct event event = describe_request(flow, request, &words);

	event.kind = EVENT_HTTP_INTENT;
	event.wait = EVENT_WAIT_COMMIT;
	/* A credential is used: no power cut may forget it. */
	if (request->cred != NULL)
		event.wait = EVENT_WAIT_DISK;
	if (request->ask[0] != '\0') {
		/* A person's yes is used up: no power cut may forget it. */
		event.wait = EVENT_WAIT_DISK;
		add_detail(flow, &remark, &words, &event);
	}
	return put(flow, &event, wait);
}

void
record_http(struct flow *flow, const struct record_request *request)
{
	struct words words;
	struct remark remark = remark_on(request);
	struct event event = describe_request(flow, request, &words);
	struct order_tally *tally = &flow->plane->run->tally;

	event.kind = EVENT_HTTP;
	event.parent_seq = request->intent_seq;
	event.status = request->status;
	event.bytes_out = request->bytes_out;
	event.bytes_in = request->bytes_in;
	if (request->began_us >= 0)
		event.dur_us = clock_monotonic_us() - request->began_us;
	if (request->reason != REASON_NONE || request->ask[0] != '\0' ||
	    request->cause[0] != '\0' || !flow->opened)
		add_detail(flow, &remark, &words, &event);
	flow->requests++;
	if (request->bytes_out > 0)
		tally->bytes_out += (uint64_t)request->bytes_out;
	if (request->bytes_in > 0)
		tally->bytes_in += (uint64_t)request->bytes_in;
	if (put(flow, &event, NULL) != STATUS_OK)
		log_warning("a request has no row: the audit is gone");
}

void
record_call(struct flow *flow, const struct record_call *call)
{
	struct words words;
	struct event event = describe(flow, &words);

	event.kind = EVENT_MCP_CALL;
	event.l7 = EVENT_L7_MCP;
	event.req_id = cursor_of(call->id, EVENT_REQ_ID);
	/* A longer name is cut: it was judged whole. */
	event.verb = call->method;
	if (event.verb.left > LIMIT_EVENT_VERB)
		event.verb.left = LIMIT_EVENT_VERB;
	event.object = call->tool;
	put_outcome(call->verdict, REASON_NONE, &event);
	name_rule(call->verdict, &event);
	if (put(flow, &event, NULL) != STATUS_OK)
		log_warning("a message has no row: the audit is gone");
}

void
record_object(
    struct cursor path, struct cursor query, struct cursor_writer *out)
{
	struct cursor pair, key;
	char mark = '?';

	if (path.left > out->size - out->used)
		path.left = out->size - out->used;
	cursor_put(out, path.at, path.left);
	while (query.left > 0) {
		if (!cursor_until(&query, '&', &pair)) {
			pair = query;
			query.left = 0;
		}
		key = pair;
		if (!cursor_until(&pair, '=', &key))
			key = pair;
		if (out->size - out->used < key.left + 1)
			return;
		cursor_put_u8(out, (uint8_t)mark);
		cursor_put(out, key.at, key.left);
		mark = '&';
	}
}
