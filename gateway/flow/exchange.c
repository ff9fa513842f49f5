#include "gateway/flow/exchange.h"

#include "gateway/flow/caller.h"
#include "gateway/flow/consent.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/grants.h"
#include "gateway/flow/judge.h"
#include "gateway/flow/lure.h"
#include "gateway/flow/passage.h"
#include "gateway/flow/record.h"
#include "gateway/flow/refusal.h"
#include "gateway/flow/sigv4.h"
#include "gateway/flow/supply.h"
#include "gateway/flow/tools.h"
#include "gateway/proc/clock.h"
#include "gateway/proto/response.h"
#include "gateway/run/budget.h"
#include "gateway/run/lures.h"
#include "gateway/run/run.h"
#include "policy/rule.h"
#include "policy/stack.h"
#include "schema/status.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US_A_SECOND 1000000

enum exchange_state {
	EXCHANGE_HOLDING, /* its body is read first: rules look into it */
	EXCHANGE_RECORDING, /* its row, and a connection, are on their way */
	EXCHANGE_CONSENTING, /* a person is asked */
	EXCHANGE_GRANTING, /* its credential is on its way */
	EXCHANGE_RELAYING,
	EXCHANGE_OVER
};

struct exchange {
	enum exchange_state state;
	struct flow *flow;
	struct leg *server, *client;
	struct supply supply;
	const struct request *request;
	const struct urlpath *path;
	struct loop_deferred freeing;

	struct verdict verdict;
	struct stack *judge; /* that gave it; kept while it names a rule */
	struct budget_claim *claim; /* limits that it counts against */
	uint64_t charged[2]; /* bytes of bodies so far, out and in */
	struct loop_deferred cutting;
	struct tools
	    *tools; /* what is in its body, where rules look; or NULL */
	struct request *own_request; /* then request borrows nothing */
	struct loop_deferred judging;
	/* Copies, for when the policy changes and the head is gone. */
	unsigned char *words;
	struct cursor query, upgrade;
	struct consent_ask ask;
	struct grants_loan loan; /* of the rule's credential, if it names one */
	struct passage passage; /* of the bodies, and of what comes back */
	int64_t left_out, left_in; /* bytes of the leg that has left */
	struct sink_wait row;
	enum reason failed; /* while it waited for its row */
	char cause[128]; /* in words, where a library has some; or empty */
	bool reused; /* the connection was there before the request */
	bool retried; /* and proved dead once already */
	bool request_ended, responded;
	bool injected; /* it has really left with its credential */
	/* The answer is over, but not all of it has gone inside yet. */
	bool client_left;
	bool waits_for_row, connecting;
	bool holds_body; /* in tools, and it has not gone on yet */

	/* For its rows. */
	uint8_t id[EVENT_REQ_ID];
	unsigned char object[LIMIT_EVENT_OBJECT];
	size_t object_length;
	char method[LIMIT_HTTP_METHOD + 1];
	int64_t intent_seq, began_us, status;
	uint64_t sent_before, received_before;
};

static struct leg *
other(const struct exchange *exchange, const struct leg *from)
{
	return from == exchange->server ? exchange->client : exchange->server;
}

static struct record_request
row_of(const struct exchange *exchange, enum reason reason)
{
	struct record_request row = { .id = exchange->id,
		.method = cursor_of_text(exchange->method),
		.object = cursor_of(exchange->object, exchange->object_length),
		.verdict = &exchange->verdict,
		.cred = exchange->injected ? exchange->loan.question.credential
					   : NULL,
		.ask = exchange->ask.id,
		.reason = reason,
		.cause = exchange->cause,
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
static void
finish(struct exchange *exchange, enum reason reason, enum leg_end inside,
    enum leg_end outside)
{
	struct record_request row;
	struct leg *server = exchange->server, *client = exchange->client;

	if (exchange->state == EXCHANGE_OVER)
		return;
	note_echo(exchange);
	row = row_of(exchange, reason);
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
static void
refuse(struct exchange *exchange, enum reason reason)
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
	finish(exchange, reason,
	    exchange->request_ended ? LEG_REUSE : LEG_CLOSE,
	    relaying ? LEG_RESET : LEG_REUSE);
}

/* About a credential, for its row and its page. */
static void
tell_cause(struct exchange *exchange, const char *name, const char *words)
{
	if (snprintf(exchange->cause, sizeof(exchange->cause), "%s: %s", name,
		words) < 0)
		exchange->cause[0] = '\0';
}

/* Says why a credential is not to be had. */
static void
refuse_credential(struct exchange *exchange, const char *why)
{
	tell_cause(exchange, exchange->loan.question.credential, why);
	refuse(exchange, REASON_CREDENTIAL_UNAVAILABLE);
}

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
	}
	if (fault.reason == REASON_NONE && !client->ops->request(client, &with))
		fault.reason = REASON_MALFORMED;
	exchange->injected = lent && fault.reason == REASON_NONE;
	return fault;
}

