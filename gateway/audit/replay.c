#include "gateway/audit/replay.h"

#include "gateway/audit/across.h"
#include "policy/stack.h"
#include "schema/status.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * A request is an intent, or a refusal without one; what passed unread, or
 * was refused before it could be read, is its flow; a name that nothing
 * allows is its lookup.  Reasons are those that policies give.
 */
static const struct question question = {
	"SELECT d.host, e.dst_port, e.kind, e.verdict, ifnull(e.tls, -1) AS "
	"tls, e.verb, e.object, max(ifnull(e.dst_ip, h.dst_ip)) AS dst_ip, "
	"min(e.ts_us) AS ts_us, count(*) AS times, ifnull(ru.name, r.name) AS "
	"why, max(cr.name) AS cred, ifnull(e.l7, -1) = 10 AS udp "
	"FROM event e JOIN dst d ON d.id = e.dst_id "
	/* An intent does not know yet where it will lead: its end does. */
	"LEFT JOIN (SELECT parent_seq, max(dst_ip) AS dst_ip FROM event "
	"WHERE kind IN (1, 2) AND parent_seq IS NOT NULL "
	"GROUP BY parent_seq) h "
	"ON h.parent_seq = e.seq "
	"LEFT JOIN sandbox s ON s.id = e.sandbox_id "
	"LEFT JOIN rule ru ON ru.id = e.rule_id "
	"LEFT JOIN cred cr ON cr.id = e.cred_id "
	"LEFT JOIN reason r ON r.id = e.reason "
	"WHERE (:run = '' OR s.uid = :run) AND e.verdict IN (1, 2, 3) "
	"AND (e.verdict <> 2 OR e.reason IN (1, 2, 3, 4, 6, 12, 13, 19)) "
	"AND (e.kind = 4 OR (e.kind = 1 AND e.parent_seq IS NULL) "
	"OR (e.kind = 3 AND (e.verdict = 2 OR ifnull(e.tls, 0) < -1 "
	"OR ifnull(e.l7, -1) IN (0, 10))) OR (e.kind = 5 AND e.verdict <> 1)) "
	"GROUP BY d.host, e.dst_port, e.kind, e.verdict, ifnull(e.tls, -1), "
	"ifnull(e.l7, -1) = 10, e.verb, e.object, why, e.cred_id "
	"ORDER BY d.host, e.dst_port, e.object, e.verb, e.kind, e.verdict, "
	"why",
	NULL,
	"SELECT host, dst_port, kind, verdict, tls, verb, object, "
	"max(dst_ip), min(ts_us), sum(times), why, cred, udp FROM part "
	"GROUP BY host, dst_port, kind, verdict, tls, verb, object, why, cred, "
	"udp "
	"ORDER BY host, dst_port, object, verb, kind, verdict, why"
};

enum column {
	COLUMN_HOST,
	COLUMN_PORT,
	COLUMN_KIND,
	COLUMN_VERDICT,
	COLUMN_TLS,
	COLUMN_VERB,
	COLUMN_OBJECT,
	COLUMN_ADDRESS,
	COLUMN_TIME,
	COLUMN_TIMES,
	COLUMN_WHY,
	COLUMN_CREDENTIAL,
	COLUMN_UDP, /* 1: datagrams */
	COLUMN_COUNT
};

enum {
	KIND_HTTP = 1,
	KIND_FLOW = 3,
	KIND_INTENT = 4,
	KIND_DNS = 5,
	VERDICT_ROW_ALLOW = 1,
	VERDICT_ROW_DENY = 2
};

static const char *const answer_names[] = {
	[REPLAY_ALLOWED] = "allow",
	[REPLAY_DENIED] = "deny",
	[REPLAY_WOULD_DENY] = "would_deny",
};

static_assert(
    sizeof(answer_names) / sizeof(answer_names[0]) == REPLAY_ANSWER_COUNT,
    "every answer has a name");

const char *
replay_answer_name(enum replay_answer answer)
{
	return answer_names[answer];
}

/* False when it is empty or has no room. */
static bool
copy_text(const struct query_cell *cell, char *out, size_t size)
{
	if (cell->type != QUERY_TEXT || cell->text.left == 0 ||
	    cell->text.left >= size)
		return false;
	memcpy(out, cell->text.at, cell->text.left);
	out[cell->text.left] = '\0';
	return true;
}

static bool
read_host(const struct query_cell *cell, struct replay_attempt *attempt)
{
	struct facts *facts = &attempt->facts;

	if (!copy_text(cell, attempt->host, sizeof(attempt->host)))
		return false;
	if (address_parse(attempt->host, strlen(attempt->host),
		&facts->literal) == STATUS_OK)
		return true;
	facts->by_name = true;
	return hostname_parse(attempt->host, strlen(attempt->host),
		   &facts->host) == STATUS_OK;
}

static void
read_address(const struct query_cell *cell, struct address *ret)
{
	if (cell->type == QUERY_BLOB && cell->text.left == 4)
		*ret = address_v4(cell->text.at);
	if (cell->type == QUERY_BLOB && cell->text.left == 16)
		*ret = address_v6(cell->text.at);
}

