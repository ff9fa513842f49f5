#include "gateway/flow/judge.h"

#include "gateway/flow/intercept.h"
#include "gateway/flow/program.h"
#include "gateway/proc/clock.h"
#include "gateway/run/budget.h"
#include "gateway/run/lures.h"
#include "gateway/run/run.h"
#include "policy/rule.h"
#include "policy/stack.h"
#include "schema/status.h"

#include <stdlib.h>

static enum fact_protocol
protocol_of(const struct flow *flow)
{
	if (flow->datagrams)
		return FACT_PROTOCOL_UDP;
	if (!flow->sniffed)
		return FACT_PROTOCOL_UNKNOWN;
	switch (flow->protocol) {
	case SNIFF_TLS:
		return FACT_PROTOCOL_TLS;
	case SNIFF_HTTP1:
	case SNIFF_HTTP2:
		return FACT_PROTOCOL_HTTP;
	case SNIFF_SSH:
		return FACT_PROTOCOL_SSH;
	case SNIFF_OTHER:
	case SNIFF_COUNT:
		break;
	}
	return FACT_PROTOCOL_TCP;
}

struct facts
judge_facts(const struct flow *flow)
{
	struct facts facts = {
		.stage = flow->sniffed ? STAGE_HELLO : STAGE_CONNECT,
		.now_us = clock_wall_us(),
		.by_name = flow->by_name,
		.port = flow->wanted.port,
		.protocol = protocol_of(flow),
	};

	const struct sighting *sighting = program_sighting(flow->program);

	if (flow->by_name)
		facts.host = flow->host;
	else
		facts.literal = flow->wanted.address;
	if (sighting != NULL && sighting->exe[0] != '\0')
		facts.exe = sighting->exe;
	if (sighting != NULL && sighting->has_digest)
		facts.exe_sha256 = sighting->digest;
	/* Inside TLS and HTTP requests follow; elsewhere nothing does. */
	facts.last = facts.protocol == FACT_PROTOCOL_TCP ||
		     facts.protocol == FACT_PROTOCOL_UDP ||
		     facts.protocol == FACT_PROTOCOL_SSH;
	return facts;
}

bool
judge_allows_silence(const struct flow *flow)
{
	struct facts facts = judge_facts(flow);
	struct verdict verdict;

	facts.stage = STAGE_HELLO;
	facts.protocol = FACT_PROTOCOL_TCP;
	facts.last = true;
	stack_decide(flow->plane->run->stack, &facts, &verdict);
	return verdict_allows(&verdict);
}

/* The server name in the hello must be the one the address stands for. */
static bool
names_agree(const struct flow *flow)
{
	if (flow->protocol != SNIFF_TLS || !flow->by_name ||
	    !hostname_is_set(&flow->hello.sni))
		return true;
	return hostname_equals(&flow->hello.sni, &flow->host);
}

/* A placeholder in it would leave the machine, whoever it agrees with. */
static bool
name_is_wrong(const struct flow *flow, enum reason *ret)
{
	const struct hostname *name = &flow->hello.sni;

	if (flow->protocol == SNIFF_TLS && hostname_is_set(name) &&
	    lures_find_in_name(
		flow->plane->run->lures, cursor_of_text(name->text)) != NULL) {
		*ret = REASON_PLACEHOLDER_LEAK;
		return true;
	}
	*ret = REASON_SNI_MISMATCH;
	return !names_agree(flow);
}

/* Whether what was allowed is passed on without being looked into. */
static bool
passes_unread(const struct flow *flow, const struct verdict *verdict)
{
	if (!verdict_allows(verdict) || verdict->tls == VERDICT_TLS_INSPECT)
		return false;
	/* "passthrough" is about TLS: clear HTTP is read all the same. */
	return !flow_is_clear_http(flow) ||
	       verdict->rule->protocol != RULE_HTTP;
}

static bool
is_opaque(const struct flow *flow)
{
	return passes_unread(flow, &flow->verdict);
}

bool
judge_reads_http(const struct flow *flow)
{
	if (!flow->sniffed || is_opaque(flow))
		return false;
	return flow_is_clear_http(flow) || intercept_is_possible(flow);
}

/* Nobody can look into it, and nothing is refused in this run. */
static void
pass_observed(struct flow *flow)
{
	flow->verdict.kind = VERDICT_ALLOW;
	flow->verdict.tls = VERDICT_TLS_PASSTHROUGH;
	flow->verdict.would_deny = true;
	flow->verdict.reason = REASON_UNSUPPORTED;
	flow_enter(flow, FLOW_DIALING);
}

