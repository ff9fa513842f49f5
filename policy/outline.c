#include "policy/outline.h"

#include "policy/describe.h"
#include "policy/instant.h"

#include <string.h>

static void
put_instant(struct cursor_writer *out, const char *before, int64_t at_us)
{
	char text[INSTANT_TEXT_MAX];

	instant_print(at_us, text);
	cursor_put_text(out, before);
	cursor_put_text(out, text);
}

static void
put_valid(const struct condition *c, struct cursor_writer *out)
{
	if (c->rule->valid_from_us != INT64_MIN)
		put_instant(out, "from ", c->rule->valid_from_us);
	if (c->rule->valid_until_us == INT64_MAX)
		return;
	if (c->rule->valid_from_us != INT64_MIN)
		cursor_put_u8(out, ' ');
	put_instant(out, "until ", c->rule->valid_until_us);
}

static void
put_query(const struct condition *c, struct cursor_writer *out)
{
	const struct querymatch *query = &c->rule->queries[c->query];

	/* A deny is about one such value, anything else about all of them. */
	if (c->rule->action == RULE_DENY)
		cursor_put_text(out, "some ");
	cursor_put_text(out, query->name);
	cursor_put_u8(out, '=');
	cursor_put_text(out, query->value.text);
}

static void
put_upgrades(const struct condition *c, struct cursor_writer *out)
{
	const struct rule *rule = c->rule;

	if (rule->action != RULE_DENY)
		cursor_put_text(out, "none");
	for (size_t i = 0; i < rule->upgrade_count; i++) {
		if (i > 0 || rule->action != RULE_DENY)
			cursor_put_text(out, ", ");
		cursor_put_text(out, rule->upgrades[i]);
	}
}

static void
put_method(const struct condition *c, struct cursor_writer *out)
{
	if (c->git)
		cursor_put_text(out, "POST");
	else if (c->rule->access == RULE_READ)
		cursor_put_text(out, "GET, HEAD, OPTIONS");
	else
		describe_methods(c->rule, out);
}

static void
put_path(const struct condition *c, struct cursor_writer *out)
{
	if (c->git)
		cursor_put_text(out, "**/git-upload-pack");
	else
		describe_paths(c->rule, out);
}

static void
put_value(const struct condition *c, struct cursor_writer *out)
{
	switch (c->term) {
	case CONDITION_TARGET:
		describe_targets(c->rule, out);
		break;
	case CONDITION_PORT:
		describe_ports(c->rule, out);
		break;
	case CONDITION_METHOD:
		put_method(c, out);
		break;
	case CONDITION_UPGRADE:
		put_upgrades(c, out);
		break;
	case CONDITION_PATH:
		put_path(c, out);
		break;
	case CONDITION_QUERY:
		put_query(c, out);
		break;
	case CONDITION_EXE:
		describe_programs(c->rule, out);
		break;
	case CONDITION_MCP:
		describe_messages(c->rule, out);
		break;
	case CONDITION_VALID:
		put_valid(c, out);
		break;
	case CONDITION_TERM_COUNT:
		break;
	}
}

/* More conditions on one thing than a person reads. */
#define SHOWN 6

/* Those on one thing that are taken, or those that are left out. */
static void
put_side(const struct region *region, enum condition_term term, bool negated,
    struct cursor_writer *out)
{
	size_t count = 0;

	for (size_t i = 0; i < region->count; i++) {
		const struct condition *c = &region->conditions[i];

		if (c->term != term || c->negated != negated)
			continue;
		count++;
		if (count > SHOWN)
			continue;
		if (count > 1)
			cursor_put_text(out, negated ? ", nor " : ", also ");
		else if (negated)
			cursor_put_text(out, "not ");
		put_value(c, out);
	}
	if (count > SHOWN)
		cursor_put_text(out, " and more");
}

static bool
has_side(const struct region *region, enum condition_term term, bool negated)
{
	for (size_t i = 0; i < region->count; i++)
		if (region->conditions[i].term == term &&
		    region->conditions[i].negated == negated)
			return true;
	return false;
}

static void
put_term(const struct region *region, enum condition_term term,
    const char *before, struct cursor_writer *out)
{
	bool taken = has_side(region, term, false);
	bool left = has_side(region, term, true);

	if (!taken && !left)
		return;
	cursor_put_text(out, before);
	if (taken)
		put_side(region, term, false, out);
	if (taken && left)
		cursor_put_text(out, " but ");
	if (left)
		put_side(region, term, true, out);
}

void
outline_region(const struct region *region, struct cursor_writer *out)
{
	static const char *const before[] = {
		[CONDITION_TARGET] = "",
		[CONDITION_PORT] = "; ",
		[CONDITION_METHOD] = "; methods ",
		[CONDITION_UPGRADE] = "; upgrade ",
		[CONDITION_PATH] = "; path ",
		[CONDITION_QUERY] = "; query ",
		[CONDITION_EXE] = "; program ",
		[CONDITION_MCP] = "; ",
		[CONDITION_VALID] = "; ",
	};

	for (int i = 0; i < CONDITION_TERM_COUNT; i++)
		put_term(region, (enum condition_term)i, before[i], out);
	if (region->sort == REGION_HTTP)
		return;
	if (region->sort == REGION_TLS) {
		cursor_put_text(out, "; TLS that is not looked into");
		return;
	}
	cursor_put_text(out, "; protocol ");
	cursor_put_text(out, region_sort_name(region->sort));
}
