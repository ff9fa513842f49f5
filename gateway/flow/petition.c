#include "gateway/flow/petition.h"

#include "gateway/flow/consent.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/notice.h"
#include "gateway/flow/program.h"
#include "gateway/proc/clock.h"
#include "gateway/proto/wish.h"
#include "gateway/run/run.h"
#include "policy/question.h"
#include "policy/rule.h"
#include "policy/stack.h"
#include "schema/json.h"
#include "schema/problem.h"
#include "schema/status.h"

/* What is asked for, and what the policy says to it. */
struct petition {
	const struct flow *flow;
	struct wish wish;
	struct question question;
	struct verdict verdict;
};

static unsigned
tell_fault(const char *fault, struct json *j)
{
	notice_write(&(struct notice){ .status = 400, .detail = fault }, j);
	return 400;
}

/* The facts are those that the request itself would be judged by. */
static bool
judge(struct petition *petition)
{
	const struct sighting *program =
	    program_sighting(petition->flow->program);
	struct facts *facts = &petition->question.facts;
	struct problem problem;

	if (question_read(cursor_of_text(petition->wish.request),
		clock_wall_us(), &petition->question, &problem) != STATUS_OK ||
	    facts->stage != STAGE_REQUEST)
		return false;
	if (program != NULL && program->exe[0] != '\0')
		facts->exe = program->exe;
	if (program != NULL && program->has_digest)
		facts->exe_sha256 = program->digest;
	stack_decide(
	    petition->flow->plane->run->stack, facts, &petition->verdict);
	return true;
}

static unsigned
tell_refusal(const struct petition *petition, enum reason reason,
    const char *detail, struct json *j)
{
	struct notice notice = {
		.status = 403, .reason = reason, .detail = detail
	};

	if (petition->verdict.rule != NULL)
		notice.rule = rule_id(petition->verdict.rule);
	if (reason == REASON_AUDIT_UNAVAILABLE ||
	    reason == REASON_APPROVAL_NEEDED)
		notice.status = 503;
	notice_write(&notice, j);
	return notice.status;
}

static void
tell_answer(const struct petition *petition, const char *answer,
    const char *detail, struct json *j)
{
	json_text(j, "answer", answer);
	json_text(j, "request", petition->wish.request);
	if (petition->verdict.rule != NULL)
		json_text(j, "rule", rule_id(petition->verdict.rule));
	json_text(j, "detail", detail);
}

static unsigned
tell_open(const struct petition *petition, const char *id, struct json *j)
{
	json_open(j, NULL, '{');
	json_text(j, "ask", id);
	json_number(j, "timeout_s", petition->verdict.rule->ask.timeout_s);
	tell_answer(petition, "pending",
	    "A person is asked.  Make the request: it is held until there is "
	    "an answer, or told to come again.",
	    j);
	json_close(j, '}');
	return 202;
}

static unsigned
tell_allowed(const struct petition *petition, const char *answer,
    const char *detail, struct json *j)
{
	json_open(j, NULL, '{');
	tell_answer(petition, answer, detail, j);
	json_close(j, '}');
	return 200;
}

static unsigned
propose(const struct petition *petition, const uint8_t *id, struct json *j)
{
	const struct consent_proposal proposal = {
		.facts = &petition->question.facts,
		.verdict = &petition->verdict,
		.tls = petition->question.tls,
		.words = cursor_of_text(petition->wish.why),
		.flow = petition->flow,
		.id = id,
	};
	char ask[LIMIT_ASK_ID + 1];
	enum reason reason;

	switch (consent_propose(
	    petition->flow->plane->consent, &proposal, ask, &reason)) {
	case CONSENT_WAITING:
		return tell_open(petition, ask, j);
	case CONSENT_GIVEN:
		return tell_allowed(petition, "granted",
		    "A person has said yes to this already.", j);
	case CONSENT_REFUSED:
		break;
	}
	if (reason == REASON_APPROVAL_DENIED)
		return tell_refusal(
		    petition, reason, "A person has said no to this.", j);
	return tell_refusal(petition, reason,
	    "Nobody can be asked at the moment: too much is asked at once, or "
	    "the audit is full.",
	    j);
}

unsigned
petition_answer(const struct flow *flow, const uint8_t *id, struct cursor body,
    struct json *j)
{
	struct petition petition = { .flow = flow };
	const char *fault = NULL;

	if (wish_parse(body, &petition.wish, &fault) != STATUS_OK)
		return tell_fault(fault, j);
	if (!judge(&petition))
		return tell_fault("\"url\" is no URL that Exeat can judge: "
				  "write https:// or http://, a host and a "
				  "path.",
		    j);
	switch (petition.verdict.kind) {
	case VERDICT_ALLOW:
		return tell_allowed(&petition, "allowed",
		    "The policy allows this without asking.", j);
	case VERDICT_ASK:
		return propose(&petition, id, j);
	case VERDICT_DENY:
	case VERDICT_NEED_MORE:
	case VERDICT_KIND_COUNT:
		break;
	}
	return tell_refusal(&petition, petition.verdict.reason,
	    "The policy has no rule that asks a person about this.  Only the "
	    "owner of this run can change that, with exeat policy set.",
	    j);
}