/* Whether the limits allow one more connection; refuses it otherwise. */
static bool
takes_connection(struct flow *flow)
{
	struct run *run = flow->plane->run;
	struct budget_claim *claim = NULL;
	struct budget_over over;
	bool taken;
	int status = STATUS_OK;

	/* Nothing is refused in a run that is observed. */
	if (!stack_observes(run->stack))
		status = budget_find(
		    run->budget, run->stack, &flow->verdict, &claim);
	taken = status == STATUS_OK && !budget_is_spent(claim, &over) &&
		budget_take_connection(&flow->connection, claim, &over);
	free(claim);
	if (taken)
		return true;
	if (status != STATUS_OK || over.kind == QUOTA_KIND_COUNT) {
		flow_refuse(flow, REASON_OVERLOAD);
		return false;
	}
	budget_words(&over, flow->cause);
	flow->retry_s = over.retry_s;
	flow_refuse(flow, REASON_BUDGET);
	return false;
}

static void
follow(struct flow *flow)
{
	if (!flow->sniffed) {
		if (!verdict_allows(&flow->verdict))
			flow_enter(flow, FLOW_SNIFFING);
		else if (takes_connection(flow))
			flow_enter(flow, FLOW_DIALING);
		return;
	}
	if (is_opaque(flow) || intercept_is_possible(flow)) {
		if (takes_connection(flow))
			flow_enter(flow, FLOW_DIALING);
		return;
	}
	if (flow_is_clear_http(flow)) {
		if (takes_connection(flow))
			flow_enter(flow, FLOW_EXCHANGING);
		return;
	}
	if (stack_observes(flow->plane->run->stack)) {
		pass_observed(flow);
		return;
	}
	flow_refuse(flow, REASON_UNSUPPORTED);
}

static bool
names_an_address(const struct rule *rule)
{
	return rule != NULL && rule->address_count > 0;
}

/* The stack that gave a verdict lives as long as the verdict. */
static void
keep_verdict(struct flow *flow, const struct verdict *verdict)
{
	struct stack *judge = stack_ref(flow->plane->run->stack);

	stack_unref(flow->judge);
	flow->judge = judge;
	flow->verdict = *verdict;
}

static bool
may_go_on(const struct flow *flow, const struct facts *facts,
    const struct verdict *verdict)
{
	if (verdict->kind == VERDICT_DENY ||
	    passes_unread(flow, verdict) != is_opaque(flow))
		return false;
	return !address_is_set(&flow->upstream.address) ||
	       stack_may_dial(
		   flow->plane->run->stack, facts, &flow->upstream.address);
}

static void
judge_anew(struct flow *flow)
{
	struct facts facts = judge_facts(flow);
	struct verdict verdict;
	enum reason reason = REASON_POLICY_CHANGED;

	stack_decide(flow->plane->run->stack, &facts, &verdict);
	if (may_go_on(flow, &facts, &verdict))
		return;
	if (verdict.kind == VERDICT_DENY) {
		reason = verdict.reason;
		keep_verdict(flow, &verdict);
	}
	if (flow->state == FLOW_DIALING)
		flow_refuse(flow, reason);
	else
		flow_close(flow, reason);
}

void
judge_again(struct flow *flow)
{
	/* No policy is about what we answer ourselves. */
	if (flow->role != FLOW_INTERNAL)
		judge_anew(flow);
}

/* What we answer ourselves needs no rule; it is spoken with over HTTP. */
static void
judge_internal(struct flow *flow)
{
	flow->verdict = (struct verdict){ .kind = VERDICT_ALLOW };
	if (!flow->sniffed)
		flow_enter(flow, FLOW_SNIFFING);
	else if (flow->protocol == SNIFF_HTTP1 || flow->protocol == SNIFF_HTTP2)
		flow_enter(flow, FLOW_EXCHANGING);
	else
		flow_refuse(flow, REASON_UNSUPPORTED);
}

