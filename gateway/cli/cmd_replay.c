#include "gateway/cli/cmd_replay.h"

#include "gateway/audit/query.h"
#include "gateway/audit/replay.h"
#include "gateway/audit/summary.h"
#include "gateway/cli/command.h"
#include "gateway/cli/layering.h"
#include "gateway/cli/outlet.h"
#include "gateway/cli/settings.h"
#include "policy/stack.h"
#include "policy/suggest.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
complain(const struct problem *problem)
{
	(void)fprintf(stderr, "exeat policy: %s\n", problem->text);
	if (problem->cure[0] != '\0')
		(void)fprintf(stderr, "    %s\n", problem->cure);
	return COMMAND_FAILED;
}

static bool
on_count(const struct query_cell *cells, size_t count, void *arg)
{
	int64_t *found = arg;

	*found = count > 0 ? cells[0].number : 0;
	return false;
}

/* A run that is not there is a mistake, not a run that did nothing. */
static int
find_run(struct query *query, const char *run, struct problem *reterr)
{
	const struct query_value value = { .name = "sbx",
		.text = cursor_of_text(run) };
	const struct query_values values = { &value, 1 };
	int64_t found = 0;
	const struct query_reader reader = { NULL, on_count, &found };
	bool cut;
	int status = across_ask(
	    query, &summary_find_run, &values, &reader, &cut, reterr);

	if (status != STATUS_OK || found > 0)
		return status;
	(void)problem_set(
	    reterr, "there is no run \"%.60s\" in this audit", run);
	return problem_cure(reterr, "exeat audit query \"SELECT DISTINCT "
				    "sandbox FROM v_event\" lists them");
}

/* Opens the audit and looks for the run. */
static int
open_audit(const struct cmd_replay_from *from, struct query **ret,
    struct problem *reterr)
{
	struct settings settings;
	const char *path = from->audit;
	struct query *query = NULL;
	int status = STATUS_OK;

	if (path == NULL) {
		status = settings_read(&settings, reterr);
		path = settings.audit;
	}
	if (status == STATUS_OK)
		status = query_open(path, &query, reterr);
	if (status == STATUS_OK && from->run != NULL)
		status = find_run(query, from->run, reterr);
	if (status != STATUS_OK) {
		query_close(query);
		return status;
	}
	*ret = query;
	return STATUS_OK;
}

static int
each_attempt(struct query *query, const struct cmd_replay_from *from,
    replay_heard *heard, void *arg, struct problem *reterr)
{
	bool cut = false;
	int status = replay_attempts(query, from->run == NULL ? "" : from->run,
	    heard, arg, &cut, reterr);

	if (status == STATUS_OK && cut) {
		(void)problem_set(reterr,
		    "there are more than %d different requests",
		    LIMIT_QUERY_ROWS);
		return problem_cure(reterr, "name one run with --run");
	}
	return status;
}

/* ---- replay ---- */

struct replaying {
	const struct stack *stack;
	struct outlet *outlet; /* or NULL: for people */
	size_t attempts, changed;
};

static const char *
why_now(const struct verdict *verdict)
{
	if (verdict->rule != NULL)
		return rule_id(verdict->rule);
	return reason_id(verdict->reason);
}

/* A lookup stands for all that could follow it: then it may now pass. */
static const char *
answer_now(const struct verdict *verdict)
{
	return verdict->kind == VERDICT_NEED_MORE ? "look closer"
						  : verdict_name(verdict->kind);
}

static void
print_change(
    const struct replay_attempt *attempt, const struct verdict *verdict)
{
	const char *method = attempt->facts.method;

	(void)printf("%s (%s) -> %s (%s): %s%s%s",
	    replay_answer_name(attempt->before), attempt->why,
	    answer_now(verdict), why_now(verdict), method == NULL ? "" : method,
	    method == NULL ? "" : " ", attempt->host);
	if (attempt->facts.port != 0)
		(void)printf(":%u", attempt->facts.port);
	if (attempt->facts.path != NULL)
		(void)printf("%s", attempt->path.text);
	(void)printf(", %lld time%s\n", (long long)attempt->times,
	    attempt->times == 1 ? "" : "s");
	if (attempt->has_query)
		(void)printf("    (it had a query, whose values are not "
			     "kept)\n");
}

static void
write_change(struct outlet *outlet, const struct replay_attempt *attempt,
    const struct verdict *verdict)
{
	struct json *json = &outlet->json;

	json_open(json, NULL, '{');
	json_text(json, "before", replay_answer_name(attempt->before));
	json_text(json, "why", attempt->why);
	json_text(json, "after", verdict_name(verdict->kind));
	json_text(json, "why_after", why_now(verdict));
	json_text(json, "host", attempt->host);
	json_number(json, "port", attempt->facts.port);
	if (attempt->facts.method != NULL) {
		json_text(json, "method", attempt->method);
		json_text(json, "path", attempt->path.text);
	}
	json_number(json, "times", attempt->times);
	json_bool(json, "query_unknown", attempt->has_query);
	json_close(json, '}');
	outlet_flush(outlet);
}

