#include "gateway/audit/client.h"

#include "gateway/audit/errands.h"
#include "gateway/audit/load.h"
#include "gateway/audit/producer.h"
#include "gateway/audit/store.h"
#include "gateway/audit/writer.h"
#include "gateway/proc/channel.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/log.h"
#include "gateway/proc/loop.h"
#include "schema/status.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct client;

/* One channel of a run beside its parent's own. */
struct sibling {
	struct producer producer;
	struct client *client;
	LIST_ENTRY(sibling) entry;
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
	struct producer_run rows;
	struct producer parent;
	LIST_HEAD(, sibling) siblings; /* without the parent */
	size_t sibling_count, layer_count;
	enum client_state state;
	struct store_run run;
	unsigned char detail[LIMIT_EVENT_DETAIL]; /* of the run */
	unsigned char end_detail[LIMIT_EVENT_DETAIL];
	int64_t started_us, ended_us, first_seq;
	struct event_end end;
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

/* One that cannot be told has gone, or does not listen. */
static void
tell_parent(struct client *client, const struct cursor_writer *packet)
{
	struct channel *channel = client->parent.source.channel;

	if (channel != NULL &&
	    channel_send(channel, packet, NULL, 0) != STATUS_OK)
		channel_end(channel, STATUS_CLOSED);
}

/* ---- the end of a run ---- */

static void
drop_sibling(struct sibling *sibling)
{
	LIST_REMOVE(sibling, entry);
	writer_leave(&sibling->producer.source);
	channel_free(sibling->producer.source.channel);
	sibling->client->sibling_count--;
	free(sibling);
}

static void
drop_siblings(struct client *client)
{
	while (!LIST_EMPTY(&client->siblings))
		drop_sibling(LIST_FIRST(&client->siblings));
}

static void
client_free(struct client *client)
{
	drop_siblings(client);
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
		.requests = client->rows.requests,
		.refused = client->rows.refused };
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
	const struct sibling *sibling;

	if (client->state != CLIENT_ENDING)
		return;
	client->state = CLIENT_ENDED;
	client->rows.has_rows = false;
	(void)event_del(client->timer);
	for (sibling = LIST_FIRST(&client->siblings); sibling != NULL;
	     sibling = LIST_NEXT(sibling, entry))
		writer_note(client->clients->writer, &client->run,
		    "did_not_leave", producer_name(&sibling->producer));
	drop_siblings(client);
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
	if (LIST_EMPTY(&client->siblings) ||
	    event_add(client->timer, &when) != 0)
		finish(client);
}

/* ---- rows ---- */

static void
on_sibling_frame(struct channel *channel, const struct frame *frame,
    struct fdpass *fds, void *arg)
{
	struct sibling *sibling = arg;

	(void)channel;
	(void)fds;
	if (frame->type == FRAME_AUDIT_EVENTS)
		producer_take(&sibling->producer, frame->body);
	else
		producer_end(&sibling->producer, "a frame that is not for it");
}

static void
on_sibling_end(struct channel *channel, int status, void *arg)
{
	struct sibling *sibling = arg;
	struct client *client = sibling->client;

	(void)channel;
	if (status != STATUS_CLOSED)
		producer_end(&sibling->producer, status_name(status));
	drop_sibling(sibling);
	if (client->state == CLIENT_ENDING && LIST_EMPTY(&client->siblings))
		finish(client);
}

static const struct channel_events sibling_events = {
	.on_frame = on_sibling_frame,
	.on_end = on_sibling_end,
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

	tell_parent(client, &out);
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
		producer_end(&client->parent, "a malformed policy frame");
		return;
	}
	/* Those behind the first producer are told of: it waits for that. */
	op = load_new(&about, fd, clock_wall_us(),
	    client->sibling_count > 0 ? on_policy_written : NULL, client);
	if (op == NULL) {
		producer_end(
		    &client->parent, "a policy that is not its digest's");
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
		producer_end(&client->parent, "more than there is memory for");
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

	client->first_seq = seq;
	event_state_write(true, &out);
	tell_parent(client, &out);
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
		producer_end(&client->parent, "a malformed run");
		return;
	}
	if (is_taken(client->clients, about.uid)) {
		producer_end(&client->parent, "a run that is not new");
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
		producer_end(&client->parent, "more than there is memory for");
		return;
	}
	client->state = CLIENT_OPEN;
	client->rows.has_rows = true;
}