void
judge_enter(struct flow *flow)
{
	struct facts facts = judge_facts(flow);
	struct verdict verdict;
	enum reason reason;

	if (flow_is_condemned(flow)) {
		flow_refuse(flow, flow->reason);
		return;
	}
	if (flow->role == FLOW_INTERNAL) {
		judge_internal(flow);
		return;
	}
	if (flow->role == FLOW_PROXY) {
		flow_enter(flow, FLOW_PROXYING);
		return;
	}
	if (flow->sniffed && name_is_wrong(flow, &reason)) {
		flow_refuse(flow, reason);
		return;
	}
	stack_decide(flow->plane->run->stack, &facts, &verdict);
	keep_verdict(flow, &verdict);
	switch (flow->verdict.kind) {
	case VERDICT_ALLOW:
	case VERDICT_NEED_MORE:
		follow(flow);
		return;
	case VERDICT_ASK:
		/* A person is asked about requests, and those come later. */
		if (!facts.last) {
			follow(flow);
			return;
		}
		break;
	case VERDICT_DENY:
	case VERDICT_KIND_COUNT:
		break;
	}
	/*
	 * A rule about addresses needs no words: it is refused at once.  Any
	 * other is told in the client's own protocol, once that is known.
	 */
	if (flow->sniffed || names_an_address(flow->verdict.rule)) {
		flow_refuse(flow, flow->verdict.reason);
		return;
	}
	flow->reason = flow->verdict.reason;
	flow_enter(flow, FLOW_SNIFFING);
}

/* Whether the request is for the host and port of its connection. */
static bool
authority_agrees(const struct flow *flow, const struct authority *authority)
{
	uint16_t usual = flow->protocol == SNIFF_TLS ? 443 : 80;
	uint16_t port = authority->port == 0 ? usual : authority->port;

	if (port != flow->wanted.port)
		return false;
	if (flow->by_name)
		return hostname_equals(&authority->name, &flow->host);
	if (address_is_set(&authority->literal))
		return address_equals(
		    &authority->literal, &flow->wanted.address);
	/* A literal with a server name: that name is who answers there. */
	return hostname_is_set(&flow->hello.sni) &&
	       hostname_equals(&authority->name, &flow->hello.sni);
}

/* An address form of the wrong scheme, as in "https://" over clear TCP. */
static bool
scheme_agrees(const struct flow *flow, const struct request *request)
{
	switch (request->scheme) {
	case REQUEST_SCHEME_NONE:
		return true;
	case REQUEST_HTTP:
		return flow->protocol != SNIFF_TLS;
	case REQUEST_HTTPS:
		return flow->protocol == SNIFF_TLS;
	}
	return false;
}

static struct facts
facts_of_request(const struct flow *flow, const struct request *request,
    const struct urlpath *path)
{
	struct facts facts = judge_facts(flow);

	facts.stage = STAGE_REQUEST;
	facts.last = true;
	facts.protocol = FACT_PROTOCOL_HTTP;
	facts.method = request->method;
	facts.path = path;
	facts.query = request->query;
	facts.upgrade = request->upgrade;
	facts.message = request_has_body(request) ? FACT_MESSAGE_UNKNOWN
						  : FACT_MESSAGE_NONE;
	return facts;
}

static enum reason
put_question(const struct flow *flow, const struct request *request,
    const struct facts *facts, struct verdict *ret)
{
	*ret = (struct verdict){ .kind = VERDICT_DENY };
	if (!authority_agrees(flow, &request->authority) ||
	    !scheme_agrees(flow, request))
		return REASON_HOST_MISMATCH;
	if (flow->role == FLOW_INTERNAL) {
		ret->kind = VERDICT_ALLOW;
		return REASON_NONE;
	}
	stack_decide(flow->plane->run->stack, facts, ret);
	return verdict_allows(ret) ? REASON_NONE : ret->reason;
}

enum reason
judge_request(const struct flow *flow, const struct request *request,
    const struct urlpath *path, struct verdict *ret)
{
	struct facts facts = facts_of_request(flow, request, path);

	return put_question(flow, request, &facts, ret);
}

enum reason
judge_message(const struct flow *flow, const struct judge_question *question,
    struct verdict *ret)
{
	struct facts facts =
	    facts_of_request(flow, question->request, question->path);

	facts.message = question->message;
	facts.mcp_method = question->method;
	facts.mcp_tool = question->tool;
	return put_question(flow, question->request, &facts, ret);
}

bool
judge_may_reach(const struct flow *flow, const struct request *request,
    const struct urlpath *path, const struct address *address)
{
	struct facts facts = facts_of_request(flow, request, path);

	if (flow->role == FLOW_INTERNAL)
		return true;
	/* Where the house's proxy has dialled is not ours to know. */
	if (!address_is_set(address))
		return flow->plane->house != NULL;
	/* Rules about what is in the body may be those that allowed it. */
	facts.last = facts.message != FACT_MESSAGE_UNKNOWN;
	return stack_may_dial(flow->plane->run->stack, &facts, address);
}