static bool
read_request(const struct query_cell *cells, struct replay_attempt *attempt)
{
	struct facts *facts = &attempt->facts;

	facts->stage = STAGE_REQUEST;
	facts->protocol = FACT_PROTOCOL_HTTP;
	if (!copy_text(&cells[COLUMN_VERB], attempt->method,
		sizeof(attempt->method)) ||
	    cells[COLUMN_OBJECT].type != QUERY_TEXT ||
	    urlpath_parse(cells[COLUMN_OBJECT].text, &attempt->path,
		&facts->query) != STATUS_OK)
		return false;
	facts->method = attempt->method;
	facts->path = &attempt->path;
	attempt->has_query = facts->query.left > 0;
	return true;
}

/* Below -1 it was TLS that passed unread; -1, nobody looked. */
static bool
read_flow(int64_t tls, bool udp, struct replay_attempt *attempt)
{
	struct facts *facts = &attempt->facts;

	facts->stage = STAGE_HELLO;
	facts->protocol =
	    tls < -1 || tls > 0 ? FACT_PROTOCOL_TLS : FACT_PROTOCOL_TCP;
	if (udp)
		facts->protocol = FACT_PROTOCOL_UDP;
	return true;
}

static bool
read_attempt(const struct query_cell *cells, struct replay_attempt *attempt)
{
	int64_t verdict = cells[COLUMN_VERDICT].number;
	int64_t port = cells[COLUMN_PORT].number;
	struct facts *facts = &attempt->facts;

	facts->last = true;
	facts->now_us = cells[COLUMN_TIME].number;
	facts->query = facts->upgrade = cursor_of("", 0);
	attempt->times = cells[COLUMN_TIMES].number;
	attempt->before = verdict == VERDICT_ROW_ALLOW	? REPLAY_ALLOWED
			  : verdict == VERDICT_ROW_DENY ? REPLAY_DENIED
							: REPLAY_WOULD_DENY;
	(void)copy_text(&cells[COLUMN_WHY], attempt->why, sizeof(attempt->why));
	(void)copy_text(&cells[COLUMN_CREDENTIAL], attempt->credential,
	    sizeof(attempt->credential));
	read_address(&cells[COLUMN_ADDRESS], &attempt->led_to);
	if (!read_host(&cells[COLUMN_HOST], attempt))
		return false;
	if (cells[COLUMN_KIND].number == KIND_DNS) {
		facts->stage = STAGE_NAME;
		facts->last = false;
		return true;
	}
	if (port < 1 || port > UINT16_MAX)
		return false;
	facts->port = (uint16_t)port;
	if (cells[COLUMN_KIND].number == KIND_FLOW)
		return read_flow(cells[COLUMN_TLS].number,
		    cells[COLUMN_UDP].number == 1, attempt);
	return read_request(cells, attempt);
}

struct reading {
	replay_heard *heard;
	void *arg;
	bool no_memory;
};

/* A row that is no question to a policy, such as one for our own, is passed
 * over. */
static bool
on_row(const struct query_cell *cells, size_t count, void *arg)
{
	struct reading *reading = arg;
	struct replay_attempt *attempt = calloc(1, sizeof(*attempt));
	bool more = true;

	if (attempt == NULL || count < COLUMN_COUNT) {
		reading->no_memory = true;
		free(attempt);
		return false;
	}
	if (read_attempt(cells, attempt))
		more = reading->heard(attempt, reading->arg);
	free(attempt);
	return more;
}

int
replay_attempts(struct query *query, const char *run, replay_heard *heard,
    void *arg, bool *ret_cut, struct problem *reterr)
{
	const struct query_value value = { .name = "run",
		.text = cursor_of_text(run) };
	const struct query_values values = { &value, 1 };
	struct reading reading = { .heard = heard, .arg = arg };
	const struct query_reader reader = { NULL, on_row, &reading };
	int status =
	    across_ask(query, &question, &values, &reader, ret_cut, reterr);

	if (status == STATUS_OK && reading.no_memory)
		return problem_set(reterr, "there is not enough memory");
	return status;
}

/* ---- answering ---- */

static bool
is_same(enum replay_answer before, const struct verdict *verdict)
{
	return (before == REPLAY_ALLOWED) == (verdict->kind == VERDICT_ALLOW);
}

static void
weigh_one(const struct replay_attempt *attempt, const struct facts *facts,
    const struct stack *stack, struct verdict *ret)
{
	stack_decide(stack, facts, ret);
	/* Where it led then it would lead again. */
	if (ret->kind == VERDICT_ALLOW && address_is_set(&attempt->led_to) &&
	    !stack_may_dial(stack, facts, &attempt->led_to)) {
		ret->kind = VERDICT_DENY;
		ret->reason = REASON_SPECIAL_ADDRESS;
		ret->rule = NULL;
	}
}

void
replay_weigh(const struct replay_attempt *attempt, const struct stack *stack,
    struct verdict *ret)
{
	static const enum fact_protocol others[] = { FACT_PROTOCOL_SSH,
		FACT_PROTOCOL_TLS };
	struct facts facts = attempt->facts;
	struct verdict other;

	/* The attempt may have been moved since it was read. */
	if (facts.method != NULL) {
		facts.method = attempt->method;
		facts.path = &attempt->path;
	}
	weigh_one(attempt, &facts, stack, ret);
	if (facts.protocol != FACT_PROTOCOL_TCP)
		return;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		facts.protocol = others[i];
		weigh_one(attempt, &facts, stack, &other);
		if (!is_same(attempt->before, ret) &&
		    is_same(attempt->before, &other))
			*ret = other;
	}
}
