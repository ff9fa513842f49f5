#include "gateway/audit/producer.h"

#include "gateway/audit/store.h"
#include "gateway/proc/channel.h"
#include "gateway/proc/log.h"
#include "schema/status.h"

#include <assert.h>
#include <stdio.h>

static const char *const role_names[] = {
	[EVENT_ROLE_PARENT] = "parent",
	[EVENT_ROLE_GATEWAY] = "gateway",
	[EVENT_ROLE_LAUNCHER] = "launcher",
	[EVENT_ROLE_BROKER] = "broker",
};

static_assert(sizeof(role_names) / sizeof(role_names[0]) == EVENT_ROLE_COUNT,
    "every role has a name");

const char *
producer_name(const struct producer *producer)
{
	return role_names[producer->role];
}

void
producer_end(struct producer *producer, const char *why)
{
	char text[160];
	int used = snprintf(
	    text, sizeof(text), "%s: %s", role_names[producer->role], why);

	if (producer->bad)
		return;
	producer->bad = true;
	log_warning("run %s: the %s sent what it must not: %s",
	    producer->of->run->about.uid, role_names[producer->role], why);
	if (producer->of->has_rows && used > 0 && (size_t)used < sizeof(text))
		writer_note(
		    producer->of->writer, producer->of->run, "bad_frame", text);
	if (producer->source.channel != NULL)
		channel_end(producer->source.channel, STATUS_MALFORMED);
}

/* What is wrong with this row, or NULL. */
static const char *
objection(struct producer *producer, const struct event *event)
{
	if (event->number != producer->number + 1)
		return "a number out of turn";
	if (producer->source.pending >= LIMIT_EVENTS_HELD)
		return "more rows than it may wait for";
	/* The rows about the run and about us are ours to write. */
	if (event->kind == EVENT_SANDBOX_START ||
	    event->kind == EVENT_SANDBOX_END ||
	    event->kind == EVENT_POLICY_LOAD || event->kind == EVENT_AUDIT)
		return "a row of a kind that it may not write";
	if (event->parent_seq > 0 &&
	    !store_owns(writer_store(producer->of->writer), producer->of->run,
		event->parent_seq))
		return "a row that belongs to no row of its run";
	return NULL;
}

void
producer_take(struct producer *producer, struct cursor body)
{
	struct event event;
	const char *wrong;

	if (cursor_is_empty(&body))
		producer_end(producer, "an empty frame");
	while (!cursor_is_empty(&body)) {
		if (event_read(&body, &event) != STATUS_OK) {
			producer_end(producer, "a malformed event");
			return;
		}
		wrong = objection(producer, &event);
		if (wrong == NULL &&
		    writer_put(producer->of->writer, &event, &producer->source,
			producer->of->run, NULL) != STATUS_OK)
			wrong = "more than there is memory for";
		if (wrong != NULL) {
			producer_end(producer, wrong);
			return;
		}
		producer->number = event.number;
		if (event_is_request(&event))
			producer->of->requests++;
		if (event_is_refusal(&event))
			producer->of->refused++;
	}
}