/* What the sandbox has sent must not reach the world; it is told so. */
static void
refuse_passage(struct exchange *exchange, const struct passage_fault *fault)
{
	const char *name = fault->credential;

	if (name == NULL && fault->words[0] != '\0')
		name = exchange->loan.question.credential;
	if (name != NULL)
		tell_cause(exchange, name, fault->words);
	if (exchange->responded)
		finish(exchange, fault->reason, LEG_RESET, LEG_RESET);
	else
		refuse(exchange, fault->reason);
}

static enum quota_kind
kind_of(const struct exchange *exchange, const struct leg *from)
{
	return from == exchange->server ? QUOTA_BYTES_OUT : QUOTA_BYTES_IN;
}

/* How much the other side takes, and the limits let pass. */
static size_t
way_room(const struct exchange *exchange, const struct leg *from)
{
	const struct leg *to = other(exchange, from);
	const struct refit *refit = from == exchange->server
					? &exchange->passage.there
					: &exchange->passage.back;
	uint64_t left;
	size_t room;

	if (exchange->state != EXCHANGE_RELAYING || to == NULL)
		return 0;
	room = to->ops->room(to);
	if (refit_is_set(refit))
		room = refit_room(refit, room);
	left = budget_left(exchange->claim, kind_of(exchange, from));
	return left < room ? (size_t)left : room;
}

/* What was held back of the body goes on, as far as there is room. */
static void
feed(struct exchange *exchange)
{
	struct cursor left = tools_left(exchange->tools);
	size_t room = way_room(exchange, exchange->server);

	while (left.left > 0 && room > 0) {
		struct cursor piece = left;

		if (piece.left > room)
			piece.left = room;
		exchange_body(exchange, exchange->server, piece);
		tools_sent(exchange->tools, piece.left);
		if (exchange->state != EXCHANGE_RELAYING)
			return;
		exchange->client->ops->flush(exchange->client);
		left = tools_left(exchange->tools);
		room = way_room(exchange, exchange->server);
	}
	if (left.left > 0)
		return;
	exchange->holds_body = false;
	/* Of a body that was too long the rest follows. */
	if (exchange->request_ended)
		exchange_end(exchange, exchange->server, NULL);
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
		refuse(exchange, REASON_SPECIAL_ADDRESS);
		return;
	}
	exchange->sent_before = client->ops->sent(client);
	exchange->received_before = client->ops->received(client);
	fault = send_request(exchange, &request);
	if (fault.reason != REASON_NONE) {
		refuse_passage(exchange, &fault);
		return;
	}
	exchange->state = EXCHANGE_RELAYING;
	client->ops->flush(client);
	if (exchange->holds_body)
		feed(exchange);
	if (exchange->state != EXCHANGE_RELAYING)
		return;
	exchange->server->ops->pull(exchange->server);
	/* What came behind the head waits for no further event. */
	if (exchange->state == EXCHANGE_RELAYING)
		exchange_flush(exchange);
}

static void
on_accepted(struct sink_wait *wait, int64_t seq)
{
	struct exchange *exchange =
	    (struct exchange *)((char *)wait - offsetof(struct exchange, row));

	exchange->waits_for_row = false;
	if (seq == 0) {
		refuse(exchange, REASON_AUDIT_UNAVAILABLE);
		return;
	}
	exchange->intent_seq = seq;
	if (exchange->failed != REASON_NONE)
		refuse(exchange, exchange->failed);
	else
		go_on(exchange);
}

/* What does not fit is cut off: it is for people. */
static void
note_cause(struct exchange *exchange, const char *words)
{
	if (snprintf(exchange->cause, sizeof(exchange->cause), "%s", words) < 0)
		exchange->cause[0] = '\0';
}

