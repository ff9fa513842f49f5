#include "gateway/audit/client.h"

#include "gateway/audit/errands.h"
#include "gateway/audit/load.h"
#include "gateway/audit/store.h"
#include "gateway/audit/writer.h"
#include "gateway/proc/channel.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/log.h"
#include "gateway/proc/loop.h"
#include "schema/status.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct client;

/* One channel of a run; the parent's own is the first. */
struct producer {
	struct writer_source source;
	struct client *client;
	LIST_ENTRY(producer) entry;
	enum event_role role;
	uint64_t number; /* of its last row */
	bool bad; /* it has broken its contract, and that was told */
};

enum client_state {
	CLIENT_NEW, /* nothing was said yet */
	CLIENT_OPEN, /* its first row is queued or written */
	CLIENT_ENDING, /* producers may still bring their last rows */
	CLIENT_ENDED /* its last row is queued */
};

struct client {
	struct clients *clients;
	LIST_ENTRY(client) entry;
	struct producer parent;
	LIST_HEAD(, producer) producers; /* without the parent */
	size_t producer_count, layer_count;
	enum client_state state;
	struct store_run run;
	unsigned char detail[LIMIT_EVENT_DETAIL]; /* of the run */
	unsigned char end_detail[LIMIT_EVENT_DETAIL];
	int64_t started_us, ended_us, first_seq;
	struct event_end end;
	uint64_t requests, refused;
	struct writer_op start, finish;
	struct errand *errand; /* that is not answered yet, or NULL */
	struct event *timer; /* until the producers must have left */
	struct loop_deferred freeing;
};

struct clients {
	struct writer *writer;
	struct keeper *keeper;
	LIST_HEAD(, client) list;
	size_t count;
	void (*on_idle)(void *arg);
	void *arg;
};

static const char *const role_names[] = {
	[EVENT_ROLE_PARENT] = "parent",
	[EVENT_ROLE_GATEWAY] = "gateway",
	[EVENT_ROLE_LAUNCHER] = "launcher",
	[EVENT_ROLE_BROKER] = "broker",
};

static_assert(sizeof(role_names) / sizeof(role_names[0]) == EVENT_ROLE_COUNT,
    "every role has a name");

/* ---- the end of a run ---- */

static void
drop_producer(struct producer *producer)
{
	LIST_REMOVE(producer, entry);
	writer_leave(&producer->source);
	channel_free(producer->source.channel);
	producer->client->producer_count--;
	free(producer);
}

static void
drop_producers(struct client *client)
{
	while (!LIST_EMPTY(&client->producers))
		drop_producer(LIST_FIRST(&client->producers));
}

static void
client_free(struct client *client)
{
	drop_producers(client);
	if (client->errand != NULL)
		errand_forget(client->errand);
	store_forget_run(writer_store(client->clients->writer), &client->run);
	writer_leave(&client->parent.source);
	channel_free(client->parent.source.channel);
	loop_undefer(writer_loop(client->clients->writer), &client->freeing);
	if (client->timer != NULL)
		event_free(client->timer);
	LIST_REMOVE(client, entry);
	client->clients->count--;
	free(client);
}

static void
on_freeing(void *arg)
{
	struct client *client = arg;
	struct clients *clients = client->clients;

	client_free(client);
	if (clients->count == 0)
		clients->on_idle(clients->arg);
}

static int
apply_end(struct store *store, void *arg)
{
	struct client *client = arg;

	return store_end_run(store, &client->run, client->ended_us);
}

static void
on_end_written(void *arg, int64_t seq)
{
	struct client *client = arg;
	struct event_closed closed = { .first_seq = client->first_seq,
		.last_seq = seq,
		.requests = client->requests,
		.refused = client->refused };
	unsigned char packet[64];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_CLOSED, packet, sizeof(packet));
	struct channel *channel = client->parent.source.channel;

	event_closed_write(&closed, &out);
	if (channel == NULL ||
	    channel_send(channel, &out, NULL, 0) != STATUS_OK ||
	    !channel_is_drained(channel))
		log_warning("run %s has ended and its parent was not told",
		    client->run.about.uid);
	loop_defer(writer_loop(client->clients->writer), &client->freeing);
}

