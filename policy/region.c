#include "policy/region.h"

#include "schema/status.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const sort_names[] = {
	[REGION_HTTP] = "http",
	[REGION_TLS] = "tls",
	[REGION_SSH] = "ssh",
	[REGION_TCP] = "tcp",
	[REGION_UDP] = "udp",
};

static_assert(sizeof(sort_names) / sizeof(sort_names[0]) == REGION_SORT_COUNT,
    "every sort has a name");

const char *
region_sort_name(enum region_sort sort)
{
	return sort_names[sort];
}

/* ---- parts ---- */

/* An attempt of the sort about which a rule is asked what it is for. */
static struct facts
facts_of(enum region_sort sort)
{
	static const enum fact_protocol protocols[] = {
		[REGION_HTTP] = FACT_PROTOCOL_HTTP,
		[REGION_TLS] = FACT_PROTOCOL_TLS,
		[REGION_SSH] = FACT_PROTOCOL_SSH,
		[REGION_TCP] = FACT_PROTOCOL_TCP,
		[REGION_UDP] = FACT_PROTOCOL_UDP,
	};

	return (struct facts){
		.stage = sort == REGION_HTTP ? STAGE_REQUEST : STAGE_HELLO,
		.last = true,
		.port = 443,
		.protocol = protocols[sort],
		.method = sort == REGION_HTTP ? "GET" : NULL,
		.query = cursor_of("", 0),
		.upgrade = cursor_of("", 0),
		.message = FACT_MESSAGE_NONE,
	};
}

size_t
region_parts(enum region_sort sort, const struct rule *rule)
{
	/* What is left to be weighed, attempt by attempt. */
	unsigned open = 1U << TERM_PORT | 1U << TERM_VALID | 1U << TERM_EXE;
	struct facts facts = facts_of(sort);
	struct rule_match match;

	if (sort == REGION_HTTP)
		open = ~(1U << TERM_PROTOCOL);
	rule_weigh(rule, &facts, &match);
	if ((match.failed & ~open) != 0)
		return 0;
	/* The unknown counts against the attempt: nothing more comes. */
	if ((match.unknown & ~open) != 0 && rule->action == RULE_ALLOW)
		return 0;
	return sort == REGION_HTTP && rule->access == RULE_READ ? 2 : 1;
}

struct listing {
	struct condition *list;
	size_t count, room;
	bool full;
};

static void
put(struct listing *listing, struct condition condition)
{
	listing->full = listing->full || listing->count == listing->room;
	if (!listing->full)
		listing->list[listing->count++] = condition;
}

static bool
asks_for_upgrade(const struct rule *rule)
{
	return rule->action == RULE_DENY ? rule->upgrade_count > 0
					 : rule->access != RULE_FULL;
}

static void
put_request(struct listing *to, struct region_part part)
{
	struct condition c = { .rule = part.rule };
	const struct rule *rule = part.rule;

	c.git = part.git;
	c.term = CONDITION_METHOD;
	if (rule->access == RULE_READ || rule->access == RULE_METHODS)
		put(to, c);
	c.term = CONDITION_PATH;
	if (part.git)
		put(to, c);
	c.git = false;
	if (rule->path_count > 0)
		put(to, c);
	c.term = CONDITION_UPGRADE;
	if (asks_for_upgrade(rule))
		put(to, c);
	c.term = CONDITION_QUERY;
	for (c.query = 0; c.query < rule->query_count; c.query++)
		put(to, c);
	c.query = 0;
	c.term = CONDITION_MCP;
	if (mcpmatch_is_stated(&rule->mcp))
		put(to, c);
}

/* All that a part asks.  False when it has no room. */
static bool
list_part(enum region_sort sort, struct region_part part, struct listing *to)
{
	const struct rule *rule = part.rule;
	struct condition c = { .rule = rule, .term = CONDITION_TARGET };

	put(to, c);
	c.term = CONDITION_PORT;
	if (rule->port_count > 0)
		put(to, c);
	if (sort == REGION_HTTP)
		put_request(to, part);
	c.term = CONDITION_EXE;
	if (rule->exe_count > 0)
		put(to, c);
	c.term = CONDITION_VALID;
	if (rule->valid_from_us != INT64_MIN ||
	    rule->valid_until_us != INT64_MAX)
		put(to, c);
	return !to->full;
}

/* ---- pieces ---- */

static void
copy(struct region *to, const struct region *from)
{
	to->sort = from->sort;
	to->count = from->count;
	memcpy(to->conditions, from->conditions,
	    from->count * sizeof(from->conditions[0]));
}

static bool
is_about_names(const struct rule *rule)
{
	return rule->host_count > 0;
}