/* There will be no connection; the end is told behind the beginning. */
static void
fail_to_connect(struct exchange *exchange, enum reason reason)
{
	exchange->connecting = false;
	if (exchange->waits_for_row)
		exchange->failed = reason;
	else
		refuse(exchange, reason);
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
		note_cause(exchange, cause);
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
	struct leg *client = flow->own_leg == NULL
				 ? supply_find(flow, exchange->request)
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
	if (!supply_connect(
		&exchange->supply, exchange->flow, exchange->request))
		fail_to_connect(exchange, REASON_OVERLOAD);
}

static void
describe(struct exchange *exchange, struct cursor query)
{
	struct cursor_writer out =
	    cursor_writer_of(exchange->object, sizeof(exchange->object));

	record_object(cursor_of(exchange->path->text, exchange->path->length),
	    query, &out);
	exchange->object_length = out.used;
	static_assert(
	    sizeof(exchange->method) == sizeof(exchange->request->method),
	    "a method fits");
	memcpy(exchange->method, exchange->request->method,
	    sizeof(exchange->method));
}

static void
keep_judge(struct exchange *exchange, struct stack *judge)
{
	if (judge != NULL)
		(void)stack_ref(judge);
	stack_unref(exchange->judge);
	exchange->judge = judge;
}

static enum reason
judge(struct exchange *exchange)
{
	struct flow *flow = exchange->flow;
	const char *words;
	enum reason reason;

	if (flow_is_condemned(flow)) {
		keep_judge(exchange, flow->judge);
		exchange->verdict = flow->verdict;
		note_cause(exchange, flow->cause);
		return flow->reason;
	}
	keep_judge(exchange, flow->plane->run->stack);
	if (exchange->tools == NULL)
		return judge_request(flow, exchange->request, exchange->path,
		    &exchange->verdict);
	reason = tools_judge(exchange->tools, flow, exchange->request,
	    exchange->path, &exchange->verdict, &words);
	if (reason != REASON_NONE)
		note_cause(exchange, words);
	return reason;
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
		refuse(exchange, REASON_OVERLOAD);
		return false;
	}
	budget_words(&over, words);
	note_cause(exchange, words);
	flow->retry_s = over.retry_s;
	refuse(exchange,
	    over.kind == QUOTA_REQUESTS ? REASON_RATE : REASON_BUDGET);
	flow->retry_s = 0;
	return false;
}

/* It may leave: its row, and a connection at the same time. */
static void
put_intent(struct exchange *exchange)
{
	struct sink *sink = exchange->flow->plane->sink;
	struct record_request row;

	if (!takes_request(exchange))
		return;
	exchange->state = EXCHANGE_RECORDING;
	exchange->row.on_accepted = on_accepted;
	row = row_of(exchange, REASON_NONE);
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
		refuse(exchange, REASON_AUDIT_UNAVAILABLE);
		return;
	}
	exchange->waits_for_row = true;
	exchange->intent_seq = 0;
	find_client(exchange);
}

/* ---- the credential ---- */

static struct exchange *
of_loan(struct grants_loan *loan)
{
	return (
	    struct exchange *)((char *)loan - offsetof(struct exchange, loan));
}

static void
on_lent(struct grants_loan *loan, const char *why)
{
	struct exchange *exchange = of_loan(loan);

	if (why == NULL)
		put_intent(exchange);
	else
		refuse_credential(exchange, why);
}

static void
on_revoked(struct grants_loan *loan)
{
	struct exchange *exchange = of_loan(loan);

	if (exchange->waits_for_row) {
		/* Its end is told behind its beginning; it is told of once. */
		grants_return(loan);
		exchange->failed = REASON_REVOKED;
	} else if (exchange->responded) {
		finish(exchange, REASON_REVOKED, LEG_RESET, LEG_RESET);
	} else {
		refuse(exchange, REASON_REVOKED);
	}
}

static void
fill_question(struct exchange *exchange, const struct rule *rule)
{
	const struct flow *flow = exchange->flow;
	struct grant_question *question = &exchange->loan.question;

	*question = (struct grant_question){ .port = flow->wanted.port,
		.tls = flow->protocol == SNIFF_TLS };
	memcpy(question->credential, rule->credential,
	    strlen(rule->credential) + 1);
	if (flow->by_name)
		memcpy(question->host, flow->host.text,
		    (size_t)flow->host.length + 1);
	else
		address_print(&flow->wanted.address, question->host);
	sigv4_scope(exchange->request, question->scope);
}

