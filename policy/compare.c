#include "policy/compare.h"

#include "policy/pieces.h"
#include "policy/question.h"
#include "policy/setting.h"
#include "policy/stack.h"
#include "schema/status.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {
	[COMPARE_ALLOWS] = "allows",
	[COMPARE_ASKS] = "asks",
	[COMPARE_PRIVATE] = "private",
	[COMPARE_RESOLVE] = "resolve",
	[COMPARE_TRUST] = "upstream_ca",
	[COMPARE_CREDENTIAL] = "credential",
	[COMPARE_UNDECIDED] = "undecided",
};

static_assert(sizeof(kind_names) / sizeof(kind_names[0]) == COMPARE_KIND_COUNT,
    "every kind has a name");

const char *
compare_kind_name(enum compare_kind kind)
{
	return kind_names[kind];
}

/* ---- what a stack opens ---- */

/* An action that opens, at this level; what is stricter closes. */
struct comparison {
	const struct stack *a, *b;
	enum rule_action level; /* RULE_ALLOW, or RULE_ASK: after asking */
	int64_t now_us;
	compare_found *found;
	void *arg;
	bool ended;
};

static bool
opens(const struct comparison *c, const struct rule *rule)
{
	return rule->action >= c->level;
}

/* Each of the rules of one layer that close something takes its part. */
static int
close_layer(const struct comparison *c, const struct policy *policy,
    struct pieces *pieces)
{
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && pieces->count > 0 &&
			   i < policy_rule_count(policy);
	     i++)
		if (!opens(c, policy_rule(policy, i)))
			status =
			    pieces_subtract(pieces, policy_rule(policy, i));
	return status;
}

/* Every rule of the layer that opens something, with all pieces so far. */
static int
open_layer(const struct comparison *c, const struct policy *policy,
    struct pieces *pieces)
{
	struct pieces next = { .count = 0 };
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < policy_rule_count(policy);
	     i++) {
		const struct rule *rule = policy_rule(policy, i);
		size_t before = next.count;

		if (opens(c, rule))
			status = pieces_meet(pieces, rule, &next);
		for (size_t k = before; k < next.count; k++)
			next.list[k]->openers[next.list[k]->layers++] = rule;
	}
	pieces_done(pieces);
	*pieces = next;
	return status;
}

/* All that b opens by one part of one rule of its outermost layer. */
static int
open_stack(const struct comparison *c, enum region_sort sort,
    struct region_part part, struct pieces *pieces)
{
	struct piece *first = calloc(1, sizeof(*first));
	int status = STATUS_NO_MEMORY;

	if (first == NULL)
		return status;
	first->openers[first->layers++] = part.rule;
	status = region_of(sort, part, &first->region);
	if (status == STATUS_OK)
		status = pieces_add(pieces, &first->region, first);
	free(first);
	for (size_t i = 1; status == STATUS_OK && i < stack_count(c->b); i++)
		status = open_layer(c, stack_layer(c->b, i), pieces);
	for (size_t i = 0; status == STATUS_OK && i < stack_count(c->b); i++)
		status = close_layer(c, stack_layer(c->b, i), pieces);
	return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

/* ---- telling ---- */

/* Whether b sends a credential along that a does not, or not so. */
static bool
uses_otherwise(const struct verdict *a, const struct verdict *b)
{
	const struct rule *x = verdict_credential(a);
	const struct rule *y = verdict_credential(b);

	if (x == NULL || y == NULL)
		return y != NULL;
	return strcmp(x->credential, y->credential) != 0 ||
	       x->clear != y->clear || x->echo != y->echo;
}

static bool
is_confirmed(const struct comparison *c, enum compare_kind kind,
    const struct question *question)
{
	const struct facts *facts = &question->facts;
	struct stack_settings settings_a, settings_b;
	struct verdict a, b;

	stack_decide(c->a, facts, &a);
	stack_decide(c->b, facts, &b);
	if (kind == COMPARE_ALLOWS)
		return b.kind == VERDICT_ALLOW && a.kind != VERDICT_ALLOW;
	if (kind == COMPARE_ASKS)
		return b.kind == VERDICT_ASK && a.kind < VERDICT_ASK;
	if (kind == COMPARE_CREDENTIAL)
		return b.kind >= VERDICT_ASK && a.kind >= VERDICT_ASK &&
		       uses_otherwise(&a, &b);
	stack_settings(c->a, facts, &settings_a);
	stack_settings(c->b, facts, &settings_b);
	if (kind == COMPARE_PRIVATE)
		return settings_b.private_addresses &&
		       !settings_a.private_addresses;
	return a.kind == VERDICT_ALLOW && b.kind == VERDICT_ALLOW;
}

/* A question in words, and whether both stacks answer it as is said. */
static int
make_witness(const struct comparison *c, const struct region *region,
    struct compare_difference *difference, struct cursor_writer *out)
{
	struct question *question = calloc(1, sizeof(*question));
	struct problem problem;
	int status = STATUS_NO_MEMORY;

