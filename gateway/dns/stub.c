#include "gateway/dns/stub.h"

#include "gateway/audit/sink.h"
#include "gateway/dns/names.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/log.h"
#include "gateway/run/fold.h"
#include "gateway/run/lures.h"
#include "gateway/run/run.h"
#include "policy/facts.h"
#include "policy/policy.h"
#include "policy/rule.h"
#include "policy/stack.h"
#include "policy/suffix.h"
#include "policy/verdict.h"
#include "schema/event.h"
#include "schema/json.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names never change their address in a run; a policy may change. */
#define ANSWER_TTL 60

/* Questions that were refused and have their row: one slot a hash. */
#define REFUSED_SLOTS 4096

struct stub {
	struct run *run;
	struct names *names;
	struct sink *sink;
	struct fold *fold; /* of the refused questions that are new */
	uint64_t refused[REFUSED_SLOTS];
};

/* What is found out about one question. */
struct ruling {
	struct verdict verdict;
	enum reason reason;
	struct address address;
	bool has_address;
	bool is_new; /* it deserves a row */
};

struct stub *
stub_new(struct run *run, struct names *names, struct sink *sink)
{
	struct stub *stub = calloc(1, sizeof(*stub));

	if (stub == NULL)
		return NULL;
	stub->run = run;
	stub->names = names;
	stub->sink = sink;
	stub->fold = fold_new();
	if (stub->fold == NULL) {
		free(stub);
		return NULL;
	}
	return stub;
}

void
stub_free(struct stub *stub)
{
	if (stub == NULL)
		return;
	fold_free(stub->fold);
	free(stub);
}

/* Whether this question was refused lately; marks it as such if told to. */
static bool
was_refused(struct stub *stub, const struct dns_query *query, bool mark)
{
	uint64_t hash = 0xcbf29ce484222325 ^ query->type;
	uint64_t *slot;

	for (size_t i = 0; i < query->name_length; i++) {
		hash ^= query->name[i];
		hash *= 0x100000001b3;
	}
	slot = &stub->refused[(hash ^ hash >> 32) % REFUSED_SLOTS];
	if (*slot == hash)
		return true;
	if (mark)
		*slot = hash;
	return false;
}

static void
give_address(
    struct stub *stub, const struct dns_query *query, struct ruling *ruling)
{
	struct name_addresses both;

	/* A name that has no row is not given: it would never get one. */
	if (!sink_is_open(stub->sink) &&
	    !names_know(stub->names, &query->host)) {
		ruling->is_new = true;
		return;
	}
	if (names_give(stub->names, &query->host, &both, &ruling->is_new) !=
	    STATUS_OK) {
		ruling->reason = REASON_OVERLOAD;
		ruling->is_new = true;
		return;
	}
	ruling->has_address = true;
	ruling->address = query->type == DNS_TYPE_A ? both.v4 : both.v6;
}

/* What the gateway answers itself needs no rule. */
static bool
is_ours(const struct stub *stub, const struct hostname *host)
{
	if (names_is_internal(host))
		return true;
	return names_is_metadata(host) &&
	       lures_cloud(stub->run->lures, ORDER_CLOUD_GCP, false) != NULL;
}

static void
rule_on(struct stub *stub, const struct dns_query *query, struct ruling *ruling)
{
	struct facts facts = { .stage = STAGE_NAME,
		.now_us = clock_wall_us(),
		.by_name = true,
		.host = query->host };

	*ruling = (struct ruling){ .verdict = { .kind = VERDICT_DENY } };
	if (!hostname_is_set(&query->host) || query->class != DNS_CLASS_IN) {
		ruling->reason = REASON_DNS_POLICY;
		return;
	}
	/* A name of the world could carry it out, whoever allows the name. */
	if (lures_find_in_name(stub->run->lures,
		cursor_of(query->host.text, query->host.length)) != NULL) {
		ruling->reason = REASON_PLACEHOLDER_LEAK;
		return;
	}
	if (is_ours(stub, &query->host))
		ruling->verdict.kind = VERDICT_ALLOW;
	else
		stack_decide(stub->run->stack, &facts, &ruling->verdict);
	if (ruling->verdict.kind == VERDICT_DENY) {
		ruling->reason = ruling->verdict.reason;
		return;
	}
	if (query->type == DNS_TYPE_A || query->type == DNS_TYPE_AAAA)
		give_address(stub, query, ruling);
	else if (query->type != DNS_TYPE_HTTPS && query->type != DNS_TYPE_SVCB)
		ruling->reason = REASON_DNS_POLICY;
}

