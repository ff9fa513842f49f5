#include "gateway/flow/consent.h"

#include "gateway/audit/sink.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/program.h"
#include "gateway/flow/record.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/log.h"
#include "gateway/proto/request.h"
#include "gateway/run/run.h"
#include "policy/policy.h"
#include "policy/rule.h"
#include "schema/json.h"
#include "schema/status.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#define US_A_SECOND INT64_C(1000000)

/* One open question and its row. */
struct asked {
	LIST_ENTRY(asked) entry;
	struct consent *consent;
	struct approval_question question;
	struct sink_wait row;
	int64_t seq; /* 0: not a row yet */
	int64_t flow_id;
	uint8_t request[EVENT_REQ_ID];
};

struct consent {
	struct plane *plane;
	struct approvals *approvals;
	LIST_HEAD(, asked) open;
	struct event *timer; /* the first question's end */
	const struct consent_events *events;
	void *arg;
	const struct approval_answer *answer; /* that is being settled */
};

/* ---- rows ---- */

static void
describe(const struct asked *asked, struct cursor_writer *object,
    struct event *event)
{
	const struct approval_question *question = &asked->question;
	struct cursor query = cursor_of_text(question->target), path = query;
	struct address literal;

	if (!cursor_until(&query, '?', &path))
		query = cursor_of(NULL, 0);
	record_object(path, query, object);
	event->ts_us = clock_wall_us();
	event->flow_id = asked->flow_id;
	event->req_id = cursor_of(asked->request, sizeof(asked->request));
	event->host = cursor_of_text(question->host);
	if (address_parse(question->host, strlen(question->host), &literal) ==
	    STATUS_OK)
		event->dst_ip = literal;
	event->dst_port = question->port;
	event->l7 = EVENT_L7_HTTP1;
	event->verb = cursor_of_text(question->method);
	event->object = cursor_of(object->bytes, object->used);
	event->rule = cursor_of_text(question->rule);
	event->policy = cursor_of(question->policy, sizeof(question->policy));
}

/* What of the question has no column; the words only where there is room. */
static bool
write_asked(const struct approval_question *question, bool words,
    struct cursor_writer *out)
{
	struct json j = json_to(out);

	json_open(&j, NULL, '{');
	json_text(&j, "ask", question->id);
	json_number(&j, "timeout_s", question->timeout_s);
	json_number(&j, "grant_s", question->grant_s);
	json_number(&j, "grant_uses", question->grant_uses);
	if (words && question->program[0] != '\0')
		json_text(&j, "exe", question->program);
	if (words && question->words[0] != '\0')
		json_text(&j, "words", question->words);
	json_close(&j, '}');
	return cursor_written(out);
}

static int
record_asked(struct asked *asked)
{
	unsigned char object[LIMIT_EVENT_OBJECT], detail[LIMIT_EVENT_DETAIL];
	struct cursor_writer out = cursor_writer_of(object, sizeof(object));
	struct cursor_writer more = cursor_writer_of(detail, sizeof(detail));
	struct cursor_writer less = more;
	struct event event = event_empty();

	describe(asked, &out, &event);
	event.kind = EVENT_APPROVAL_ASK;
	event.verdict = EVENT_PENDING;
	event.reason = REASON_APPROVAL_NEEDED;
	event.wait = EVENT_WAIT_COMMIT;
	if (!write_asked(&asked->question, true, &more)) {
		(void)write_asked(&asked->question, false, &less);
		more = less;
	}
	event.detail = cursor_of(detail, more.used);
	return sink_put(asked->consent->plane->sink, &event, &asked->row);
}

static void
write_decision(const struct asked *asked, const struct approval_question *now,
    enum approval_end end, struct cursor_writer *out)
{
	const struct approval_answer *answer = asked->consent->answer;
	struct json j = json_to(out);

	json_open(&j, NULL, '{');
	json_text(&j, "ask", now->id);
	json_text(&j, "answer", approval_end_name(end));
	if (answer != NULL)
		json_text(&j, "by", answer->by);
	if (end == APPROVAL_GRANTED) {
		json_number(&j, "until_us",
		    clock_wall_us() + now->grant_s * US_A_SECOND);
		json_number(&j, "uses", now->grant_uses);
	}
	json_close(&j, '}');
}

static void
record_decision(const struct asked *asked, const struct approval_question *now,
    enum approval_end end)
{
	unsigned char object[LIMIT_EVENT_OBJECT], detail[LIMIT_EVENT_DETAIL];
	struct cursor_writer out = cursor_writer_of(object, sizeof(object));
	struct cursor_writer more = cursor_writer_of(detail, sizeof(detail));
	struct event event = event_empty();