/* The last row of the run; whoever is still there has had its time. */
static void
finish(struct client *client)
{
	struct event event = event_empty();
	struct producer *producer;

	if (client->state != CLIENT_ENDING)
		return;
	client->state = CLIENT_ENDED;
	(void)event_del(client->timer);
	for (producer = LIST_FIRST(&client->producers); producer != NULL;
	     producer = LIST_NEXT(producer, entry))
		writer_note(client->clients->writer, &client->run,
		    "did_not_leave", role_names[producer->role]);
	drop_producers(client);
	client->ended_us = clock_wall_us();
	client->finish = (struct writer_op){
		.apply = apply_end, .done = on_end_written, .arg = client
	};
	event.number = 1;
	event.kind = EVENT_SANDBOX_END;
	event.wait = EVENT_WAIT_DISK;
	event.ts_us = client->ended_us;
	event.status = client->end.status;
	event.object = cursor_of_text(client->end.end);
	event.detail = client->end.detail;
	if (writer_put(client->clients->writer, &event, NULL, &client->run,
		&client->finish) == STATUS_OK)
		return;
	log_error(
	    "no memory for the last row of run %s", client->run.about.uid);
	loop_defer(writer_loop(client->clients->writer), &client->freeing);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	finish(arg);
}

/* end is copied, its detail too. */
static void
begin_end(struct client *client, const struct event_end *end)
{
	struct timeval when = { .tv_sec = LIMIT_AUDIT_LEAVE_MS / 1000,
		.tv_usec = LIMIT_AUDIT_LEAVE_MS % 1000 * 1000L };

	client->state = CLIENT_ENDING;
	client->end = *end;
	if (end->detail.left > 0) {
		memcpy(client->end_detail, end->detail.at, end->detail.left);
		client->end.detail =
		    cursor_of(client->end_detail, end->detail.left);
	}
	if (LIST_EMPTY(&client->producers) ||
	    event_add(client->timer, &when) != 0)
		finish(client);
}

/* ---- rows ---- */

/* Ends a producer that has broken its contract, and says so in a row. */
static void
end_bad(struct producer *producer, const char *why)
{
	struct client *client = producer->client;
	char text[160];
	int used = snprintf(
	    text, sizeof(text), "%s: %s", role_names[producer->role], why);

	if (producer->bad)
		return;
	producer->bad = true;
	log_warning("run %s: the %s sent what it must not: %s",
	    client->run.about.uid, role_names[producer->role], why);
	/* Before the first row and after the last one there is no run. */
	if ((client->state == CLIENT_OPEN || client->state == CLIENT_ENDING) &&
	    used > 0 && (size_t)used < sizeof(text))
		writer_note(
		    client->clients->writer, &client->run, "bad_frame", text);
	if (producer->source.channel != NULL)
		channel_end(producer->source.channel, STATUS_MALFORMED);
}

/* What is wrong with this row, or NULL. */
static const char *
objection(struct producer *producer, const struct event *event)
{
	struct client *client = producer->client;

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
	    !store_owns(writer_store(client->clients->writer), &client->run,
		event->parent_seq))
		return "a row that belongs to no row of its run";
	return NULL;
}

static void
take_events(struct producer *producer, struct cursor body)
{
	struct client *client = producer->client;
	struct event event;
	const char *wrong;

	if (cursor_is_empty(&body))
		end_bad(producer, "an empty frame");
	while (!cursor_is_empty(&body)) {
		if (event_read(&body, &event) != STATUS_OK) {
			end_bad(producer, "a malformed event");
			return;
		}
		wrong = objection(producer, &event);
		if (wrong == NULL &&
		    writer_put(client->clients->writer, &event,
			&producer->source, &client->run, NULL) != STATUS_OK)
			wrong = "more than there is memory for";
		if (wrong != NULL) {
			end_bad(producer, wrong);
			return;
		}
		producer->number = event.number;
		if (event_is_request(&event))
			client->requests++;
		if (event_is_refusal(&event))
			client->refused++;
	}
}