/* What went on only because it was observed was denied by its policy. */
static bool
is_changed(const struct replay_attempt *attempt, const struct verdict *verdict)
{
	if (attempt->before == REPLAY_ALLOWED)
		return verdict->kind != VERDICT_ALLOW;
	return verdict->kind != VERDICT_DENY;
}

static bool
on_replay(const struct replay_attempt *attempt, void *arg)
{
	struct replaying *replaying = arg;
	struct verdict verdict;

	replay_weigh(attempt, replaying->stack, &verdict);
	replaying->attempts++;
	if (!is_changed(attempt, &verdict))
		return true;
	replaying->changed++;
	if (replaying->outlet == NULL)
		print_change(attempt, &verdict);
	else
		write_change(replaying->outlet, attempt, &verdict);
	return true;
}

static int
replay(struct query *query, const struct cmd_replay_from *from,
    const struct layering *layers)
{
	struct replaying replaying = { .stack = layers->stack,
		.outlet = from->json ? outlet_new() : NULL };
	struct problem problem = { 0 };
	int status;

	if (from->json && replaying.outlet == NULL)
		return COMMAND_FAILED;
	if (from->json)
		json_open(&replaying.outlet->json, NULL, '[');
	status = each_attempt(query, from, on_replay, &replaying, &problem);
	if (from->json)
		json_close(&replaying.outlet->json, ']');
	outlet_end(replaying.outlet);
	free(replaying.outlet);
	if (status != STATUS_OK)
		return complain(&problem);
	if (!from->json)
		(void)printf("%zu of %zu different requests would be answered "
			     "otherwise\n",
		    replaying.changed, replaying.attempts);
	return replaying.changed == 0 ? COMMAND_OK : COMMAND_NO;
}

int
cmd_replay_run(const struct cmd_replay_from *from, char **files, size_t count)
{
	struct layering layers = { .count = 0 };
	struct problem problem = { 0 };
	struct query *query = NULL;
	int code;

	if (!layering_load(&layers, files, count))
		return COMMAND_NO;
	if (open_audit(from, &query, &problem) != STATUS_OK)
		code = complain(&problem);
	else
		code = replay(query, from, &layers);
	query_close(query);
	layering_done(&layers);
	return code;
}

/* ---- suggest ---- */

struct suggesting {
	struct suggest *suggest;
	size_t count;
	int status;
};

static bool
on_suggest(const struct replay_attempt *attempt, void *arg)
{
	struct suggesting *s = arg;
	struct facts facts = attempt->facts;
	const struct suggest_way way = {
		.private_address =
		    address_is_set(&attempt->led_to) &&
		    address_kind(&attempt->led_to) != ADDRESS_PUBLIC,
		.credential = attempt->credential,
	};

	/* A name that was only asked for says too little. */
	if (attempt->before == REPLAY_DENIED || facts.stage == STAGE_NAME)
		return true;
	/* Nobody looked, and this is what speaks there. */
	if (facts.protocol == FACT_PROTOCOL_TCP && facts.port == 22)
		facts.protocol = FACT_PROTOCOL_SSH;
	s->count++;
	s->status = suggest_add(s->suggest, &facts, &way);
	return s->status == STATUS_OK;
}

static int
write_suggestion(struct suggest *suggest, struct problem *reterr)
{
	char *text = calloc(1, LIMIT_POLICY_BYTES);
	struct cursor_writer out = cursor_writer_of(text, LIMIT_POLICY_BYTES);
	int status =
	    text == NULL ? STATUS_NO_MEMORY : suggest_write(suggest, &out);

	if (status == STATUS_OK)
		(void)fwrite(text, 1, out.used, stdout);
	else if (status == STATUS_TOO_LONG)
		(void)problem_set(
		    reterr, "the policy would be longer than one may be");
	else
		(void)problem_set(reterr, "there is not enough memory");
	free(text);
	return status;
}

static int
suggest(struct query *query, const struct cmd_replay_from *from)
{
	struct suggesting s = { .suggest = suggest_new() };
	struct problem problem = { .text = "there is not enough memory" };
	int status = STATUS_NO_MEMORY;

	if (s.suggest != NULL)
		status = each_attempt(query, from, on_suggest, &s, &problem);
	if (status == STATUS_OK)
		status = s.status;
	if (status == STATUS_OK)
		status = write_suggestion(s.suggest, &problem);
	suggest_free(s.suggest);
	if (status != STATUS_OK)
		return complain(&problem);
	return COMMAND_OK;
}

int
cmd_replay_suggest(const struct cmd_replay_from *from)
{
	struct problem problem = { 0 };
	struct query *query = NULL;
	int code;

	if (open_audit(from, &query, &problem) != STATUS_OK)
		return complain(&problem);
	code = suggest(query, from);
	query_close(query);
	return code;
}