/* By its rule's credential, if it has one; then its row. */
static void
let_through(struct exchange *exchange)
{
	struct grants *grants = exchange->flow->plane->grants;
	const struct rule *rule = verdict_credential(&exchange->verdict);

	if (rule == NULL) {
		put_intent(exchange);
		return;
	}
	exchange->state = EXCHANGE_GRANTING;
	exchange->loan.on_lent = on_lent;
	exchange->loan.on_revoked = on_revoked;
	fill_question(exchange, rule);
	if (grants == NULL) {
		refuse_credential(exchange, "this run has no broker");
		return;
	}
	if (!exchange->loan.question.tls && !rule->clear) {
		refuse_credential(exchange,
		    "it does not travel in the clear unless its rule says "
		    "\"clear\": true");
		return;
	}
	switch (grants_borrow(grants, &exchange->loan)) {
	case STATUS_OK:
		put_intent(exchange);
		break;
	case STATUS_AGAIN:
		break;
	default:
		refuse_credential(exchange, "the broker cannot be asked");
		break;
	}
}

static void begin(struct exchange *exchange);

static struct exchange *
of_ask(struct consent_ask *ask)
{
	return (
	    struct exchange *)((char *)ask - offsetof(struct exchange, ask));
}

static void
on_answer(struct consent_ask *ask, enum reason reason)
{
	struct exchange *exchange = of_ask(ask);

	if (reason == REASON_NONE)
		let_through(exchange);
	else
		refuse(exchange, reason);
}

static void
on_replaced(struct consent_ask *ask)
{
	struct exchange *exchange = of_ask(ask);

	ask->id[0] = '\0';
	begin(exchange);
}

static void
consent(struct exchange *exchange)
{
	struct flow *flow = exchange->flow;
	struct consent_request request = { .flow = flow,
		.head = exchange->request,
		.path = exchange->path,
		.verdict = &exchange->verdict,
		.id = exchange->id };

	exchange->state = EXCHANGE_CONSENTING;
	exchange->ask.on_answer = on_answer;
	exchange->ask.on_replaced = on_replaced;
	switch (consent_ask(flow->plane->consent, &request, &exchange->ask)) {
	case CONSENT_GIVEN:
		let_through(exchange);
		break;
	case CONSENT_REFUSED:
		if (exchange->ask.cause != NULL)
			note_cause(exchange, exchange->ask.cause);
		refuse(exchange, exchange->ask.reason);
		break;
	case CONSENT_WAITING:
		break;
	}
}

/* ---- a body that rules look into ---- */

static bool
is_to_be_held(const struct exchange *exchange, enum reason reason)
{
	return exchange->tools == NULL && reason != REASON_HOST_MISMATCH &&
	       !flow_is_condemned(exchange->flow) &&
	       request_has_body(exchange->request) &&
	       tools_are_wanted(&exchange->verdict);
}

/* The client waits for a word before it sends its body. */
static void
invite_body(struct exchange *exchange)
{
	struct response interim = { .status = 100,
		.version = MESSAGE_HTTP_1_1 };
	struct leg *server = exchange->server;

	exchange->own_request->expects_continue = false;
	(void)header_drop(&exchange->own_request->header, "Expect");
	if (server->ops->respond(server, &interim))
		server->ops->flush(server);
}

static void
hold(struct exchange *exchange)
{
	exchange->tools = tools_new();
	exchange->own_request = request_copy(exchange->request);
	if (exchange->tools == NULL || exchange->own_request == NULL) {
		refuse(exchange, REASON_OVERLOAD);
		return;
	}
	exchange->request = exchange->own_request;
	exchange->state = EXCHANGE_HOLDING;
	exchange->holds_body = true;
	if (exchange->request->expects_continue)
		invite_body(exchange);
	exchange->server->ops->pull(exchange->server);
}

static void
judge_held(void *arg)
{
	struct exchange *exchange = arg;

	if (exchange->state != EXCHANGE_HOLDING)
		return;
	if (exchange->failed != REASON_NONE) {
		refuse(exchange, exchange->failed);
		return;
	}
	if (exchange->request_ended)
		tools_read(exchange->tools, exchange->request);
	begin(exchange);
}

/* At the end of the tick: what it is called from still needs it. */
static void
judge_later(struct exchange *exchange)
{
	exchange->judging =
	    (struct loop_deferred){ .call = judge_held, .arg = exchange };
	loop_defer(exchange->flow->plane->loop, &exchange->judging);
}