static bool
targets_may_meet(const struct rule *a, const struct rule *b)
{
	if (is_about_names(a) != is_about_names(b))
		return false;
	if (!is_about_names(a))
		return true;
	for (size_t i = 0; i < a->host_count; i++)
		for (size_t k = 0; k < b->host_count; k++)
			if (hostmatch_may_meet(&a->hosts[i], &b->hosts[k]))
				return true;
	return false;
}

static bool
paths_may_meet(const struct rule *a, const struct rule *b)
{
	if (a->path_count == 0 || b->path_count == 0)
		return true;
	for (size_t i = 0; i < a->path_count; i++)
		for (size_t k = 0; k < b->path_count; k++)
			if (pathmatch_may_meet(&a->paths[i], &b->paths[k]))
				return true;
	return false;
}

/* The cheap questions first; false only when nothing is in both. */
static bool
may_meet(const struct region *region, const struct rule *rule)
{
	for (size_t i = 0; i < region->count; i++) {
		const struct condition *c = &region->conditions[i];

		if (c->negated)
			continue;
		if (c->term == CONDITION_TARGET &&
		    !targets_may_meet(c->rule, rule))
			return false;
		if (c->term == CONDITION_PATH && !c->git &&
		    !paths_may_meet(c->rule, rule))
			return false;
	}
	return true;
}

/* STATUS_OK when a condition would leave something of a region. */
static int
leaves(const struct region *region, const struct condition *condition,
    bool negated, struct region *scratch)
{
	unsigned char nowhere[1];
	struct cursor_writer out = cursor_writer_of(nowhere, sizeof(nowhere));

	copy(scratch, region);
	if (scratch->count == LIMIT_REGION_CONDITIONS)
		return STATUS_FULL;
	scratch->conditions[scratch->count] = *condition;
	scratch->conditions[scratch->count++].negated = negated;
	return condition_sample(
	    condition->term, scratch->conditions, scratch->count, 0, &out);
}

/* Two of them, too large for a stack that is shared by many calls. */
struct bench {
	struct region rest, scratch;
};

/*
 * Adds each of the conditions to rest.  What it takes away is a piece, told
 * when somebody listens.
 */
static int
cut(struct bench *bench, const struct listing *conditions, region_piece *piece,
    void *arg)
{
	for (size_t i = 0; i < conditions->count; i++) {
		const struct condition *c = &conditions->list[i];
		int status = leaves(&bench->rest, c, true, &bench->scratch);

		/* It takes nothing: it need not be said. */
		if (status == STATUS_NOT_FOUND)
			continue;
		if (status == STATUS_OK && piece != NULL)
			status = piece(&bench->scratch, arg);
		if (status == STATUS_OK)
			status =
			    leaves(&bench->rest, c, false, &bench->scratch);
		if (status != STATUS_OK)
			return status;
		copy(&bench->rest, &bench->scratch);
	}
	return STATUS_OK;
}

