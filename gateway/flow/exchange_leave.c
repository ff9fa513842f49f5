#include "gateway/flow/exchange_leave.h"

#include "gateway/flow/exchange_finish.h"
#include "gateway/flow/exchange_relay.h"
#include "gateway/flow/exchange_state.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/grants.h"
#include "gateway/flow/judge.h"
#include "gateway/flow/passage.h"
#include "gateway/flow/record.h"
#include "gateway/flow/supply.h"
#include "gateway/flow/tools.h"
#include "gateway/proc/clock.h"
#include "gateway/run/budget.h"
#include "gateway/run/lures.h"
#include "gateway/run/run.h"
#include "policy/stack.h"
#include "schema/status.h"

#include <assert.h>
#include <stddef.h>

#define US_A_SECOND 1000000

/* Writes the request out, as it may leave. */
static struct passage_fault
send_request(struct exchange *exchange, const struct leg_request *request)
{
	struct leg *client = exchange->client;
	bool lent = exchange->loan.lent != NULL;
	struct passage_order order = { .head = exchange->request,
		.path = request->path,
		.lures = exchange->flow->plane->run->lures,
		.now_s = clock_wall_us() / US_A_SECOND };
	struct passage_fault fault = { .words = "" };
	struct leg_request with = *request;
	struct passage_room room;

	if (lent && grants_is_stale(&exchange->loan)) {
		fault.reason = REASON_REVOKED;
		return fault;
	}
	if (lent) {
		order.rule = verdict_credential(&exchange->verdict);
		order.grant = grants_lent_grant(&exchange->loan);
	}
	if (lent || !lures_are_none(order.lures)) {
		fault = passage_begin(&exchange->passage, &order, &room);
		with.head = &room.head;
		with.path = room.path_text;
	}
	if (fault.reason == REASON_NONE && !client->ops->request(client, &with))
		fault.reason = REASON_MALFORMED;
	exchange->injected = lent && fault.reason == REASON_NONE;
	return fault;
}

/* When its row is there and a connection is, the request leaves. */
static void
go_on(struct exchange *exchange)
{
	struct leg *client = exchange->client;
	struct leg_request request = { .id = exchange->id,
		.head = exchange->request,
		.path =
		    cursor_of(exchange->path->text, exchange->path->length) };
	struct passage_fault fault;

	if (exchange->waits_for_row || client == NULL)
		return;
	if (!judge_may_reach(exchange->flow, exchange->request, exchange->path,
		&client->to.address)) {
		exchange_refuse(exchange, REASON_SPECIAL_ADDRESS);
		return;
	}
	exchange->sent_before = client->ops->sent(client);
	exchange->received_before = client->ops->received(client);
	fault = send_request(exchange, &request);
	if (fault.reason != REASON_NONE) {
		exchange_refuse_passage(exchange, &fault);
		return;
	}
	exchange->state = EXCHANGE_RELAYING;
	client->ops->flush(client);
	if (exchange->holds_body)
		exchange_relay_feed(exchange);
	if (exchange->state != EXCHANGE_RELAYING)
		return;
	exchange->server->ops->pull(exchange->server);
	/* What came behind the head waits for no further event. */
	if (exchange->state == EXCHANGE_RELAYING)
		exchange_relay_flush(exchange);
}

static void
on_accepted(struct sink_wait *wait, int64_t seq)
{
	struct exchange *exchange =
	    (struct exchange *)((char *)wait - offsetof(struct exchange, row));

	exchange->waits_for_row = false;
	if (seq == 0) {
		exchange_refuse(exchange, REASON_AUDIT_UNAVAILABLE);
		return;
	}
	exchange->intent_seq = seq;
	if (exchange->failed != REASON_NONE)
		exchange_refuse(exchange, exchange->failed);
	else
		go_on(exchange);
}

/* There will be no connection; the end is told behind the beginning. */
static void
fail_to_connect(struct exchange *exchange, enum reason reason)
{
	exchange->connecting = false;
	if (exchange->waits_for_row)
		exchange->failed = reason;
	else
		exchange_refuse(exchange, reason);
}

static void
on_supplied(struct supply *supply, struct leg *leg, enum reason reason,
    const char *cause)
{
	struct exchange *exchange =
	    (struct exchange *)((char *)supply -
				offsetof(struct exchange, supply));

	assert(exchange->connecting && exchange->client == NULL);
	if (leg == NULL) {
		exchange_note(exchange, cause);
		fail_to_connect(exchange, reason);
		return;
	}
	exchange->connecting = false;
	exchange->client = leg;
	leg->exchange = exchange;
	go_on(exchange);
}