	if (question != NULL)
		status = region_witness(region, c->now_us, out);
	if (status == STATUS_OK) {
		cursor_put_u8(out, 0);
		status = cursor_written(out) ? STATUS_OK : STATUS_FULL;
	}
	if (status == STATUS_OK) {
		difference->witness = (const char *)out->bytes;
		difference->confirmed =
		    question_read(cursor_of(out->bytes, out->used - 1),
			c->now_us, question, &problem) == STATUS_OK &&
		    is_confirmed(c, difference->kind, question);
	}
	free(question);
	return status == STATUS_FULL ? STATUS_OK : status;
}

static int
tell(struct comparison *c, enum compare_kind kind, struct piece *piece)
{
	const size_t room = (size_t)4 * LIMIT_HTTP_URI;
	struct compare_difference difference = { .kind = kind,
		.rule = piece->openers[piece->layers - 1],
		.region = &piece->region };
	char *words = calloc(1, room);
	struct cursor_writer out = cursor_writer_of(words, room);
	int status = STATUS_NO_MEMORY;

	region_simplify(&piece->region);
	if (words != NULL)
		status = make_witness(c, &piece->region, &difference, &out);
	/* Longer than any request can be. */
	if (status == STATUS_NOT_FOUND)
		status = STATUS_OK;
	else if (status == STATUS_OK && !c->ended)
		c->ended = !c->found(&difference, c->arg);
	free(words);
	return status;
}

static int
tell_all(
    struct comparison *c, enum compare_kind kind, const struct pieces *pieces)
{
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < pieces->count; i++)
		status = tell(c, kind, pieces->list[i]);
	return status;
}

static enum compare_kind
kind_of_level(const struct comparison *c)
{
	return c->level == RULE_ALLOW ? COMPARE_ALLOWS : COMPARE_ASKS;
}

/* What of the pieces one layer of a closes, and then what it does not open. */
static int
tell_layer(struct comparison *c, const struct policy *policy,
    const struct pieces *opened)
{
	struct pieces rest = { .count = 0 }, closed = { .count = 0 };
	int status = pieces_copy(opened, &rest);

	for (size_t i = 0; status == STATUS_OK && rest.count > 0 &&
			   i < policy_rule_count(policy);
	     i++) {
		const struct rule *rule = policy_rule(policy, i);

		if (opens(c, rule))
			continue;
		status = pieces_meet(&rest, rule, &closed);
		if (status == STATUS_OK)
			status = pieces_subtract(&rest, rule);
	}
	for (size_t i = 0; status == STATUS_OK && rest.count > 0 &&
			   i < policy_rule_count(policy);
	     i++)
		if (opens(c, policy_rule(policy, i)))
			status = pieces_subtract(&rest, policy_rule(policy, i));
	if (status == STATUS_OK)
		status = tell_all(c, kind_of_level(c), &rest);
	if (status == STATUS_OK)
		status = tell_all(c, kind_of_level(c), &closed);
	pieces_done(&rest);
	pieces_done(&closed);
	return status;
}

/* ---- where a request is sent ---- */

static const enum compare_kind kind_of_setting[] = {
	[SETTING_PRIVATE] = COMPARE_PRIVATE,
	[SETTING_RESOLVE] = COMPARE_RESOLVE,
	[SETTING_TRUST] = COMPARE_TRUST,
	[SETTING_CREDENTIAL] = COMPARE_CREDENTIAL,
};

static_assert(
    sizeof(kind_of_setting) / sizeof(kind_of_setting[0]) == SETTING_COUNT,
    "every setting can differ");

