#include "gateway/flow/exchange_finish.h"

#include "gateway/flow/caller.h"
#include "gateway/flow/consent.h"
#include "gateway/flow/exchange_state.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/grants.h"
#include "gateway/flow/passage.h"
#include "gateway/flow/record.h"
#include "gateway/flow/refusal.h"
#include "gateway/flow/supply.h"
#include "gateway/flow/tools.h"
#include "gateway/run/budget.h"
#include "gateway/run/run.h"
#include "policy/rule.h"
#include "policy/stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record_request
exchange_row(const struct exchange *exchange, enum reason reason)
{
	struct record_request row = { .id = exchange->id,
		.l7 = exchange->l7,
		.method = cursor_of_text(exchange->method),
		.object = cursor_of(exchange->object, exchange->object_length),
		.verdict = &exchange->verdict,
		.cred = exchange->injected ? exchange->loan.question.credential
					   : NULL,
		.ask = exchange->ask.id,
		.reason = reason,
		.cause = exchange->cause,
		.unread = exchange->unread,
		.intent_seq = exchange->intent_seq,
		.began_us = exchange->began_us,
		.status = exchange->status,
		.bytes_out = 0,
		.bytes_in = 0 };
	const struct leg *client = exchange->client;

	if (client != NULL)
		row.to = &client->to;
	if (exchange->client_left) {
		row.bytes_out = exchange->left_out;
		row.bytes_in = exchange->left_in;
	}
	if (client == NULL || exchange->state != EXCHANGE_RELAYING)
		return row;
	row.bytes_out =
	    (int64_t)(client->ops->sent(client) - exchange->sent_before);
	row.bytes_in = (int64_t)(client->ops->received(client) -
				 exchange->received_before);
	return row;
}

/* What does not fit is cut off: it is for people. */
void
exchange_note(struct exchange *exchange, const char *words)
{
	if (snprintf(exchange->cause, sizeof(exchange->cause), "%s", words) < 0)
		exchange->cause[0] = '\0';
}

/* About a credential, for its row and its page. */
void
exchange_blame(struct exchange *exchange, const char *name, const char *words)
{
	if (snprintf(exchange->cause, sizeof(exchange->cause), "%s: %s", name,
		words) < 0)
		exchange->cause[0] = '\0';
}

static void
free_now(void *arg)
{
	struct exchange *exchange = arg;

	stack_unref(exchange->judge);
	free(exchange->claim);
	passage_done(&exchange->passage);
	tools_free(exchange->tools);
	free(exchange->own_request);
	free(exchange->words);
	free(exchange);
}

/* Heads and framing count too, once it is known how long they were. */
static void
settle(const struct exchange *exchange, const struct record_request *row)
{
	uint64_t out = (uint64_t)row->bytes_out, in = (uint64_t)row->bytes_in;

	if (out > exchange->charged[0])
		budget_spend(exchange->claim, QUOTA_BYTES_OUT,
		    out - exchange->charged[0]);
	if (in > exchange->charged[1])
		budget_spend(
		    exchange->claim, QUOTA_BYTES_IN, in - exchange->charged[1]);
}

/* A secret that came back is told of, whatever was done about it. */
static void
note_echo(struct exchange *exchange)
{
	if (!passage_has_echoed(&exchange->passage) ||
	    exchange->cause[0] != '\0')
		return;
	if (snprintf(exchange->cause, sizeof(exchange->cause),
		"%s: it came back in the answer",
		exchange->loan.question.credential) < 0)
		exchange->cause[0] = '\0';
}

/* The one end: its row, then both legs, then (later) its memory. */
void
exchange_finish(struct exchange *exchange, enum reason reason,
    enum leg_end inside, enum leg_end outside)
{
	struct record_request row;
	struct leg *server = exchange->server, *client = exchange->client;

	if (exchange->state == EXCHANGE_OVER)
		return;
	note_echo(exchange);
	row = exchange_row(exchange, reason);
	record_http(exchange->flow, &row);
	settle(exchange, &row);
	loop_undefer(exchange->flow->plane->loop, &exchange->cutting);
	loop_undefer(exchange->flow->plane->loop, &exchange->judging);
	exchange->state = EXCHANGE_OVER;
	if (exchange->waits_for_row)
		sink_forget(exchange->flow->plane->sink, &exchange->row);
	consent_forget(&exchange->ask);
	supply_cancel(&exchange->supply);
	grants_return(&exchange->loan);
	exchange->client = NULL;
	if (client != NULL) {
		client->exchange = NULL;
		client->ops->release(client, outside);
	}
	exchange->freeing =
	    (struct loop_deferred){ .call = free_now, .arg = exchange };
	loop_defer(exchange->flow->plane->loop, &exchange->freeing);
	server->exchange = NULL;
	server->ops->release(server, inside);
}

/* What was tried, in one line; cut at its end if it is long. */
static void
print_tried(const struct exchange *exchange, char *out, size_t size)
{
	const struct flow *flow = exchange->flow;
	bool tls = flow->protocol == SNIFF_TLS;
	char target[FLOW_TARGET_MAX];
	size_t length = exchange->object_length;

	flow_print_target(flow, target);
	if (flow->wanted.port == (tls ? 443 : 80)) {
		char *colon = strrchr(target, ':');

		if (colon != NULL)
			*colon = '\0';
	}
	if (length > 200)
		length = 200;
	if (snprintf(out, size, "%s %s://%s%.*s", exchange->method,
		tls ? "https" : "http", target, (int)length,
		(const char *)exchange->object) < 0)
		out[0] = '\0';
}

/* Rules about programs are hard to follow without the program's path. */
static const char *
cause_of(const struct exchange *exchange, enum reason reason)
{
	if (exchange->cause[0] == '\0' &&
	    reason_entry(reason)->fault == FAULT_POLICY)
		return caller_words(exchange->flow);
	return exchange->cause;
}

/* Says no with a page of our own, instead of a response. */
void
exchange_refuse(struct exchange *exchange, enum reason reason)
{
	struct leg *server = exchange->server;
	const struct rule *rule = exchange->verdict.rule;
	char event[RUN_REQUEST_TEXT], tried[512];
	struct refusal refusal = { .reason = reason,
		.tried = tried,
		.rule = rule == NULL ? NULL : rule_id(rule),
		.advice = rule == NULL ? NULL : rule_reason(rule),
		.cause = cause_of(exchange, reason),
		.event = event,
		.ask = exchange->ask.id[0] == '\0' ? NULL : exchange->ask.id,
		.retry_s = exchange->flow->retry_s };
	bool relaying = exchange->state == EXCHANGE_RELAYING;

	print_tried(exchange, tried, sizeof(tried));
	run_request_print(exchange->id, event);
	exchange->status = reason_entry(reason)->http_status;
	server->ops->refuse(server, &refusal);
	exchange_finish(exchange, reason,
	    exchange->request_ended ? LEG_REUSE : LEG_CLOSE,
	    relaying ? LEG_RESET : LEG_REUSE);
}

/* What the sandbox has sent must not reach the world; it is told so. */
void
exchange_refuse_passage(
    struct exchange *exchange, const struct passage_fault *fault)
{
	if (fault->credential != NULL)
		exchange_blame(exchange, fault->credential, fault->words);
	else if (fault->words[0] != '\0')
		exchange_blame(
		    exchange, exchange->loan.question.credential, fault->words);
	if (exchange->responded)
		exchange_finish(exchange, fault->reason, LEG_RESET, LEG_RESET);
	else
		exchange_refuse(exchange, fault->reason);
}
