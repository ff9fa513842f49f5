#include "policy/suggest.h"

#include "policy/shape.h"
#include "schema/json.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a host was asked; what is more opaque covers what stands behind it. */
enum way {
	WAY_TCP,
	WAY_UNREAD, /* TLS that was passed on */
	WAY_HTTP,
	WAY_SSH,
	WAY_UDP
};

/* More shapes than these in a rule are folded to their first segments. */
#define SHAPES_MAX 16

/* Methods for which a rule that reads is enough, and one that no list has. */
#define READS ""
#define UNLISTED "*"

/* One thing that was asked; texts are owned. */
struct entry {
	char *target;
	char *methods; /* one, later all of its shape: "GET POST" */
	char *shape;
	char *credential; /* or empty */
	enum way way;
	uint16_t port; /* 0: a usual one, which needs no word */
	bool by_name, private_address;
};

struct suggest {
	struct entry *list;
	size_t count, room;
};

/* Entries that are alike but for their shape: one rule of one host. */
struct group {
	const struct entry *first;
	size_t count;
	bool merged; /* into a group before it */
};

struct suggest *
suggest_new(void)
{
	return calloc(1, sizeof(struct suggest));
}

static void
entry_done(struct entry *entry)
{
	free(entry->target);
	free(entry->methods);
	free(entry->shape);
	free(entry->credential);
}

void
suggest_free(struct suggest *suggest)
{
	if (suggest == NULL)
		return;
	for (size_t i = 0; i < suggest->count; i++)
		entry_done(&suggest->list[i]);
	free(suggest->list);
	free(suggest);
}

/* ---- one attempt ---- */

static bool
is_git(const char *path)
{
	static const char git[] = "/git-upload-pack";
	size_t length = strlen(path), end = sizeof(git) - 1;

	return length >= end && strcmp(path + length - end, git) == 0;
}

static bool
reads(const struct facts *facts)
{
	if (strcmp(facts->method, "GET") == 0 ||
	    strcmp(facts->method, "HEAD") == 0 ||
	    strcmp(facts->method, "OPTIONS") == 0)
		return true;
	return strcmp(facts->method, "POST") == 0 && is_git(facts->path->text);
}

static enum way
way_of(const struct facts *facts)
{
	switch (facts->protocol) {
	case FACT_PROTOCOL_TLS:
		return WAY_UNREAD;
	case FACT_PROTOCOL_SSH:
		return WAY_SSH;
	case FACT_PROTOCOL_UDP:
		return WAY_UDP;
	case FACT_PROTOCOL_HTTP:
		return facts->method != NULL && facts->path != NULL ? WAY_HTTP
								    : WAY_TCP;
	case FACT_PROTOCOL_UNKNOWN:
	case FACT_PROTOCOL_TCP:
		break;
	}
	return WAY_TCP;
}

static bool
is_usual(enum way way, uint16_t port)
{
	if (way == WAY_HTTP || way == WAY_UNREAD)
		return port == 80 || port == 443;
	return way == WAY_SSH && port == 22;
}

static const char *
methods_of(const struct facts *facts)
{
	static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (reads(facts))
		return READS;
	return facts->method[strspn(facts->method, capitals)] == '\0'
		   ? facts->method
		   : UNLISTED;
}

static bool
fill(struct entry *entry, const struct facts *facts)
{
	char literal[ADDRESS_TEXT_MAX];

	entry->by_name = facts->by_name;
	entry->way = way_of(facts);
	if (!is_usual(entry->way, facts->port))
		entry->port = facts->port;
	address_print(&facts->literal, literal);
	entry->target = strdup(facts->by_name ? facts->host.text : literal);
	if (entry->way == WAY_HTTP) {
		entry->shape = shape_of(facts->path);
		entry->methods = strdup(methods_of(facts));
	} else {
		entry->shape = strdup("");
		entry->methods = strdup("");
	}
	return entry->target != NULL && entry->shape != NULL &&
	       entry->methods != NULL && entry->credential != NULL;
}

