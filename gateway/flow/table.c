#include "gateway/flow/table.h"

#include "gateway/flow/flow.h"
#include "gateway/proc/loop.h"

#include <stdlib.h>

struct table {
	TAILQ_HEAD(, flow) flows;
	size_t count, room;
	void (*on_room)(void *arg);
	void *arg;
};

struct table *
table_new(size_t room)
{
	struct table *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return NULL;
	TAILQ_INIT(&table->flows);
	table->room = room;
	return table;
}

void
table_free(struct table *table)
{
	struct flow *flow;

	if (table == NULL)
		return;
	while ((flow = TAILQ_FIRST(&table->flows)) != NULL) {
		TAILQ_REMOVE(&table->flows, flow, next);
		loop_undefer(flow->plane->loop, &flow->freeing);
		flow_free(flow);
	}
	free(table);
}

bool
table_has_room(const struct table *table)
{
	return table->count < table->room;
}

size_t
table_count(const struct table *table)
{
	return table->count;
}

void
table_add(struct table *table, struct flow *flow)
{
	TAILQ_INSERT_TAIL(&table->flows, flow, next);
	table->count++;
}

static void
free_now(void *arg)
{
	struct flow *flow = arg;
	struct table *table = flow->plane->table;
	bool was_full = !table_has_room(table);

	TAILQ_REMOVE(&table->flows, flow, next);
	table->count--;
	flow_free(flow);
	if (was_full && table->on_room != NULL)
		table->on_room(table->arg);
}

void
table_drop(struct table *table, struct flow *flow)
{
	(void)table;
	flow->freeing = (struct loop_deferred){ .call = free_now, .arg = flow };
	loop_defer(flow->plane->loop, &flow->freeing);
}

void
table_watch(struct table *table, void (*on_room)(void *arg), void *arg)
{
	table->on_room = on_room;
	table->arg = arg;
}

void
table_judge_again(struct table *table)
{
	struct flow *flow;

	/* What ends is freed at the end of the tick. */
	TAILQ_FOREACH(flow, &table->flows, next)
		flow_judge_again(flow);
}

void
table_close_all(struct table *table, enum reason reason)
{
	struct flow *flow;

	/* Closing frees at the end of the tick, so the list stays whole. */
	TAILQ_FOREACH(flow, &table->flows, next)
		flow_close(flow, reason);
}