static void
take_held(struct exchange *exchange, struct cursor bytes)
{
	int status = tools_take(exchange->tools, bytes);

	if (status == STATUS_OK)
		return;
	if (status != STATUS_TOO_LONG)
		exchange->failed = REASON_OVERLOAD;
	judge_later(exchange);
}

static void
begin(struct exchange *exchange)
{
	enum reason reason = judge(exchange);

	if (is_to_be_held(exchange, reason)) {
		hold(exchange);
		return;
	}
	if (reason == REASON_NONE)
		let_through(exchange);
	else if (reason == REASON_APPROVAL_NEEDED &&
		 exchange->verdict.kind == VERDICT_ASK)
		consent(exchange);
	else if (lure_in_request(exchange->flow->plane->run->lures,
		     exchange->request,
		     cursor_of(exchange->path->text, exchange->path->length)) !=
		 NULL)
		refuse(exchange, REASON_PLACEHOLDER_LEAK);
	else
		refuse(exchange, reason);
}

static bool
copy_words(struct exchange *exchange, const struct request *request)
{
	size_t query = request->query.left, upgrade = request->upgrade.left;

	if (query + upgrade == 0)
		return true;
	exchange->words = malloc(query + upgrade);
	if (exchange->words == NULL)
		return false;
	if (query > 0)
		memcpy(exchange->words, request->query.at, query);
	if (upgrade > 0)
		memcpy(exchange->words + query, request->upgrade.at, upgrade);
	exchange->query = cursor_of(exchange->words, query);
	exchange->upgrade = cursor_of(exchange->words + query, upgrade);
	return true;
}

bool
exchange_begin(struct flow *flow, struct leg *server,
    const struct request *request, const struct urlpath *path)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));

	if (exchange == NULL)
		return false;
	if (!copy_words(exchange, request)) {
		free(exchange);
		return false;
	}
	exchange->flow = flow;
	exchange->server = server;
	exchange->request = request;
	exchange->path = path;
	exchange->request_ended = !request_has_body(request);
	exchange->intent_seq = -1;
	exchange->status = -1;
	exchange->began_us = clock_monotonic_us();
	run_request_id(flow->plane->run, exchange->id);
	describe(exchange, request->query);
	server->exchange = exchange;
	begin(exchange);
	return true;
}

void
exchange_abort(struct exchange *exchange, enum reason reason)
{
	finish(exchange, reason, LEG_RESET, LEG_RESET);
}

/* Why the policy that is in force now does not let it go on, or none. */
static enum reason
judge_now(const struct exchange *exchange, struct verdict *ret)
{
	struct flow *flow = exchange->flow;
	struct request head = *exchange->request;
	const char *words;
	enum reason reason;

	head.query = exchange->query;
	head.upgrade = exchange->upgrade;
	if (exchange->tools != NULL)
		reason = tools_judge(
		    exchange->tools, flow, &head, exchange->path, ret, &words);
	else
		reason = judge_request(flow, &head, exchange->path, ret);
	if (ret->kind == VERDICT_ASK)
		return REASON_POLICY_CHANGED;
	if (reason == REASON_NONE && exchange->client != NULL &&
	    !judge_may_reach(
		flow, &head, exchange->path, &exchange->client->to.address))
		return REASON_POLICY_CHANGED;
	return reason;
}

void
exchange_judge_again(struct exchange *exchange)
{
	struct verdict verdict;
	enum reason reason;

	/* A body that is still read is judged when it is there. */
	if (exchange->state == EXCHANGE_CONSENTING ||
	    exchange->state == EXCHANGE_HOLDING ||
	    exchange->state == EXCHANGE_OVER)
		return;
	reason = judge_now(exchange, &verdict);
	/* What goes on does so by the rule that let it through. */
	if (reason == REASON_NONE)
		return;
	keep_judge(exchange, exchange->flow->plane->run->stack);
	exchange->verdict = verdict;
	if (exchange->waits_for_row)
		exchange->failed = reason;
	else if (exchange->responded)
		finish(exchange, reason, LEG_RESET, LEG_RESET);
	else
		refuse(exchange, reason);
}

bool
exchange_is_relaying(const struct exchange *exchange)
{
	return exchange->state == EXCHANGE_RELAYING;
}

bool
exchange_is_held(const struct exchange *exchange)
{
	return exchange->state == EXCHANGE_CONSENTING ||
	       exchange->state == EXCHANGE_GRANTING;
}