int
suggest_add(struct suggest *suggest, const struct facts *facts,
    const struct suggest_way *way)
{
	struct entry entry = { .private_address =
				   facts->by_name && way->private_address,
		.credential =
		    strdup(way->credential == NULL ? "" : way->credential) };

	if (suggest->count == suggest->room) {
		size_t room = suggest->room == 0 ? 64 : 2 * suggest->room;
		struct entry *list =
		    reallocarray(suggest->list, room, sizeof(*list));

		if (list == NULL) {
			entry_done(&entry);
			return STATUS_NO_MEMORY;
		}
		suggest->list = list;
		suggest->room = room;
	}
	if (!fill(&entry, facts)) {
		entry_done(&entry);
		return STATUS_NO_MEMORY;
	}
	suggest->list[suggest->count++] = entry;
	return STATUS_OK;
}

/* ---- all of them ---- */

static int
compare_targets(const struct entry *a, const struct entry *b)
{
	if (a->by_name != b->by_name)
		return a->by_name ? -1 : 1;
	return strcmp(a->target, b->target);
}

/* Those of one host, asked in one way, on one port, with one credential. */
static int
compare_places(const struct entry *a, const struct entry *b)
{
	int order = compare_targets(a, b);

	if (order == 0)
		order = (int)a->way - (int)b->way;
	if (order == 0)
		order = (int)a->port - (int)b->port;
	return order == 0 ? strcmp(a->credential, b->credential) : order;
}

static int
compare_by_shape(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	int order = compare_places(a, b);

	if (order == 0)
		order = strcmp(a->shape, b->shape);
	return order != 0 ? order : strcmp(a->methods, b->methods);
}

static int
compare_by_methods(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	int order = compare_places(a, b);

	if (order == 0)
		order = strcmp(a->methods, b->methods);
	return order != 0 ? order : strcmp(a->shape, b->shape);
}

static void
sort(struct suggest *s, int (*compare)(const void *, const void *))
{
	if (s->count > 1)
		qsort(s->list, s->count, sizeof(*s->list), compare);
}

static void
drop(struct suggest *s, size_t *kept, size_t at, bool keep)
{
	if (!keep) {
		entry_done(&s->list[at]);
		return;
	}
	s->list[*kept] = s->list[at];
	(*kept)++;
}

/* A name leads to one place: what is so for one entry is so for all. */
static void
spread_private(struct suggest *s)
{
	for (size_t i = 1; i < s->count; i++)
		if (compare_targets(&s->list[i - 1], &s->list[i]) == 0)
			s->list[i].private_address |=
			    s->list[i - 1].private_address;
	for (size_t i = s->count; i-- > 1;)
		if (compare_targets(&s->list[i - 1], &s->list[i]) == 0)
			s->list[i - 1].private_address |=
			    s->list[i].private_address;
}

/* What passes unread on one of the ports needs no other word about it. */
static bool
is_covered(const struct suggest *s, const struct entry *entry)
{
	if (entry->way == WAY_UDP)
		return false;
	for (size_t i = 0; i < s->count; i++) {
		const struct entry *other = &s->list[i];
		bool all = other->way == WAY_UNREAD && entry->way == WAY_HTTP;

		if (other->way < entry->way && other->way < WAY_HTTP &&
		    compare_targets(other, entry) == 0 &&
		    (all ? other->port == entry->port
			 : other->way == WAY_TCP && entry->port != 0 &&
				other->port == entry->port))
			return true;
	}
	return false;
}

/* False when there is no memory. */
static bool
drop_covered(struct suggest *s)
{
	size_t count = s->count, kept = 0;
	bool *covered = calloc(count + 1, sizeof(*covered));

	if (covered == NULL)
		return false;
	for (size_t i = 0; i < count; i++)
		covered[i] = is_covered(s, &s->list[i]);
	for (size_t i = 0; i < count; i++)
		drop(s, &kept, i, !covered[i]);
	s->count = kept;
	free(covered);
	return true;
}

/* Gives an entry the methods of the next one of the same shape, too. */
static bool
join_methods(struct entry *entry, const struct entry *other)
{
	const char *reading = entry->methods[0] != '\0' ? ""
			      : is_git(entry->shape)	? "GET OPTIONS POST"
							: "GET OPTIONS";
	size_t room = strlen(entry->methods) + strlen(other->methods) + 32;
	char *joined = calloc(1, room);
	int length;

	if (joined == NULL)
		return false;
	length = snprintf(
	    joined, room, "%s%s %s", reading, entry->methods, other->methods);
	assert(length > 0 && (size_t)length < room);
	free(entry->methods);
	entry->methods = joined;
	return true;
}

