#include "gateway/control/engine.h"

#include "gateway/audit/sink.h"
#include "gateway/dns/names.h"
#include "gateway/dns/port53.h"
#include "gateway/dns/stub.h"
#include "gateway/flow/accept.h"
#include "gateway/flow/caller.h"
#include "gateway/flow/carriers.h"
#include "gateway/flow/consent.h"
#include "gateway/flow/grants.h"
#include "gateway/flow/machine.h"
#include "gateway/flow/plane.h"
#include "gateway/flow/table.h"
#include "gateway/flow/trusts.h"
#include "gateway/flow/udp.h"
#include "gateway/net/pool.h"
#include "gateway/net/resolve.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/confine.h"
#include "gateway/proc/log.h"
#include "gateway/proc/loop.h"
#include "gateway/run/run.h"
#include "gateway/tls/inside.h"
#include "gateway/tls/stream.h"
#include "gateway/tls/trust_store.h"
#include "policy/stack.h"
#include "schema/json.h"
#include "schema/limits.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Buffers that lie ready between two bursts. */
enum {
	BUFFERS_KEPT = 64
};

struct engine {
	struct plane plane;
	struct run run;
	bool has_run;
	struct trust_store *roots;
	struct pool *records; /* of TLS streams */
	struct stub *stub;
	struct port53 *port53;
	struct accept *accept;
	struct event *grace;
};

static void
on_grace_over(evutil_socket_t fd, short what, void *arg)
{
	struct engine *engine = arg;

	(void)fd;
	(void)what;
	log_error("the audit takes no rows: all connections are ended");
	table_close_all(engine->plane.table, REASON_AUDIT_UNAVAILABLE);
}

static void
on_audit_change(bool open, void *arg)
{
	static const struct timeval grace = { .tv_sec =
						  LIMIT_AUDIT_GRACE_MS / 1000 };
	struct engine *engine = arg;

	if (open) {
		(void)event_del(engine->grace);
		log_warning("the audit takes rows again");
		return;
	}
	log_warning("the audit takes no rows: new requests are refused");
	if (event_add(engine->grace, &grace) != 0)
		on_grace_over(-1, 0, engine);
}

/* The parts that cannot say more than that there was no memory. */
static bool
make_parts(struct engine *engine, struct sink *sink)
{
	struct plane *plane = &engine->plane;

	plane->run = &engine->run;
	plane->sink = sink;
	plane->names = names_new();
	plane->buffers = pool_new(LIMIT_RELAY_BYTES, BUFFERS_KEPT);
	plane->table = table_new(LIMIT_FLOWS);
	engine->records = pool_new(STREAM_BUFFER, BUFFERS_KEPT);
	if (plane->names == NULL || plane->buffers == NULL ||
	    plane->table == NULL || engine->records == NULL)
		return false;
	plane->trusts =
	    trusts_new(trust_store_roots(engine->roots), engine->records);
	plane->consent = consent_new(plane);
	plane->carriers = carriers_new(plane, machine_makers());
	engine->stub = stub_new(plane->run, plane->names, sink);
	plane->stub = engine->stub;
	engine->grace =
	    event_new(loop_base(plane->loop), -1, 0, on_grace_over, engine);
	return plane->trusts != NULL && plane->consent != NULL &&
	       plane->carriers != NULL && engine->stub != NULL &&
	       engine->grace != NULL;
}