int
region_of(enum region_sort sort, struct region_part part, struct region *ret)
{
	struct listing listing = { .list = ret->conditions,
		.room = LIMIT_REGION_CONDITIONS };
	unsigned char nowhere[1];

	if (!list_part(sort, part, &listing))
		return STATUS_FULL;
	ret->sort = sort;
	ret->count = listing.count;
	for (size_t i = 0; i < ret->count; i++) {
		struct cursor_writer out =
		    cursor_writer_of(nowhere, sizeof(nowhere));
		int status = condition_sample(ret->conditions[i].term,
		    ret->conditions, ret->count, 0, &out);

		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

int
region_meet(
    const struct region *region, struct region_part part, struct region *ret)
{
	struct condition list[LIMIT_REGION_CONDITIONS];
	struct listing listing = { .list = list,
		.room = LIMIT_REGION_CONDITIONS };
	struct bench *bench;
	int status;

	if (!may_meet(region, part.rule))
		return STATUS_NOT_FOUND;
	if (!list_part(region->sort, part, &listing))
		return STATUS_FULL;
	bench = calloc(1, sizeof(*bench));
	if (bench == NULL)
		return STATUS_NO_MEMORY;
	copy(&bench->rest, region);
	status = cut(bench, &listing, NULL, NULL);
	if (status == STATUS_OK)
		copy(ret, &bench->rest);
	free(bench);
	return status;
}

int
region_subtract(const struct region *region, struct region_part part,
    region_piece *piece, void *arg)
{
	struct condition list[LIMIT_REGION_CONDITIONS];
	struct listing listing = { .list = list,
		.room = LIMIT_REGION_CONDITIONS };
	struct bench *bench = calloc(1, sizeof(*bench));
	int status = STATUS_NO_MEMORY;

	if (bench == NULL)
		return status;
	/* What does not meet the part stays in one piece. */
	status = region_meet(region, part, &bench->scratch);
	if (status == STATUS_NOT_FOUND) {
		status = piece(region, arg);
	} else if (status == STATUS_OK) {
		if (list_part(region->sort, part, &listing)) {
			copy(&bench->rest, region);
			status = cut(bench, &listing, piece, arg);
		} else {
			status = STATUS_FULL;
		}
	}
	free(bench);
	return status;
}

static bool
is_last_target(const struct region *region, size_t at)
{
	size_t count = 0;

	for (size_t i = 0; i < region->count; i++)
		count += region->conditions[i].term == CONDITION_TARGET &&
			 !region->conditions[i].negated;
	return region->conditions[at].term == CONDITION_TARGET &&
	       !region->conditions[at].negated && count == 1;
}

void
region_simplify(struct region *region)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	size_t at = 0;

	while (bench != NULL && at < region->count) {
		const struct condition gone = region->conditions[at];
		size_t behind = region->count - at - 1;

		copy(&bench->rest, region);
		memmove(bench->rest.conditions + at,
		    bench->rest.conditions + at + 1,
		    behind * sizeof(bench->rest.conditions[0]));
		bench->rest.count--;
		if (is_last_target(region, at) ||
		    leaves(&bench->rest, &gone, !gone.negated,
			&bench->scratch) != STATUS_NOT_FOUND)
			at++;
		else
			copy(region, &bench->rest);
	}
	free(bench);
}

/* ---- one attempt ---- */

struct sampling {
	const struct region *region;
	int64_t now_us;
	char *room; /* of LIMIT_HTTP_URI bytes */
	int status;
};

/* A value for one term; empty once something has failed. */
static struct cursor
sample(struct sampling *s, enum condition_term term)
{
	struct cursor_writer out = cursor_writer_of(s->room, LIMIT_HTTP_URI);

	if (s->status == STATUS_OK)
		s->status = condition_sample(term, s->region->conditions,
		    s->region->count, s->now_us, &out);
	if (s->status == STATUS_OK && !cursor_written(&out))
		s->status = STATUS_FULL;
	return cursor_of(s->room, s->status == STATUS_OK ? out.used : 0);
}

static void
put_sample(struct sampling *s, enum condition_term term, const char *before,
    struct cursor_writer *out)
{
	struct cursor value = sample(s, term);

	if (value.left == 0)
		return;
	cursor_put_text(out, before);
	cursor_put(out, value.at, value.left);
}

static void
put_host(struct sampling *s, struct cursor_writer *out)
{
	struct cursor value = sample(s, CONDITION_TARGET);
	bool v6 = value.left > 0 && memchr(value.at, ':', value.left) != NULL;

	cursor_put_text(out, v6 ? "[" : "");
	cursor_put(out, value.at, value.left);
	cursor_put_text(out, v6 ? "]" : "");
}

/* The scheme that goes with a port, so that the port need not be written. */
static void
put_url(struct sampling *s, struct cursor_writer *out)
{
	static const char *const schemes[] = {
		[REGION_HTTP] = "https://",
		[REGION_TLS] = "https://",
		[REGION_SSH] = "ssh://",
		[REGION_TCP] = "tcp://",
		[REGION_UDP] = "udp://",
	};
	char kept[8] = "";
	struct cursor port = sample(s, CONDITION_PORT);
	enum region_sort sort = s->region->sort;
	bool clear = sort == REGION_HTTP && cursor_equals(port, "80");
	bool usual = clear ||
		     (sort <= REGION_TLS && cursor_equals(port, "443")) ||
		     (sort == REGION_SSH && cursor_equals(port, "22"));

	assert(port.left < sizeof(kept));
	memcpy(kept, port.at, port.left);
	cursor_put_text(out, clear ? "http://" : schemes[sort]);
	put_host(s, out);
	if (!usual) {
		cursor_put_u8(out, ':');
		cursor_put_text(out, kept);
	}
}

int
region_witness(
    const struct region *region, int64_t now_us, struct cursor_writer *out)
{
	struct sampling s = { .region = region,
		.now_us = now_us,
		.room = calloc(1, LIMIT_HTTP_URI) };

	if (s.room == NULL)
		return STATUS_NO_MEMORY;
	if (region->sort == REGION_TLS)
		cursor_put_text(out, "@hello! ");
	if (region->sort == REGION_HTTP) {
		put_sample(&s, CONDITION_METHOD, "", out);
		cursor_put_u8(out, ' ');
	}
	put_url(&s, out);
	if (region->sort == REGION_HTTP) {
		put_sample(&s, CONDITION_PATH, "", out);
		put_sample(&s, CONDITION_QUERY, "?", out);
		put_sample(&s, CONDITION_UPGRADE, " upgrade=", out);
	}
	put_sample(&s, CONDITION_EXE, " ", out);
	if (region->sort == REGION_HTTP)
		put_sample(&s, CONDITION_MCP, " ", out);
	put_sample(&s, CONDITION_VALID, " at=", out);
	free(s.room);
	if (s.status == STATUS_OK && !cursor_written(out))
		return STATUS_FULL;
	return s.status;
}