bool
exchange_releases_head(const struct exchange *exchange)
{
	/* A request without body may have to be sent once more. */
	return exchange->own_request != NULL ||
	       (exchange->state == EXCHANGE_RELAYING &&
		   (!exchange->request_ended || exchange->responded));
}

/* As it may go inside; *copy is for what has to be changed. */
static const struct response *
pass_answer(struct exchange *exchange, const struct response *response,
    struct response *copy)
{
	if (exchange->passage.echo == NULL)
		return response;
	*copy = *response;
	if (passage_answer(&exchange->passage, copy) != STATUS_OK)
		return NULL;
	return copy;
}

void
exchange_response(struct exchange *exchange, const struct response *response)
{
	struct leg *server = exchange->server;
	struct response copy;
	const struct response *answer = pass_answer(exchange, response, &copy);

	if (response_is_interim(response)) {
		/* HTTP/1.0 knows no such thing (RFC 9110 section 15.2). */
		if (exchange->request->version != MESSAGE_HTTP_1_0 &&
		    answer != NULL && server->ops->respond(server, answer))
			server->ops->flush(server);
		return;
	}
	exchange->status = response->status;
	if (answer == NULL)
		note_cause(exchange,
		    "its coding cannot be read, so that a secret in it could "
		    "not be masked");
	if (answer == NULL || !server->ops->respond(server, answer)) {
		refuse(exchange, REASON_UPSTREAM_MALFORMED);
		return;
	}
	exchange->responded = true;
	/* What follows a switch of protocols goes both ways. */
	if (response->status == 101)
		exchange->request_ended = false;
}

/* Nothing more may pass, and what is under way is not whole. */
static void
cut(void *arg)
{
	struct exchange *exchange = arg;
	struct budget_over over;
	char words[BUDGET_WORDS_MAX];

	if (exchange->state == EXCHANGE_OVER ||
	    !budget_is_spent(exchange->claim, &over))
		return;
	budget_words(&over, words);
	note_cause(exchange, words);
	finish(exchange, REASON_BUDGET, LEG_RESET, LEG_RESET);
}

/* At the end of the tick: what it is called from still needs it. */
static void
charge(struct exchange *exchange, enum quota_kind kind, size_t bytes)
{
	exchange->charged[kind - QUOTA_BYTES_OUT] += bytes;
	budget_spend(exchange->claim, kind, bytes);
	if (budget_left(exchange->claim, kind) > 0)
		return;
	exchange->cutting =
	    (struct loop_deferred){ .call = cut, .arg = exchange };
	loop_defer(exchange->flow->plane->loop, &exchange->cutting);
}

/* How a body is changed that comes from this leg. */
static struct refit *
refit_from(struct exchange *exchange, const struct leg *from)
{
	return from == exchange->server ? &exchange->passage.there
					: &exchange->passage.back;
}

size_t
exchange_room(const struct exchange *exchange, const struct leg *from)
{
	if (exchange->state == EXCHANGE_HOLDING &&
	    exchange->failed == REASON_NONE)
		return tools_room(exchange->tools);
	/* What was held back goes first. */
	if (from == exchange->server && exchange->holds_body)
		return 0;
	return way_room(exchange, from);
}

/* A body that cannot be passed on is broken off. */
static void
break_off(struct exchange *exchange, const struct leg *from)
{
	struct passage_fault fault = { .reason = REASON_MALFORMED,
		.words = "a chunk of its body is not signed as it must be" };

	if (from == exchange->server)
		refuse_passage(exchange, &fault);
	else
		finish(
		    exchange, REASON_UPSTREAM_MALFORMED, LEG_RESET, LEG_RESET);
}

void
exchange_body(struct exchange *exchange, struct leg *from, struct cursor bytes)
{
	struct leg *to = other(exchange, from);
	struct refit *refit = refit_from(exchange, from);
	const char *leaked = NULL;

	if (exchange->state == EXCHANGE_HOLDING) {
		take_held(exchange, bytes);
		return;
	}
	if (exchange->claim != NULL)
		charge(exchange, kind_of(exchange, from), bytes.left);
	if (from == exchange->server)
		leaked = passage_see(&exchange->passage, bytes);
	else
		passage_look(&exchange->passage, bytes);
	if (leaked != NULL) {
		struct passage_fault fault = { .reason =
						   REASON_PLACEHOLDER_LEAK,
			.words = "a placeholder was sent where its credential "
				 "does not go",
			.credential = leaked };

		refuse_passage(exchange, &fault);
	} else if (!refit_is_set(refit)) {
		to->ops->body(to, bytes);
	} else if (refit_take(refit, to, bytes) != STATUS_OK) {
		break_off(exchange, from);
	}
}