/* One entry for each shape: the same thing asked again says nothing new. */
static int
join_shapes(struct suggest *s)
{
	char *last = NULL; /* the method that was joined last */
	size_t kept = 0;
	int status = STATUS_OK;

	sort(s, compare_by_shape);
	for (size_t i = 0; i < s->count; i++) {
		struct entry *entry = &s->list[i];
		struct entry *before = kept == 0 ? NULL : &s->list[kept - 1];
		bool same = before != NULL &&
			    compare_places(before, entry) == 0 &&
			    strcmp(before->shape, entry->shape) == 0;

		if (same && status == STATUS_OK &&
		    strcmp(last, entry->methods) != 0 &&
		    !join_methods(before, entry))
			status = STATUS_NO_MEMORY;
		if (!same || strcmp(last, entry->methods) != 0) {
			free(last);
			last = strdup(entry->methods);
		}
		drop(s, &kept, i, !same);
		if (last == NULL) {
			/* What has not been looked at yet stays owned. */
			memmove(&s->list[kept], &s->list[i + 1],
			    (s->count - i - 1) * sizeof(*s->list));
			s->count -= i + 1 - kept;
			return STATUS_NO_MEMORY;
		}
	}
	free(last);
	s->count = kept;
	return status;
}

static bool
is_one_rule(const struct entry *a, const struct entry *b)
{
	return compare_places(a, b) == 0 && strcmp(a->methods, b->methods) == 0;
}

static bool
fold(struct entry *entry)
{
	char *folded = shape_fold(entry->shape);

	if (folded == NULL)
		return false;
	free(entry->shape);
	entry->shape = folded;
	return true;
}

/* Long lists of paths are read by nobody. */
static bool
fold_long_lists(struct suggest *s)
{
	bool well = true;

	for (size_t i = 0, first = 0; i < s->count; i++) {
		if (i + 1 < s->count &&
		    is_one_rule(&s->list[first], &s->list[i + 1]))
			continue;
		for (size_t k = first; i - first >= SHAPES_MAX && k <= i; k++)
			well = fold(&s->list[k]) && well;
		first = i + 1;
	}
	return well;
}

static size_t
gather(const struct suggest *s, struct group *groups)
{
	size_t count = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct entry *entry = &s->list[i];

		if (count > 0 && is_one_rule(groups[count - 1].first, entry)) {
			groups[count - 1].count++;
			continue;
		}
		groups[count] = (struct group){ .first = entry, .count = 1 };
		count++;
	}
	return count;
}

/* Whether two hosts were asked the same. */
static bool
is_alike(const struct group *a, const struct group *b)
{
	const struct entry *x = a->first, *y = b->first;

	if (a->count != b->count || x->by_name != y->by_name ||
	    x->way != y->way || x->port != y->port ||
	    x->private_address != y->private_address ||
	    strcmp(x->credential, y->credential) != 0 ||
	    strcmp(x->methods, y->methods) != 0)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(x[i].shape, y[i].shape) != 0)
			return false;
	return true;
}

/* ---- writing ---- */

struct writing {
	const struct group *groups;
	size_t count;
	struct json json;
	size_t number; /* of the rule */
};

/*
 * The host; then a number, which no host ends in.  Of a longer host than an
 * id may be, the start.
 */
static void
write_id(struct writing *w, size_t at)
{
	const struct entry *entry = w->groups[at].first;
	bool plain = strlen(entry->target) <= 48 &&
		     (at == 0 || strcmp(w->groups[at - 1].first->target,
				     entry->target) != 0);
	char id[LIMIT_RULE_ID + 1];
	int length = plain ? snprintf(id, sizeof(id), "%s", entry->target)
			   : snprintf(id, sizeof(id), "%.48s.%zu",
				 entry->target, w->number);

	assert(length > 0 && length < (int)sizeof(id));
	for (char *c = id; *c != '\0'; c++)
		if (*c == ':')
			*c = '-';
	json_text(&w->json, "id", id);
}