/*
 * Of the rules that open a piece, the one that sets it: the innermost, or
 * where all must, any.  NULL when b does not reach further by it.
 */
static const struct rule *
setter_of(const struct piece *piece, const struct setting *setting)
{
	const struct rule *setter =
	    setting->shared ? &setting_unset : piece->openers[0];

	for (size_t i = 0; i < piece->layers; i++) {
		bool sets = !setting->equals(piece->openers[i], &setting_unset);

		if (!setting->shared && !sets)
			return NULL;
		if (setting->shared && sets)
			setter = piece->openers[i];
	}
	if (setting->shared && setting->unset_is_least &&
	    setter == &setting_unset)
		return NULL;
	/* An address is reached by the rule that names it. */
	if (!setting->shared && piece->openers[0]->host_count == 0)
		return NULL;
	return setter;
}

struct elsewhere {
	const struct setting *setting;
	const struct region *region; /* of b, where it is asked */
	const struct rule *own; /* what b says */
	const struct rule *rule; /* of a, which says otherwise */
	size_t layer;
};

/* Takes away where another rule of a says the same as b after all. */
static int
leave_what_agrees(const struct comparison *c, const struct elsewhere *place,
    size_t layer, struct pieces *here)
{
	const struct policy *policy = stack_layer(c->a, layer);
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && here->count > 0 &&
			   i < policy_rule_count(policy);
	     i++) {
		const struct rule *rule = policy_rule(policy, i);
		bool speaks =
		    layer == place->layer
			? setting_speaks_before(place->setting,
			      &(struct precedence){
				  place->region, rule, place->rule })
			: place->setting->shared &&
			      !place->setting->equals(rule, &setting_unset);

		if (opens(c, rule) && speaks &&
		    place->setting->equals(rule, place->own))
			status = pieces_subtract(here, rule);
	}
	return status;
}

/* Takes away where another rule of b speaks, and says otherwise. */
static int
leave_what_yields(const struct comparison *c, const struct elsewhere *place,
    const struct piece *piece, struct pieces *here)
{
	int status = STATUS_OK;

	for (size_t i = 0; i < piece->layers; i++) {
		const struct policy *policy = stack_layer(c->b, i);

		for (size_t k = 0; status == STATUS_OK && here->count > 0 &&
				   k < policy_rule_count(policy);
		     k++) {
			const struct rule *rule = policy_rule(policy, k);

			if (opens(c, rule) &&
			    !place->setting->equals(rule, place->own) &&
			    setting_speaks_before(place->setting,
				&(struct precedence){
				    place->region, rule, piece->openers[i] }))
				status = pieces_subtract(here, rule);
		}
	}
	return status;
}

/* What of a piece one rule of a allows, and sends elsewhere. */
static int
tell_place(struct comparison *c, const struct elsewhere *place,
    const struct pieces *piece)
{
	struct pieces here = { .count = 0 };
	int status = pieces_meet(piece, place->rule, &here);

	for (size_t i = 0; status == STATUS_OK && i < stack_count(c->a); i++)
		status = leave_what_agrees(c, place, i, &here);
	if (status == STATUS_OK)
		status = leave_what_yields(c, place, piece->list[0], &here);
	for (size_t i = 0;
	     status == STATUS_OK && here.count > 0 && i < stack_count(c->a);
	     i++)
		status = close_layer(c, stack_layer(c->a, i), &here);
	if (status == STATUS_OK)
		status =
		    tell_all(c, kind_of_setting[place->setting->kind], &here);
	pieces_done(&here);
	return status;
}

static int
tell_setting(
    struct comparison *c, const struct setting *setting, struct piece *piece)
{
	struct piece *list[] = { piece };
	const struct pieces one = { .list = list, .count = 1 };
	struct elsewhere place = { .setting = setting,
		.region = &piece->region,
		.own = setter_of(piece, setting) };
	int status = STATUS_OK;

	for (size_t i = 0; place.own != NULL && i < stack_count(c->a); i++) {
		const struct policy *policy = stack_layer(c->a, i);

		place.layer = i;
		for (size_t k = 0;
		     status == STATUS_OK && k < policy_rule_count(policy);
		     k++) {
			place.rule = policy_rule(policy, k);
			if (opens(c, place.rule) &&
			    !setting->equals(place.rule, place.own))
				status = tell_place(c, &place, &one);
		}
	}
	return status;
}