/* All of a body has been given to the leg. */
static void
end_body(struct exchange *exchange, bool inward, const struct header *trailers)
{
	struct leg *to = inward ? exchange->server : exchange->client;

	to->ops->finish(to, trailers);
	to->ops->flush(to);
	if (!inward) {
		exchange->request_ended = true;
		return;
	}
	/* An early answer: what is left of the request goes nowhere. */
	if (!exchange->request_ended)
		finish(exchange, REASON_NONE, LEG_CLOSE, LEG_CLOSE);
	else
		finish(exchange, REASON_NONE, LEG_REUSE, LEG_REUSE);
}

/* The leg outside has done its part; what it said still goes inside. */
static void
let_client_go(struct exchange *exchange)
{
	struct leg *client = exchange->client;
	struct record_request row = row_of(exchange, REASON_NONE);

	exchange->left_out = row.bytes_out;
	exchange->left_in = row.bytes_in;
	exchange->client_left = true;
	exchange->client = NULL;
	client->exchange = NULL;
	client->ops->release(
	    client, exchange->request_ended ? LEG_REUSE : LEG_CLOSE);
	/* Nobody else will, now that its events are not ours any more. */
	exchange->server->ops->flush(exchange->server);
}

void
exchange_end(
    struct exchange *exchange, struct leg *from, const struct header *trailers)
{
	struct refit *refit = refit_from(exchange, from);
	bool inward = from != exchange->server;

	if (exchange->state == EXCHANGE_HOLDING) {
		exchange->request_ended = true;
		judge_later(exchange);
		return;
	}
	if (!inward && !passage_is_whole(&exchange->passage)) {
		break_off(exchange, from);
		return;
	}
	if (!refit_is_set(refit)) {
		end_body(exchange, inward, trailers);
		return;
	}
	if (refit_end(refit, other(exchange, from)) != STATUS_OK) {
		break_off(exchange, from);
		return;
	}
	/* Trailers could not be kept until then. */
	if (refit_is_done(refit))
		end_body(exchange, inward, NULL);
	else if (inward)
		let_client_go(exchange);
}

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

void
exchange_fail(struct exchange *exchange, struct leg *from, enum reason reason)
{
	bool inside = from == exchange->server;

	if (exchange->state == EXCHANGE_OVER)
		return;
	/* Who sent nonsense and has no answer yet can still be told so. */
	if (exchange->responded || (inside && reason != REASON_MALFORMED)) {
		finish(exchange, reason, LEG_RESET, LEG_RESET);
		return;
	}
	if (!inside && may_retry(exchange, reason)) {
		exchange->retried = true;
		exchange->state = EXCHANGE_RECORDING;
		exchange->client = NULL;
		from->exchange = NULL;
		from->ops->release(from, LEG_RESET);
		find_client(exchange);
		return;
	}
	refuse(exchange, reason);
}

/* What waited for room on a leg goes on; whether the exchange does. */
static bool
push(struct exchange *exchange, struct leg *to)
{
	bool inward = to == exchange->server;
	struct refit *refit =
	    inward ? &exchange->passage.back : &exchange->passage.there;

	if (!refit_is_set(refit) || refit->box.bytes == NULL)
		return true;
	if (refit_push(refit, to) != STATUS_OK) {
		break_off(exchange, other(exchange, to));
		return false;
	}
	if (refit_is_done(refit))
		end_body(exchange, inward, NULL);
	else
		to->ops->flush(to);
	return exchange->state == EXCHANGE_RELAYING;
}

void
exchange_drained(struct exchange *exchange, struct leg *leg)
{
	struct leg *source;

	if (exchange->state != EXCHANGE_RELAYING || !push(exchange, leg))
		return;
	if (exchange->holds_body && leg == exchange->client)
		feed(exchange);
	source = other(exchange, leg);
	if (exchange->state == EXCHANGE_RELAYING && source != NULL)
		source->ops->pull(source);
}

void
exchange_flush(struct exchange *exchange)
{
	exchange->server->ops->flush(exchange->server);
	if (exchange->client != NULL)
		exchange->client->ops->flush(exchange->client);
}