struct engine *
engine_start(struct loop *loop, struct sink *sink,
    const struct engine_order *order, struct problem *reterr)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (engine == NULL) {
		stack_unref(order->stack);
		if (order->lookout >= 0)
			(void)close(order->lookout);
		if (order->broker >= 0)
			(void)close(order->broker);
		(void)problem_set(reterr, "there is no memory");
		return NULL;
	}
	engine->plane.loop = loop;
	engine->plane.house = order->house;
	if (order->lookout >= 0)
		engine->plane.caller = caller_new(loop, order->lookout);
	if (order->broker >= 0) {
		engine->plane.grants = grants_new(loop, order->broker);
		if (engine->plane.grants == NULL) {
			stack_unref(order->stack);
			(void)problem_set(reterr, "there is no memory");
			goto fail;
		}
	}
	if (run_init(&engine->run, &order->identity, order->stack,
		clock_wall_us(), reterr) != STATUS_OK)
		goto fail;
	engine->has_run = true;
	engine->run.lures = order->lures;
	engine->roots = trust_store_new(reterr);
	if (engine->roots == NULL)
		goto fail;
	if (!make_parts(engine, sink)) {
		(void)problem_set(reterr, "there is no memory");
		goto fail;
	}
	engine->plane.resolver =
	    resolver_new(loop_base(loop), NULL, NULL, reterr);
	if (engine->plane.resolver == NULL)
		goto fail;
	engine->plane.inside = inside_new(engine->records, reterr);
	if (engine->plane.inside == NULL)
		goto fail;
	sink_watch(sink, on_audit_change, engine);
	return engine;
fail:
	engine_free(engine);
	return NULL;
}

void
engine_free(struct engine *engine)
{
	struct plane *plane;

	if (engine == NULL)
		return;
	plane = &engine->plane;
	if (plane->sink != NULL)
		sink_watch(plane->sink, NULL, NULL);
	accept_free(engine->accept);
	port53_free(engine->port53);
	if (plane->table != NULL)
		table_close_all(plane->table, REASON_STOPPING);
	loop_settle(plane->loop);
	table_free(plane->table);
	udp_free(plane->udp);
	carriers_free(plane->carriers);
	consent_free(plane->consent);
	grants_free(plane->grants);
	caller_free(plane->caller);
	stub_free(engine->stub);
	trusts_free(plane->trusts);
	inside_free(plane->inside);
	resolver_free(plane->resolver);
	names_free(plane->names);
	pool_free(plane->buffers);
	pool_free(engine->records);
	trust_store_free(engine->roots);
	if (engine->grace != NULL)
		event_free(engine->grace);
	if (engine->has_run)
		run_done(&engine->run);
	free(engine);
}

/* Who asks is evidence: a run goes on where it cannot be told. */
static void
watch_callers(struct plane *plane, int diag)
{
	if (plane->caller != NULL &&
	    caller_place(plane->caller, diag) != STATUS_OK)
		log_warning("which program connects cannot be told");
}

/* What the sandbox shall trust, in every form that programs read. */
static int
make_trust(const struct engine *engine, int ret[HANDOFF_TRUST_COUNT],
    struct problem *reterr)
{
	int status = trust_store_bundle(
	    engine->roots, engine->run.ca, &ret[HANDOFF_BUNDLE], reterr);

	if (status != STATUS_OK)
		return status;
	status = trust_store_keystore(
	    engine->roots, engine->run.ca, &ret[HANDOFF_KEYSTORE], reterr);
	if (status != STATUS_OK)
		(void)close(ret[HANDOFF_BUNDLE]);
	return status;
}

/* Takes every socket of fds but the one for diagnosis, also on failure. */
static int
open_doors(struct engine *engine, const int fds[HANDOFF_FD_COUNT],
    struct problem *reterr)
{
	struct plane *plane = &engine->plane;
	struct udp_doors doors = { .any4 = fds[HANDOFF_ANY4],
		.any6 = fds[HANDOFF_ANY6],
		.raw4 = fds[HANDOFF_RAW4],
		.raw6 = fds[HANDOFF_RAW6] };

	engine->port53 = port53_new(plane->loop, engine->stub,
	    fds[HANDOFF_UDP4], fds[HANDOFF_UDP6], reterr);
	plane->udp = udp_new(plane, &doors, reterr);
	if (engine->port53 == NULL || plane->udp == NULL) {
		(void)close(fds[HANDOFF_TCP4]);
		(void)close(fds[HANDOFF_TCP6]);
		return STATUS_PROBLEM;
	}
	engine->accept = accept_new(plane, engine->port53, fds[HANDOFF_TCP4],
	    fds[HANDOFF_TCP6], reterr);
	return engine->accept == NULL ? STATUS_PROBLEM : STATUS_OK;
}