static void
on_producer_frame(struct channel *channel, const struct frame *frame,
    struct fdpass *fds, void *arg)
{
	struct producer *producer = arg;

	(void)channel;
	(void)fds;
	if (frame->type == FRAME_AUDIT_EVENTS)
		take_events(producer, frame->body);
	else
		end_bad(producer, "a frame that is not for it");
}

static void
on_producer_end(struct channel *channel, int status, void *arg)
{
	struct producer *producer = arg;
	struct client *client = producer->client;

	(void)channel;
	if (status != STATUS_CLOSED)
		end_bad(producer, status_name(status));
	drop_producer(producer);
	if (client->state == CLIENT_ENDING && LIST_EMPTY(&client->producers))
		finish(client);
}

static const struct channel_events producer_events = {
	.on_frame = on_producer_frame,
	.on_end = on_producer_end,
};

/* ---- policies ---- */

/* The client outlives its rows: the last one is behind this. */
static void
on_policy_written(void *arg)
{
	struct client *client = arg;
	unsigned char packet[8];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_LOADED, packet, sizeof(packet));
	struct channel *channel = client->parent.source.channel;

	if (channel != NULL &&
	    channel_send(channel, &out, NULL, 0) != STATUS_OK)
		channel_end(channel, STATUS_CLOSED);
}

static void
take_policy(struct client *client, struct cursor body, int fd)
{
	struct writer *writer = client->clients->writer;
	struct event event = event_empty();
	struct event_policy about;
	struct writer_op *op;

	if (event_policy_read(body, &about) != STATUS_OK ||
	    client->layer_count == LIMIT_AUDIT_LAYERS) {
		end_bad(&client->parent, "a malformed policy frame");
		return;
	}
	/* Those behind the first producer are told of: it waits for that. */
	op = load_new(&about, fd, clock_wall_us(),
	    client->producer_count > 0 ? on_policy_written : NULL, client);
	if (op == NULL) {
		end_bad(&client->parent, "a policy that is not its digest's");
		return;
	}
	event.number = 1;
	event.kind = EVENT_POLICY_LOAD;
	event.wait = EVENT_WAIT_COMMIT;
	event.ts_us = clock_wall_us();
	event.policy = cursor_of(about.sha256, sizeof(about.sha256));
	event.object = cursor_of_text(about.name);
	if (writer_put(writer, &event, NULL, &client->run, op) != STATUS_OK) {
		load_free(op);
		end_bad(&client->parent, "more than there is memory for");
		return;
	}
	client->layer_count++;
	memcpy(client->run.policy, about.sha256, sizeof(about.sha256));
	client->run.has_policy = true;
}

/* ---- the parent ---- */

static int
apply_start(struct store *store, void *arg)
{
	struct client *client = arg;

	return store_add_run(store, &client->run, client->started_us);
}

static void
on_start_written(void *arg, int64_t seq)
{
	struct client *client = arg;
	unsigned char packet[8];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_STATE, packet, sizeof(packet));
	struct channel *channel = client->parent.source.channel;

	client->first_seq = seq;
	event_state_write(true, &out);
	if (channel != NULL &&
	    channel_send(channel, &out, NULL, 0) != STATUS_OK)
		channel_end(channel, STATUS_CLOSED);
}

static bool
is_taken(const struct clients *clients, const char *uid)
{
	const struct client *client;

	for (client = LIST_FIRST(&clients->list); client != NULL;
	     client = LIST_NEXT(client, entry))
		if (client->state != CLIENT_NEW &&
		    strcmp(client->run.about.uid, uid) == 0)
			return true;
	return store_check_run(writer_store(clients->writer), uid) != STATUS_OK;
}

