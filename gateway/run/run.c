#include "gateway/run/run.h"

#include "gateway/run/budget.h"
#include "gateway/tls/leaf_cache.h"
#include "gateway/tls/run_ca.h"
#include "policy/stack.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <string.h>

int
run_init(struct run *ret, const struct order_begin *identity,
    struct stack *stack, int64_t wall_us, struct problem *reterr)
{
	struct run run = { .identity = *identity, .stack = stack };

	run.ca = run_ca_new(identity->run, wall_us, reterr);
	if (run.ca == NULL)
		goto fail;
	run.leaves = leaf_cache_new(run.ca, reterr);
	if (run.leaves == NULL)
		goto fail;
	run.budget = budget_new();
	if (run.budget == NULL) {
		(void)problem_set(reterr, "there is no memory");
		goto fail;
	}
	*ret = run;
	return STATUS_OK;
fail:
	run_done(&run);
	return STATUS_PROBLEM;
}

void
run_done(struct run *run)
{
	if (run == NULL)
		return;
	budget_free(run->budget);
	leaf_cache_free(run->leaves);
	run_ca_free(run->ca);
	stack_unref(run->stack);
	memset(run, 0, sizeof(*run));
}

void
run_count(struct run *run, const struct event *event)
{
	if (event_is_request(event))
		run->tally.requests++;
	if (event_is_refusal(event))
		run->tally.refused++;
}

int64_t
run_flow_id(struct run *run)
{
	return ++run->next_flow;
}

void
run_request_id(struct run *run, uint8_t ret[EVENT_REQ_ID])
{
	struct cursor_writer out =
	    cursor_writer_of(ret + EVENT_REQ_ID / 2, EVENT_REQ_ID / 2);

	memcpy(ret, run->identity.id, EVENT_REQ_ID / 2);
	cursor_put_u64(&out, ++run->next_request);
}

void
run_request_print(const uint8_t id[EVENT_REQ_ID], char out[RUN_REQUEST_TEXT])
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < EVENT_REQ_ID; i++) {
		out[2 * i] = hex[id[i] >> 4];
		out[2 * i + 1] = hex[id[i] & 15];
	}
	out[RUN_REQUEST_TEXT - 1] = '\0';
}