int
engine_listen(struct engine *engine, const int fds[HANDOFF_FD_COUNT],
    int ret_trust[HANDOFF_TRUST_COUNT], struct problem *reterr)
{
	int status;

	if (engine->accept != NULL) {
		for (int i = 0; i < HANDOFF_FD_COUNT; i++)
			(void)close(fds[i]);
		return STATUS_REFUSED;
	}
	watch_callers(&engine->plane, fds[HANDOFF_DIAG]);
	(void)close(fds[HANDOFF_DIAG]);
	status = open_doors(engine, fds, reterr);
	if (status != STATUS_OK)
		return status;
	status = make_trust(engine, ret_trust, reterr);
	if (status != STATUS_OK)
		return status;
	/* All that was to be opened is open, and nothing foreign was read. */
	status = confine_enter(CONFINE_GATEWAY, -1, reterr);
	for (int i = 0; status != STATUS_OK && i < HANDOFF_TRUST_COUNT; i++)
		(void)close(ret_trust[i]);
	return status;
}

static void
write_digests(struct json *j, const char *key, const struct stack *stack)
{
	static const char hex[] = "0123456789abcdef";

	json_open(j, key, '[');
	for (size_t i = 0; i < stack_count(stack); i++) {
		const uint8_t *digest = policy_digest(stack_layer(stack, i));
		char text[2 * POLICY_DIGEST + 1] = "";

		for (size_t k = 0; digest != NULL && k < POLICY_DIGEST; k++) {
			text[2 * k] = hex[digest[k] >> 4];
			text[2 * k + 1] = hex[digest[k] & 15];
		}
		json_text(j, NULL, text);
	}
	json_close(j, ']');
}

static int
record_swap(
    const struct engine *engine, const struct stack *stack, const char *by)
{
	unsigned char detail[LIMIT_EVENT_DETAIL];
	struct cursor_writer out = cursor_writer_of(detail, sizeof(detail));
	struct json j = json_to(&out);
	struct event event = event_empty();

	json_open(&j, NULL, '{');
	json_text(&j, "by", by);
	write_digests(&j, "old", engine->run.stack);
	write_digests(&j, "new", stack);
	json_close(&j, '}');
	if (!cursor_written(&out) || !sink_is_open(engine->plane.sink))
		return STATUS_CLOSED;
	event.kind = EVENT_ADMIN;
	event.verdict = EVENT_INFO;
	event.ts_us = clock_wall_us();
	event.object = cursor_of_text("policy_set");
	event.detail = cursor_of(out.bytes, out.used);
	return sink_put(engine->plane.sink, &event, NULL);
}

int
engine_swap(struct engine *engine, struct stack *stack, const char *by,
    struct problem *reterr)
{
	struct stack *old = engine->run.stack;

	if (record_swap(engine, stack, by) != STATUS_OK) {
		stack_unref(stack);
		return problem_set(reterr,
		    "the audit takes no rows, so the policy stays as it is");
	}
	engine->run.stack = stack;
	consent_clear(engine->plane.consent);
	carriers_retire_all(engine->plane.carriers);
	table_judge_again(engine->plane.table);
	/* Flows and requests hold on to the one that they were judged by. */
	stack_unref(old);
	return STATUS_OK;
}

struct consent *
engine_consent(const struct engine *engine)
{
	return engine->plane.consent;
}

void
engine_stop(struct engine *engine, enum reason reason)
{
	accept_free(STEAL(engine->accept));
	port53_free(STEAL(engine->port53));
	table_close_all(engine->plane.table, reason);
	udp_stop(engine->plane.udp);
	stub_finish(engine->stub);
	loop_settle(engine->plane.loop);
}

struct order_tally
engine_tally(const struct engine *engine)
{
	struct order_tally tally = engine->run.tally;

	tally.names = names_count(engine->plane.names);
	return tally;
}