/*
 * No is for good: of REFUSED and SERVFAIL a C library says that it is a
 * temporary failure, and programs ask again.
 */
static enum dns_rcode
rcode_of(enum reason reason)
{
	if (reason == REASON_NONE)
		return DNS_NOERROR;
	/* The name is there, this about it is not to be had. */
	if (reason == REASON_DNS_POLICY)
		return DNS_REFUSED;
	return reason_entry(reason)->fault == FAULT_POLICY ? DNS_NXDOMAIN
							   : DNS_SERVFAIL;
}

static void
record(struct stub *stub, const struct dns_query *query,
    const struct ruling *ruling, enum dns_rcode rcode)
{
	char name[DNS_NAME_TEXT_MAX], type[DNS_TYPE_TEXT_MAX];
	struct event event = event_empty();
	bool refused = ruling->reason != REASON_NONE;
	const uint8_t *digest;

	dns_name_print(query, name);
	dns_type_print(query->type, type);
	event.kind = EVENT_DNS;
	event.verdict = refused ? EVENT_DENY : EVENT_ALLOW;
	event.reason = ruling->reason;
	if (!refused && ruling->verdict.would_deny) {
		event.verdict = EVENT_WOULD_DENY;
		event.reason = ruling->verdict.reason;
	}
	event.ts_us = clock_wall_us();
	event.l7 = EVENT_L7_DNS;
	event.verb = cursor_of_text(type);
	event.object = cursor_of_text(name);
	event.host = cursor_of(query->host.text, query->host.length);
	event.status = rcode;
	digest = ruling->verdict.policy == NULL
		     ? NULL
		     : policy_digest(ruling->verdict.policy);
	if (ruling->verdict.rule != NULL && digest != NULL) {
		event.rule = cursor_of_text(rule_id(ruling->verdict.rule));
		event.policy = cursor_of(digest, POLICY_DIGEST);
	}
	run_count(stub->run, &event);
	if (sink_put(stub->sink, &event, NULL) != STATUS_OK)
		log_warning("a question has no row: the audit is gone");
}

/* ---- many refusals ---- */

static void
record_sum(struct stub *stub, const struct fold_sum *sum)
{
	char type[DNS_TYPE_TEXT_MAX], detail[LIMIT_HOST * 6 + 64];
	struct cursor_writer out = cursor_writer_of(detail, sizeof(detail));
	struct event event = event_empty();
	struct json j = json_to(&out);

	json_open(&j, NULL, '{');
	json_number(&j, "count", (int64_t)sum->count);
	if (sum->zone[0] != '\0')
		json_text(&j, "zone", sum->zone);
	json_close(&j, '}');
	dns_type_print(sum->number, type);
	event.kind = EVENT_DNS;
	event.verdict = EVENT_DENY;
	event.reason = sum->reason;
	event.ts_us = clock_wall_us();
	event.l7 = EVENT_L7_DNS;
	event.verb = cursor_of_text(type);
	event.object = cursor_of_text(sum->what);
	/* Without a zone in common it was perhaps no host name. */
	if (sum->zone[0] != '\0')
		event.host = event.object;
	event.status = rcode_of(sum->reason);
	if (cursor_written(&out))
		event.detail = cursor_of(out.bytes, out.used);
	run_count(stub->run, &event);
	if (sink_put(stub->sink, &event, NULL) != STATUS_OK)
		log_warning("refused questions have no row: the audit is gone");
}