	describe(asked, &out, &event);
	event.kind = EVENT_APPROVAL_DECISION;
	event.verdict = end == APPROVAL_GRANTED ? EVENT_ALLOW : EVENT_DENY;
	event.reason =
	    end == APPROVAL_GRANTED ? REASON_NONE : REASON_APPROVAL_DENIED;
	event.parent_seq = asked->seq > 0 ? asked->seq : -1;
	write_decision(asked, now, end, &more);
	event.detail = cursor_of(detail, more.used);
	if (sink_put(asked->consent->plane->sink, &event, NULL) != STATUS_OK)
		log_warning("a decision has no row: the audit is gone");
}

/* ---- questions ---- */

static struct asked *
find(struct consent *consent, const char *id)
{
	struct asked *asked;

	LIST_FOREACH(asked, &consent->open, entry)
		if (strcmp(asked->question.id, id) == 0)
			return asked;
	return NULL;
}

static void
forget(struct asked *asked)
{
	sink_forget(asked->consent->plane->sink, &asked->row);
	LIST_REMOVE(asked, entry);
	free(asked);
}

static void
arm(struct consent *consent)
{
	int64_t left =
	    approvals_deadline(consent->approvals) - clock_monotonic_us();
	struct timeval when = { 0 };

	if (LIST_EMPTY(&consent->open)) {
		(void)event_del(consent->timer);
		return;
	}
	if (left > 0)
		when = (struct timeval){ .tv_sec = left / US_A_SECOND,
			.tv_usec = left % US_A_SECOND };
	/* It cannot fail: the event exists and timers need no descriptor. */
	if (event_add(consent->timer, &when) != 0)
		log_warning("questions have no deadline");
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct consent *consent = arg;

	(void)fd;
	(void)what;
	approvals_expire(consent->approvals, clock_monotonic_us());
	arm(consent);
}

/* Of the approvals: a question is over. */
static void
on_question_over(
    const struct approval_question *question, enum approval_end end, void *arg)
{
	struct consent *consent = arg;
	struct asked *asked = find(consent, question->id);
	struct approval_over over = { .end = end,
		.grant_s = question->grant_s,
		.grant_uses = question->grant_uses };
	bool told;

	if (asked == NULL)
		return;
	told = asked->seq > 0;
	if (told)
		record_decision(asked, question, end);
	forget(asked);
	memcpy(over.id, question->id, sizeof(over.id));
	if (told && consent->events != NULL)
		consent->events->on_over(&over, consent->arg);
}

static void
on_row(struct sink_wait *wait, int64_t seq)
{
	struct asked *asked =
	    (struct asked *)((char *)wait - offsetof(struct asked, row));
	struct consent *consent = asked->consent;

	/* What is not written down is not asked. */
	if (seq == 0 || consent->events == NULL) {
		approvals_drop(consent->approvals, asked->question.id);
		arm(consent);
		return;
	}
	asked->seq = seq;
	consent->events->on_question(&asked->question, consent->arg);
}

/* The approvals have it already; what fails here takes it back. */
static bool
put_question(struct consent *consent, const struct flow *flow,
    const uint8_t *id, const struct approval_question *question)
{
	struct asked *asked = calloc(1, sizeof(*asked));

	if (asked == NULL)
		return false;
	asked->consent = consent;
	asked->question = *question;
	asked->row.on_accepted = on_row;
	asked->flow_id = flow->id;
	memcpy(asked->request, id, sizeof(asked->request));
	if (consent->events == NULL || !sink_is_open(consent->plane->sink) ||
	    record_asked(asked) != STATUS_OK) {
		free(asked);
		return false;
	}
	LIST_INSERT_HEAD(&consent->open, asked, entry);
	arm(consent);
	return true;
}

struct consent *
consent_new(struct plane *plane)
{
	struct consent *consent = calloc(1, sizeof(*consent));

	if (consent == NULL)
		return NULL;
	consent->plane = plane;
	LIST_INIT(&consent->open);
	consent->approvals =
	    approvals_new(plane->run->identity.run, on_question_over, consent);
	consent->timer =
	    event_new(loop_base(plane->loop), -1, 0, on_timer, consent);
	if (consent->approvals == NULL || consent->timer == NULL) {
		consent_free(consent);
		return NULL;
	}
	return consent;
}

void
consent_free(struct consent *consent)
{
	if (consent == NULL)
		return;
	while (!LIST_EMPTY(&consent->open))
		forget(LIST_FIRST(&consent->open));
	approvals_free(consent->approvals);
	if (consent->timer != NULL)
		event_free(consent->timer);
	free(consent);
}

