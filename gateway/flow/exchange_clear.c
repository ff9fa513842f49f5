#include "gateway/flow/exchange_clear.h"

#include "gateway/flow/consent.h"
#include "gateway/flow/exchange_finish.h"
#include "gateway/flow/exchange_leave.h"
#include "gateway/flow/exchange_state.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/grants.h"
#include "gateway/flow/judge.h"
#include "gateway/flow/lure.h"
#include "gateway/flow/sigv4.h"
#include "gateway/flow/tools.h"
#include "gateway/proto/response.h"
#include "gateway/run/run.h"
#include "policy/rule.h"
#include "policy/stack.h"
#include "schema/status.h"

#include <stddef.h>
#include <string.h>

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
		exchange_note(exchange, flow->cause);
		return flow->reason;
	}
	keep_judge(exchange, flow->plane->run->stack);
	if (exchange->tools == NULL)
		return judge_request(flow, exchange->request, exchange->path,
		    &exchange->verdict);
	reason = tools_judge(exchange->tools, flow, exchange->request,
	    exchange->path, &exchange->verdict, &words);
	if (reason != REASON_NONE)
		exchange_note(exchange, words);
	return reason;
}

/* ---- the credential ---- */

/* Says why a credential is not to be had. */
static void
refuse_credential(struct exchange *exchange, const char *why)
{
	exchange_blame(exchange, exchange->loan.question.credential, why);
	exchange_refuse(exchange, REASON_CREDENTIAL_UNAVAILABLE);
}

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
		exchange_leave(exchange);
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
		exchange_finish(exchange, REASON_REVOKED, LEG_RESET, LEG_RESET);
	} else {
		exchange_refuse(exchange, REASON_REVOKED);
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
		exchange_leave(exchange);
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
		exchange_leave(exchange);
		break;
	case STATUS_AGAIN:
		break;
	default:
		refuse_credential(exchange, "the broker cannot be asked");
		break;
	}
}

/* ---- a person ---- */

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
		exchange_refuse(exchange, reason);
}

static void
on_replaced(struct consent_ask *ask)
{
	struct exchange *exchange = of_ask(ask);

	ask->id[0] = '\0';
	exchange_clear(exchange);
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
			exchange_note(exchange, exchange->ask.cause);
		exchange_refuse(exchange, exchange->ask.reason);
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
		exchange_refuse(exchange, REASON_OVERLOAD);
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
		exchange_refuse(exchange, exchange->failed);
		return;
	}
	if (exchange->request_ended)
		tools_read(exchange->tools, exchange->request);
	exchange_clear(exchange);
}

/* At the end of the tick: what it is called from still needs it. */
void
exchange_clear_held(struct exchange *exchange)
{
	exchange->judging =
	    (struct loop_deferred){ .call = judge_held, .arg = exchange };
	loop_defer(exchange->flow->plane->loop, &exchange->judging);
}

void
exchange_clear_hold(struct exchange *exchange, struct cursor bytes)
{
	int status = tools_take(exchange->tools, bytes);

	if (status == STATUS_OK)
		return;
	if (status != STATUS_TOO_LONG)
		exchange->failed = REASON_OVERLOAD;
	exchange_clear_held(exchange);
}

void
exchange_clear(struct exchange *exchange)
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
		exchange_refuse(exchange, REASON_PLACEHOLDER_LEAK);
	else
		exchange_refuse(exchange, reason);
}

/* ---- another policy ---- */

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
exchange_clear_again(struct exchange *exchange)
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
		exchange_finish(exchange, reason, LEG_RESET, LEG_RESET);
	else
		exchange_refuse(exchange, reason);
}