static void
find_client(struct exchange *exchange)
{
	struct flow *flow = exchange->flow;
	struct leg *client =
	    flow->own_leg == NULL
		? supply_find(flow, exchange->request, &exchange->loan)
		: flow->own_leg(flow);

	if (flow->own_leg != NULL && client == NULL) {
		exchange->failed = REASON_OVERLOAD;
		return;
	}
	if (client != NULL) {
		exchange->reused = true;
		exchange->client = client;
		client->exchange = exchange;
		return;
	}
	exchange->connecting = true;
	exchange->reused = false;
	exchange->cause[0] = '\0';
	exchange->supply.on_done = on_supplied;
	if (!supply_connect(&exchange->supply, exchange->flow,
		exchange->request, &exchange->loan))
		fail_to_connect(exchange, REASON_OVERLOAD);
}

/* Whether the limits allow one more request; refuses it otherwise. */
static bool
takes_request(struct exchange *exchange)
{
	struct flow *flow = exchange->flow;
	struct budget_over over = { .kind = QUOTA_KIND_COUNT };
	char words[BUDGET_WORDS_MAX];

	/* What we answer ourselves, and what is only observed, has none. */
	if (flow->own_leg != NULL || stack_observes(exchange->judge))
		return true;
	if (budget_find(flow->plane->run->budget, exchange->judge,
		&exchange->verdict, &exchange->claim) == STATUS_OK &&
	    budget_take_connection(&flow->connection, exchange->claim, &over) &&
	    budget_take_request(exchange->claim, clock_monotonic_us(), &over)) {
		flow->retry_s = 0;
		return true;
	}
	if (over.kind == QUOTA_KIND_COUNT) {
		exchange_refuse(exchange, REASON_OVERLOAD);
		return false;
	}
	budget_words(&over, words);
	exchange_note(exchange, words);
	flow->retry_s = over.retry_s;
	exchange_refuse(exchange,
	    over.kind == QUOTA_REQUESTS ? REASON_RATE : REASON_BUDGET);
	flow->retry_s = 0;
	return false;
}

/* It may leave: its row, and a connection at the same time. */
void
exchange_leave(struct exchange *exchange)
{
	struct sink *sink = exchange->flow->plane->sink;
	struct record_request row;

	if (!takes_request(exchange))
		return;
	exchange->state = EXCHANGE_RECORDING;
	exchange->row.on_accepted = on_accepted;
	row = exchange_row(exchange, REASON_NONE);
	row.bytes_out = -1;
	row.bytes_in = -1;
	/* What it will go along with, or it will not go. */
	if (exchange->loan.lent != NULL)
		row.cred = exchange->loan.question.credential;
	if (exchange->tools != NULL)
		tools_record(exchange->tools, exchange->flow, exchange->id,
		    &exchange->verdict);
	if (!sink_is_open(sink) ||
	    record_intent(exchange->flow, &row, &exchange->row) != STATUS_OK) {
		exchange_refuse(exchange, REASON_AUDIT_UNAVAILABLE);
		return;
	}
	exchange->waits_for_row = true;
	exchange->intent_seq = 0;
	find_client(exchange);
}

/* ---- and once more ---- */

/*
 * Whether another connection may do what this one did not: it was dead, so
 * that not even a byte of an answer came.
 */
static bool
may_retry(const struct exchange *exchange, enum reason reason)
{
	const struct leg *client = exchange->client;

	if (exchange->retried || reason != REASON_UPSTREAM_RESET)
		return false;
	/* Who has not looked at it says so (RFC 9113 section 8.7). */
	if (client->unprocessed)
		return !request_has_body(exchange->request);
	if (!exchange->reused)
		return false;
	/* Nothing was sent yet: then it is no second time. */
	if (exchange->state == EXCHANGE_RECORDING)
		return true;
	return client->ops->received(client) == exchange->received_before &&
	       !request_has_body(exchange->request) &&
	       request_is_idempotent(exchange->request);
}

bool
exchange_leave_again(struct exchange *exchange, enum reason reason)
{
	struct leg *client = exchange->client;

	if (!may_retry(exchange, reason))
		return false;
	exchange->retried = true;
	exchange->state = EXCHANGE_RECORDING;
	exchange->client = NULL;
	client->exchange = NULL;
	client->ops->release(client, LEG_RESET);
	find_client(exchange);
	return true;
}