void
consent_watch(
    struct consent *consent, const struct consent_events *events, void *arg)
{
	consent->events = events;
	consent->arg = arg;
}

int
consent_answer(struct consent *consent, const struct approval_answer *answer)
{
	const struct asked *asked = find(consent, answer->id);
	int status;

	/* Before its row there was nobody who could know of it. */
	if (asked == NULL || asked->seq == 0)
		return STATUS_NOT_FOUND;
	consent->answer = answer;
	status =
	    approvals_settle(consent->approvals, answer, clock_monotonic_us());
	consent->answer = NULL;
	arm(consent);
	return status;
}

void
consent_clear(struct consent *consent)
{
	approvals_clear(consent->approvals);
	arm(consent);
}

/* ---- requests ---- */

static bool
copy_text(struct cursor text, char *out, size_t size)
{
	if (text.left >= size)
		return false;
	if (text.left > 0)
		memcpy(out, text.at, text.left);
	out[text.left] = '\0';
	return true;
}

/* What a question is about, wherever it comes from. */
struct subject {
	const struct flow *flow;
	const struct verdict *verdict;
	struct cursor host, path, query, upgrade;
	const char *method;
	uint16_t port;
	bool tls, has_query;
};

static bool
copy_target(const struct subject *subject, char *out, size_t size)
{
	struct cursor_writer target = cursor_writer_of(out, size - 1);

	cursor_put(&target, subject->path.at, subject->path.left);
	if (subject->has_query) {
		cursor_put_u8(&target, '?');
		cursor_put(&target, subject->query.at, subject->query.left);
	}
	out[target.used] = '\0';
	return cursor_written(&target);
}

/* Who asks is told as far as it is known. */
static void
name_program(const struct flow *flow, struct approval_question *question)
{
	const struct sighting *sighting = program_sighting(flow->program);

	static_assert(
	    sizeof(question->program) == sizeof(sighting->exe), "a path fits");
	if (sighting != NULL)
		memcpy(question->program, sighting->exe, sizeof(sighting->exe));
}

/* False when something of it is too long for a person to read. */
static bool
make_question(const struct subject *subject, struct approval_question *ret)
{
	const struct rule *rule = subject->verdict->rule;
	const uint8_t *digest = policy_digest(subject->verdict->policy);
	struct approval_question question = { .port = subject->port,
		.tls = subject->tls,
		.timeout_s = rule->ask.timeout_s,
		.grant_s = rule->ask.grant_s,
		.grant_uses = rule->ask.grant_uses };

	if (digest == NULL)
		return false;
	memcpy(question.policy, digest, sizeof(question.policy));
	if (!copy_text(subject->host, question.host, sizeof(question.host)) ||
	    !copy_text(cursor_of_text(rule_id(rule)), question.rule,
		sizeof(question.rule)) ||
	    !copy_text(cursor_of_text(subject->method), question.method,
		sizeof(question.method)) ||
	    !copy_text(
		subject->upgrade, question.upgrade, sizeof(question.upgrade)) ||
	    !copy_target(subject, question.target, sizeof(question.target)))
		return false;
	name_program(subject->flow, &question);
	*ret = question;
	return true;
}

/* A name, or a literal written into room. */
static struct cursor
host_text(bool by_name, const struct hostname *host,
    const struct address *literal, char room[ADDRESS_TEXT_MAX])
{
	if (by_name)
		return cursor_of(host->text, host->length);
	address_print(literal, room);
	return cursor_of_text(room);
}

static bool
question_of_request(
    const struct consent_request *request, struct approval_question *ret)
{
	const struct flow *flow = request->flow;
	char literal[ADDRESS_TEXT_MAX];
	const struct subject subject = { .flow = flow,
		.verdict = request->verdict,
		.host = host_text(
		    flow->by_name, &flow->host, &flow->wanted.address, literal),
		.path = cursor_of(request->path->text, request->path->length),
		.query = request->head->query,
		.has_query = request->head->has_query,
		.upgrade = request->head->upgrade,
		.method = request->head->method,
		.port = flow->wanted.port,
		.tls = flow->protocol == SNIFF_TLS };

	return make_question(&subject, ret);
}

static bool
question_of_proposal(
    const struct consent_proposal *proposal, struct approval_question *ret)
{
	const struct facts *facts = proposal->facts;
	char literal[ADDRESS_TEXT_MAX];
	const struct subject subject = { .flow = proposal->flow,
		.verdict = proposal->verdict,
		.host = host_text(
		    facts->by_name, &facts->host, &facts->literal, literal),
		.path = cursor_of(facts->path->text, facts->path->length),
		.query = facts->query,
		.has_query = facts->query.left > 0,
		.upgrade = facts->upgrade,
		.method = facts->method,
		.port = facts->port,
		.tls = proposal->tls };

	return make_question(&subject, ret) &&
	       copy_text(proposal->words, ret->words, sizeof(ret->words));
}