static void
take_run(struct client *client, struct cursor body, int fd)
{
	struct writer *writer = client->clients->writer;
	struct event event = event_empty();
	struct event_run about;

	(void)fd;
	if (event_run_read(body, &about) != STATUS_OK) {
		end_bad(&client->parent, "a malformed run");
		return;
	}
	if (is_taken(client->clients, about.uid)) {
		end_bad(&client->parent, "a run that is not new");
		return;
	}
	client->run.about = about;
	if (about.detail.left > 0)
		memcpy(client->detail, about.detail.at, about.detail.left);
	client->run.about.detail = cursor_of(client->detail, about.detail.left);
	client->started_us = clock_wall_us();
	client->start = (struct writer_op){
		.apply = apply_start, .done = on_start_written, .arg = client
	};
	event.number = 1;
	event.kind = EVENT_SANDBOX_START;
	event.wait = EVENT_WAIT_DISK;
	event.ts_us = client->started_us;
	event.object = cursor_of_text(about.image);
	event.detail = client->run.about.detail;
	if (writer_put(writer, &event, NULL, &client->run, &client->start) !=
	    STATUS_OK) {
		end_bad(&client->parent, "more than there is memory for");
		return;
	}
	client->state = CLIENT_OPEN;
}

static void
take_producer(struct client *client, struct cursor body, int fd)
{
	struct producer *producer;
	enum event_role role;

	if (event_producer_read(body, &role) != STATUS_OK ||
	    client->producer_count == LIMIT_AUDIT_PRODUCERS) {
		(void)close(fd);
		end_bad(&client->parent, "a producer that it may not have");
		return;
	}
	producer = calloc(1, sizeof(*producer));
	if (producer != NULL) {
		producer->client = client;
		producer->role = role;
		producer->source.channel =
		    channel_new(writer_loop(client->clients->writer), fd,
			&producer_events, producer);
	}
	if (producer == NULL || producer->source.channel == NULL) {
		if (producer == NULL)
			(void)close(fd);
		free(producer);
		end_bad(&client->parent, "more than there is memory for");
		return;
	}
	LIST_INSERT_HEAD(&client->producers, producer, entry);
	client->producer_count++;
	writer_join(client->clients->writer, &producer->source);
}

static void
take_parent_events(struct client *client, struct cursor body, int fd)
{
	(void)fd;
	take_events(&client->parent, body);
}

static void
take_end(struct client *client, struct cursor body, int fd)
{
	struct event_end end;

	(void)fd;
	if (event_end_read(body, &end) != STATUS_OK) {
		end_bad(&client->parent, "a malformed end");
		return;
	}
	begin_end(client, &end);
}

/* ---- a command's chores ---- */

static void
on_errand_done(void *arg, const struct problem *problem)
{
	struct client *client = arg;
	unsigned char packet[2048];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_DONE, packet, sizeof(packet));
	struct channel *channel = client->parent.source.channel;

	client->errand = NULL;
	chore_done_write(problem, &out);
	if (channel != NULL &&
	    channel_send(channel, &out, NULL, 0) != STATUS_OK)
		channel_end(channel, STATUS_CLOSED);
}

/* The client stays new: it is no run. */
static void
take_chore(struct client *client, struct cursor body, int fd)
{
	struct clients *clients = client->clients;
	struct chore chore;

	(void)fd;
	if (client->errand != NULL || chore_read(body, &chore) != STATUS_OK) {
		end_bad(&client->parent, "a chore that it may not ask for");
		return;
	}
	client->errand = errand_new(
	    clients->writer, clients->keeper, &chore, on_errand_done, client);
	if (client->errand == NULL)
		end_bad(&client->parent, "more than there is memory for");
	else
		errand_run(client->errand);
}