static int
tell_settings(struct comparison *c, const struct pieces *opened)
{
	int status = STATUS_OK;

	for (size_t i = 0; i < opened->count; i++)
		for (size_t k = 0; status == STATUS_OK && k < SETTING_COUNT;
		     k++)
			status = tell_setting(c, &settings[k], opened->list[i]);
	return status;
}

/* ---- everything ---- */

/* Whether a person is asked somewhere among these rules. */
static bool
asks_somebody(const struct piece *piece)
{
	for (size_t i = 0; i < piece->layers; i++)
		if (piece->openers[i]->action == RULE_ASK)
			return true;
	return false;
}

/* Once asking is enough, what needs no asking has been told already. */
static void
drop_unasked(struct pieces *pieces)
{
	size_t kept = 0;

	for (size_t i = 0; i < pieces->count; i++)
		if (asks_somebody(pieces->list[i]))
			pieces->list[kept++] = pieces->list[i];
		else
			free(pieces->list[i]);
	pieces->count = kept;
}

/* That nobody can tell is told of all that the part opens. */
static int
tell_undecided(
    struct comparison *c, enum region_sort sort, struct region_part part)
{
	struct piece *piece = calloc(1, sizeof(*piece));
	int status = STATUS_NO_MEMORY;

	if (piece == NULL)
		return status;
	piece->openers[piece->layers++] = part.rule;
	status = region_of(sort, part, &piece->region);
	if (status == STATUS_FULL) {
		/* Not even that: the rule's own words must do. */
		piece->region.sort = sort;
		piece->region.count = 1;
		piece->region.conditions[0] =
		    (struct condition){ .rule = part.rule,
			    .term = CONDITION_TARGET };
		status = STATUS_OK;
	}
	if (status == STATUS_OK)
		status = tell(c, COMPARE_UNDECIDED, piece);
	free(piece);
	return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

static int
compare_part(
    struct comparison *c, enum region_sort sort, struct region_part part)
{
	struct pieces opened = { .count = 0 };
	int status = open_stack(c, sort, part, &opened);

	if (status == STATUS_OK && c->level == RULE_ASK)
		drop_unasked(&opened);
	/* A stack without a layer denies everything. */
	if (status == STATUS_OK && stack_count(c->a) == 0)
		status = tell_all(c, kind_of_level(c), &opened);
	for (size_t i = 0; status == STATUS_OK && !c->ended &&
			   opened.count > 0 && i < stack_count(c->a);
	     i++)
		status = tell_layer(c, stack_layer(c->a, i), &opened);
	if (status == STATUS_OK && !c->ended)
		status = tell_settings(c, &opened);
	pieces_done(&opened);
	return status == STATUS_FULL ? tell_undecided(c, sort, part) : status;
}

static int
compare_rule(struct comparison *c, const struct rule *rule)
{
	int status = STATUS_OK;

	for (int i = 0; i < REGION_SORT_COUNT; i++) {
		enum region_sort sort = (enum region_sort)i;
		size_t parts = region_parts(sort, rule);

		/* A person is asked about requests, and nothing else. */
		if (c->level == RULE_ASK && sort != REGION_HTTP)
			continue;
		for (size_t git = 0;
		     status == STATUS_OK && !c->ended && git < parts; git++)
			status = compare_part(
			    c, sort, (struct region_part){ rule, git == 1 });
	}
	return status;
}

static int
compare_level(struct comparison *c)
{
	const struct policy *outermost;
	int status = STATUS_OK;

	if (stack_count(c->b) == 0)
		return STATUS_OK;
	outermost = stack_layer(c->b, 0);
	for (size_t i = 0;
	     status == STATUS_OK && i < policy_rule_count(outermost); i++)
		if (opens(c, policy_rule(outermost, i)))
			status = compare_rule(c, policy_rule(outermost, i));
	return status;
}

int
compare_stacks(const struct stack *a, const struct stack *b, int64_t now_us,
    compare_found *found, void *arg)
{
	struct comparison c = { .a = a,
		.b = b,
		.level = RULE_ALLOW,
		.now_us = now_us,
		.found = found,
		.arg = arg };
	int status = compare_level(&c);

	if (status != STATUS_OK || c.ended)
		return status;
	c.level = RULE_ASK;
	return compare_level(&c);
}