static enum consent_now
refuse(struct consent_ask *ask, enum reason reason, const char *cause)
{
	ask->reason = reason;
	ask->cause = cause;
	return CONSENT_REFUSED;
}

/* Its connection waits no longer, but the question stays open. */
static void
on_held_long(evutil_socket_t fd, short what, void *arg)
{
	struct consent_ask *ask = arg;

	(void)fd;
	(void)what;
	approvals_leave(&ask->wait);
	consent_forget(ask);
	ask->on_answer(ask, REASON_APPROVAL_NEEDED);
}

static void
on_end(struct approvals_wait *wait, enum approval_end end)
{
	struct consent_ask *ask = (struct consent_ask *)wait;

	static_assert(offsetof(struct consent_ask, wait) == 0, "it is first");
	consent_forget(ask);
	if (end == APPROVAL_REPLACED)
		ask->on_replaced(ask);
	else
		ask->on_answer(ask, end == APPROVAL_GRANTED
					? REASON_NONE
					: REASON_APPROVAL_DENIED);
}

static enum consent_now
hold(struct consent *consent, struct consent_ask *ask)
{
	static const struct timeval held = { .tv_sec =
						 LIMIT_ASK_HOLD_MS / 1000 };

	ask->wait.on_end = on_end;
	ask->hold = event_new(
	    loop_base(consent->plane->loop), -1, 0, on_held_long, ask);
	if (ask->hold == NULL || event_add(ask->hold, &held) != 0 ||
	    !approvals_join(consent->approvals, ask->id, &ask->wait)) {
		consent_forget(ask);
		return refuse(ask, REASON_APPROVAL_NEEDED, NULL);
	}
	return CONSENT_WAITING;
}

enum consent_now
consent_ask(struct consent *consent, const struct consent_request *request,
    struct consent_ask *ask)
{
	struct approval_question question;
	enum approvals_answer answer;

	if (!question_of_request(request, &question))
		return refuse(ask, REASON_APPROVAL_DENIED,
		    "it is too long to be shown to a person");
	answer =
	    approvals_ask(consent->approvals, &question, clock_monotonic_us());
	memcpy(ask->id, question.id, sizeof(ask->id));
	switch (answer) {
	case APPROVALS_YES:
		return CONSENT_GIVEN;
	case APPROVALS_NO:
		return refuse(ask, REASON_APPROVAL_DENIED, NULL);
	case APPROVALS_FULL:
		return refuse(
		    ask, REASON_APPROVAL_NEEDED, "too many questions are open");
	case APPROVALS_NEW:
		if (put_question(
			consent, request->flow, request->id, &question))
			break;
		approvals_drop(consent->approvals, question.id);
		return refuse(ask, REASON_AUDIT_UNAVAILABLE, NULL);
	case APPROVALS_WAIT:
		break;
	}
	return hold(consent, ask);
}

enum consent_now
consent_propose(struct consent *consent,
    const struct consent_proposal *proposal, char ret_id[LIMIT_ASK_ID + 1],
    enum reason *ret_reason)
{
	struct approval_question question;
	enum approvals_answer answer;

	*ret_reason = REASON_APPROVAL_DENIED;
	if (!question_of_proposal(proposal, &question))
		return CONSENT_REFUSED;
	answer = approvals_propose(
	    consent->approvals, &question, clock_monotonic_us());
	if (answer == APPROVALS_NEW &&
	    !put_question(consent, proposal->flow, proposal->id, &question)) {
		approvals_drop(consent->approvals, question.id);
		*ret_reason = REASON_AUDIT_UNAVAILABLE;
		return CONSENT_REFUSED;
	}
	switch (answer) {
	case APPROVALS_YES:
		return CONSENT_GIVEN;
	case APPROVALS_NO:
		return CONSENT_REFUSED;
	case APPROVALS_FULL:
		*ret_reason = REASON_APPROVAL_NEEDED;
		return CONSENT_REFUSED;
	case APPROVALS_NEW:
	case APPROVALS_WAIT:
		break;
	}
	memcpy(ret_id, question.id, sizeof(question.id));
	return CONSENT_WAITING;
}

void
consent_forget(struct consent_ask *ask)
{
	approvals_leave(&ask->wait);
	if (ask->hold != NULL)
		event_free(STEAL(ask->hold));
}