static void
write_targets(struct writing *w, size_t at)
{
	const struct group *group = &w->groups[at];

	json_open(&w->json, group->first->by_name ? "host" : "address", '[');
	for (size_t i = at; i < w->count; i++)
		if (i == at ||
		    (w->groups[i].merged && is_alike(group, &w->groups[i])))
			json_text(&w->json, NULL, w->groups[i].first->target);
	json_close(&w->json, ']');
}

static void
write_methods(struct writing *w, const struct entry *entry)
{
	struct cursor all = cursor_of_text(entry->methods), one;

	if (strstr(entry->methods, UNLISTED) != NULL) {
		json_text(&w->json, "access", "write");
		return;
	}
	if (all.left == 0)
		return;
	json_open(&w->json, "methods", '[');
	while (cursor_until(&all, ' ', &one))
		json_bytes(&w->json, NULL, one);
	json_bytes(&w->json, NULL, all);
	json_close(&w->json, ']');
}

static void
write_paths(struct writing *w, const struct group *group)
{
	const struct entry *list = group->first;

	json_open(&w->json, "path", '[');
	for (size_t i = 0; i < group->count; i++)
		if (i == 0 || strcmp(list[i - 1].shape, list[i].shape) != 0)
			json_text(&w->json, NULL, list[i].shape);
	json_close(&w->json, ']');
}

static void
write_way(struct writing *w, const struct group *group)
{
	const struct entry *entry = group->first;
	static const char *const protocols[] = {
		[WAY_TCP] = "tcp",
		[WAY_UNREAD] = NULL,
		[WAY_HTTP] = NULL,
		[WAY_SSH] = "ssh",
		[WAY_UDP] = "udp",
	};

	if (entry->port != 0) {
		json_open(&w->json, "port", '[');
		json_number(&w->json, NULL, entry->port);
		json_close(&w->json, ']');
	}
	if (protocols[entry->way] != NULL)
		json_text(&w->json, "protocol", protocols[entry->way]);
	if (entry->way == WAY_UNREAD) {
		json_text(&w->json, "access", "any");
		json_text(&w->json, "tls", "passthrough");
	}
	if (entry->way == WAY_HTTP) {
		write_methods(w, entry);
		write_paths(w, group);
	}
	if (entry->credential[0] != '\0')
		json_text(&w->json, "credential", entry->credential);
	if (entry->private_address)
		json_bool(&w->json, "private", true);
}

static void
write_rules(struct writing *w, struct cursor_writer *out)
{
	cursor_put_text(out, "{ \"version\": 1,\n  \"rules\": [");
	for (size_t i = 0; i < w->count; i++) {
		if (w->groups[i].merged)
			continue;
		cursor_put_text(out, w->number++ > 0 ? ",\n    " : "\n    ");
		w->json = json_to(out);
		json_open(&w->json, NULL, '{');
		write_id(w, i);
		write_targets(w, i);
		write_way(w, &w->groups[i]);
		json_close(&w->json, '}');
	}
	cursor_put_text(out, w->number > 0 ? "\n  ] }\n" : "] }\n");
}

static void
merge(struct group *groups, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = i + 1; !groups[i].merged && k < count; k++)
			groups[k].merged = groups[k].merged ||
					   is_alike(&groups[i], &groups[k]);
}

int
suggest_write(struct suggest *suggest, struct cursor_writer *out)
{
	struct writing w = { .count = 0 };
	struct group *groups;
	int status = join_shapes(suggest);

	if (status != STATUS_OK)
		return status;
	spread_private(suggest);
	if (!drop_covered(suggest))
		return STATUS_NO_MEMORY;
	sort(suggest, compare_by_methods);
	if (!fold_long_lists(suggest))
		return STATUS_NO_MEMORY;
	groups = calloc(suggest->count + 1, sizeof(*groups));
	if (groups == NULL)
		return STATUS_NO_MEMORY;
	w.groups = groups;
	w.count = gather(suggest, groups);
	merge(groups, w.count);
	write_rules(&w, out);
	free(groups);
	return cursor_written(out) ? STATUS_OK : STATUS_TOO_LONG;
}