static void
record_sums(struct stub *stub, int64_t now_us)
{
	struct fold_sum sum;

	while (fold_take(stub->fold, now_us, &sum))
		record_sum(stub, &sum);
}

/* What somebody registered: names below it are as many as they like. */
static struct cursor
zone_of(const struct hostname *host)
{
	size_t at = host->length;

	while (at > 0) {
		at--;
		if ((at == 0 || host->text[at - 1] == '.') &&
		    !suffix_is_public(host->text + at))
			break;
	}
	return cursor_of(host->text + at, host->length - at);
}

/* Whether a refused question that is new has a row; else it is counted. */
static bool
has_own_row(struct stub *stub, const struct dns_query *query,
    const struct ruling *ruling)
{
	char name[DNS_NAME_TEXT_MAX];
	struct fold_item item = { .zone = zone_of(&query->host),
		.number = query->type,
		.reason = ruling->reason };
	int64_t now_us = clock_monotonic_us();

	dns_name_print(query, name);
	item.what = cursor_of_text(name);
	if (hostname_is_set(&query->host))
		item.what = cursor_of(query->host.text, query->host.length);
	record_sums(stub, now_us);
	return fold_admits(stub->fold, &item, now_us);
}

/* Writes a question down that is new; STATUS_CLOSED when nobody takes it. */
static int
write_down(struct stub *stub, const struct dns_query *query,
    const struct ruling *ruling)
{
	if (!ruling->is_new)
		return STATUS_OK;
	if (!sink_is_open(stub->sink))
		return STATUS_CLOSED;
	if (ruling->reason == REASON_NONE || has_own_row(stub, query, ruling))
		record(stub, query, ruling, rcode_of(ruling->reason));
	return STATUS_OK;
}

void
stub_finish(struct stub *stub)
{
	record_sums(stub, INT64_MAX);
}

enum reason
stub_ask(struct stub *stub, const struct hostname *host, struct address *ret)
{
	bool is_open = sink_is_open(stub->sink);
	struct dns_query query;
	struct ruling ruling;

	dns_query_for(host, DNS_TYPE_A, &query);
	rule_on(stub, &query, &ruling);
	if (ruling.reason != REASON_NONE)
		ruling.is_new = !was_refused(stub, &query, is_open);
	if (write_down(stub, &query, &ruling) != STATUS_OK)
		return REASON_AUDIT_UNAVAILABLE;
	if (ruling.reason == REASON_NONE)
		*ret = ruling.address;
	return ruling.reason;
}

bool
stub_answer(struct stub *stub, struct cursor message,
    enum dns_transport transport, struct cursor_writer *out)
{
	struct dns_query query;
	struct ruling ruling;
	struct dns_answer answer = { .rcode = DNS_NOERROR, .ttl = ANSWER_TTL };
	const struct reason_entry *entry;
	bool is_open = sink_is_open(stub->sink);
	char text[128];
	int length;

	if (dns_query_parse(message, &query) != STATUS_OK)
		return false;
	if (query.fault != DNS_NOERROR) {
		answer.rcode = query.fault;
		return dns_answer_write(&query, &answer, transport, out) ==
		       STATUS_OK;
	}
	rule_on(stub, &query, &ruling);
	if (ruling.reason != REASON_NONE) {
		entry = reason_entry(ruling.reason);
		length = snprintf(text, sizeof(text), "exeat: %s: %s",
		    entry->id, entry->title);
		answer.rcode = rcode_of(ruling.reason);
		answer.has_ede = true;
		answer.ede = entry->ede;
		answer.ede_text = length < 0 ? NULL : text;
		ruling.is_new = !was_refused(stub, &query, is_open);
	}
	if (ruling.has_address) {
		answer.addresses = &ruling.address;
		answer.count = 1;
	}
	/* Without a row there is no name: what it leads to is unknown. */
	if (write_down(stub, &query, &ruling) != STATUS_OK)
		answer = (struct dns_answer){ .rcode = DNS_SERVFAIL };
	return dns_answer_write(&query, &answer, transport, out) == STATUS_OK;
}