/* What a parent may send, and when; anything else ends it. */
static const struct {
	enum frame_type type;
	enum client_state when;
	/* Takes fd, which is -1 for frames without one. */
	void (*take)(struct client *client, struct cursor body, int fd);
	bool keeps_fd;
} messages[] = {
	{ FRAME_AUDIT_RUN, CLIENT_NEW, take_run, false },
	{ FRAME_AUDIT_CHORE, CLIENT_NEW, take_chore, false },
	{ FRAME_AUDIT_PRODUCER, CLIENT_OPEN, take_producer, true },
	{ FRAME_AUDIT_POLICY, CLIENT_OPEN, take_policy, false },
	{ FRAME_AUDIT_EVENTS, CLIENT_OPEN, take_parent_events, false },
	{ FRAME_AUDIT_END, CLIENT_OPEN, take_end, false },
};

static void
on_parent_frame(struct channel *channel, const struct frame *frame,
    struct fdpass *fds, void *arg)
{
	struct client *client = arg;

	(void)channel;
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		if (messages[i].type != frame->type ||
		    messages[i].when != client->state)
			continue;
		if (messages[i].keeps_fd)
			messages[i].take(
			    client, frame->body, fdpass_take(fds, 0));
		else
			messages[i].take(client, frame->body,
			    fds->count > 0 ? fds->fds[0] : -1);
		return;
	}
	end_bad(&client->parent, "a frame out of turn");
}

static void
on_parent_end(struct channel *channel, int status, void *arg)
{
	static const struct event_end lost = { .status = -1, .end = "lost" };
	struct client *client = arg;

	if (status != STATUS_CLOSED)
		end_bad(&client->parent, status_name(status));
	channel_free(channel);
	client->parent.source.channel = NULL;
	if (client->state == CLIENT_NEW)
		loop_defer(
		    writer_loop(client->clients->writer), &client->freeing);
	else if (client->state == CLIENT_OPEN)
		begin_end(client, &lost);
}

static const struct channel_events parent_events = {
	.on_frame = on_parent_frame,
	.on_end = on_parent_end,
};

struct clients *
clients_new(struct writer *writer, struct keeper *keeper,
    void (*on_idle)(void *arg), void *arg)
{
	struct clients *clients = calloc(1, sizeof(*clients));

	if (clients == NULL)
		return NULL;
	clients->writer = writer;
	clients->keeper = keeper;
	clients->on_idle = on_idle;
	clients->arg = arg;
	LIST_INIT(&clients->list);
	return clients;
}

void
clients_free(struct clients *clients)
{
	if (clients == NULL)
		return;
	while (!LIST_EMPTY(&clients->list))
		client_free(LIST_FIRST(&clients->list));
	free(clients);
}

size_t
clients_count(const struct clients *clients)
{
	return clients->count;
}

size_t
clients_at_work(const struct clients *clients)
{
	const struct client *client;
	size_t count = 0;

	for (client = LIST_FIRST(&clients->list); client != NULL;
	     client = LIST_NEXT(client, entry))
		if (client->state == CLIENT_NEW || client->state == CLIENT_OPEN)
			count++;
	return count;
}

void
clients_add(struct clients *clients, int fd)
{
	struct loop *loop = writer_loop(clients->writer);
	struct client *client;

	if (clients->count == LIMIT_AUDIT_RUNS) {
		log_warning("there are more runs than one writer serves");
		(void)close(fd);
		return;
	}
	client = calloc(1, sizeof(*client));
	if (client == NULL) {
		(void)close(fd);
		return;
	}
	client->clients = clients;
	client->parent.client = client;
	client->parent.role = EVENT_ROLE_PARENT;
	client->freeing =
	    (struct loop_deferred){ .call = on_freeing, .arg = client };
	LIST_INIT(&client->producers);
	client->timer = evtimer_new(loop_base(loop), on_timer, client);
	client->parent.source.channel =
	    channel_new(loop, fd, &parent_events, client);
	writer_join(clients->writer, &client->parent.source);
	LIST_INSERT_HEAD(&clients->list, client, entry);
	clients->count++;
	if (client->timer == NULL || client->parent.source.channel == NULL)
		loop_defer(loop, &client->freeing);
}