static void
take_producer(struct client *client, struct cursor body, int fd)
{
	struct sibling *sibling;
	enum event_role role;

	if (event_producer_read(body, &role) != STATUS_OK ||
	    client->sibling_count == LIMIT_AUDIT_PRODUCERS) {
		(void)close(fd);
		producer_end(
		    &client->parent, "a producer that it may not have");
		return;
	}
	sibling = calloc(1, sizeof(*sibling));
	if (sibling != NULL) {
		sibling->client = client;
		sibling->producer.of = &client->rows;
		sibling->producer.role = role;
		sibling->producer.source.channel =
		    channel_new(writer_loop(client->clients->writer), fd,
			&sibling_events, sibling);
	}
	if (sibling == NULL || sibling->producer.source.channel == NULL) {
		if (sibling == NULL)
			(void)close(fd);
		free(sibling);
		producer_end(&client->parent, "more than there is memory for");
		return;
	}
	LIST_INSERT_HEAD(&client->siblings, sibling, entry);
	client->sibling_count++;
	writer_join(client->clients->writer, &sibling->producer.source);
}

static void
take_parent_events(struct client *client, struct cursor body, int fd)
{
	(void)fd;
	producer_take(&client->parent, body);
}

static void
take_end(struct client *client, struct cursor body, int fd)
{
	struct event_end end;

	(void)fd;
	if (event_end_read(body, &end) != STATUS_OK) {
		producer_end(&client->parent, "a malformed end");
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

	client->errand = NULL;
	chore_done_write(problem, &out);
	tell_parent(client, &out);
}

/* The client stays new: it is no run. */
static void
take_chore(struct client *client, struct cursor body, int fd)
{
	struct clients *clients = client->clients;
	struct chore chore;

	(void)fd;
	if (client->errand != NULL || chore_read(body, &chore) != STATUS_OK) {
		producer_end(
		    &client->parent, "a chore that it may not ask for");
		return;
	}
	client->errand = errand_new(
	    clients->writer, clients->keeper, &chore, on_errand_done, client);
	if (client->errand == NULL)
		producer_end(&client->parent, "more than there is memory for");
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
		messages[i].take(client, frame->body,
		    messages[i].keeps_fd ? fdpass_take(fds, 0)
		    : fds->count > 0	 ? fds->fds[0]
					 : -1);
		return;
	}
	producer_end(&client->parent, "a frame out of turn");
}

static void
on_parent_end(struct channel *channel, int status, void *arg)
{
	static const struct event_end lost = { .status = -1, .end = "lost" };
	struct client *client = arg;

	if (status != STATUS_CLOSED)
		producer_end(&client->parent, status_name(status));
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
	client->rows.writer = clients->writer;
	client->rows.run = &client->run;
	client->parent.of = &client->rows;
	client->parent.role = EVENT_ROLE_PARENT;
	client->freeing =
	    (struct loop_deferred){ .call = on_freeing, .arg = client };
	LIST_INIT(&client->siblings);
	client->timer = evtimer_new(loop_base(loop), on_timer, client);
	client->parent.source.channel =
	    channel_new(loop, fd, &parent_events, client);
	writer_join(clients->writer, &client->parent.source);
	LIST_INSERT_HEAD(&clients->list, client, entry);
	clients->count++;
	if (client->timer == NULL || client->parent.source.channel == NULL)
		loop_defer(loop, &client->freeing);
}
