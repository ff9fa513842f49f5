#include "gateway/audit/writer.h"

#include "gateway/audit/batch.h"
#include "gateway/audit/openers.h"
#include "gateway/audit/reserve.h"
#include "gateway/audit/store.h"
#include "gateway/proc/channel.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/log.h"
#include "gateway/proc/loop.h"
#include "schema/json.h"
#include "schema/status.h"

#include <event2/event.h>
#include <stdlib.h>

struct writer {
	struct loop *loop;
	struct store *store;
	struct event *timer; /* the next commit, or the next attempt */
	struct loop_deferred soon; /* a commit at the end of this tick */
	LIST_HEAD(, writer_source) sources;
	struct batch batch, spare;
	struct openers openers;
	struct reserve *reserve;
	bool low_told; /* that there is little room */
	int64_t closed_us; /* since when rows are refused; 0: they are not */
	unsigned char packet[LIMIT_FRAME]; /* of one acceptance */
};

struct store *
writer_store(struct writer *writer)
{
	return writer->store;
}

struct loop *
writer_loop(struct writer *writer)
{
	return writer->loop;
}

static void
arm(struct writer *writer, int milliseconds)
{
	struct timeval when = { .tv_sec = milliseconds / 1000,
		.tv_usec = milliseconds % 1000 * 1000L };

	/* Without the timer, the end of the tick will do. */
	if (!evtimer_pending(writer->timer, NULL) &&
	    event_add(writer->timer, &when) != 0)
		loop_defer(writer->loop, &writer->soon);
}

static void
send_state(struct writer *writer, struct writer_source *source)
{
	unsigned char packet[8];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_STATE, packet, sizeof(packet));
	int status;

	if (source->channel == NULL)
		return;
	event_state_write(writer->closed_us == 0, &out);
	status = channel_send(source->channel, &out, NULL, 0);
	if (status != STATUS_OK)
		channel_end(source->channel, status);
}

static void
send_states(struct writer *writer)
{
	struct writer_source *source;

	for (source = LIST_FIRST(&writer->sources); source != NULL;
	     source = LIST_NEXT(source, entry))
		send_state(writer, source);
}

/* Refuses new rows from here on, and tries these again. */
static void
close_up(struct writer *writer)
{
	if (writer->closed_us == 0) {
		log_error("cannot write the audit, so new requests are "
			  "refused: %s",
		    store_error(writer->store));
		writer->closed_us = clock_monotonic_us();
		send_states(writer);
		/* What is under way may end with its rows. */
		reserve_give_up(writer->reserve);
	}
	arm(writer, LIMIT_AUDIT_RETRY_MS);
}

static void
open_up(struct writer *writer)
{
	int64_t closed_us = writer->closed_us;
	unsigned char text[64];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	if (closed_us == 0)
		return;
	if (!reserve_hold(writer->reserve)) {
		arm(writer, LIMIT_AUDIT_RETRY_MS);
		return;
	}
	writer->closed_us = 0;
	log_warning("the audit can be written again");
	send_states(writer);
	cursor_put_text(&out, "closed for ");
	cursor_put_decimal(
	    &out, (uint64_t)(clock_monotonic_us() - closed_us) / 1000);
	cursor_put_text(&out, " ms");
	cursor_put_u8(&out, 0);
	if (cursor_written(&out))
		writer_note(writer, NULL, "full", (const char *)text);
}

/* Operations first: a row may name what a later row's operation brings. */
static int
insert_rows(struct writer *writer)
{
	struct batch *batch = &writer->batch;
	int status = STATUS_OK;

	for (size_t i = 0; i < batch->count && status == STATUS_OK; i++) {
		struct writer_op *op = batch->rows[i].op;

		if (op != NULL)
			status = op->apply(writer->store, op->arg);
	}
	for (size_t i = 0; i < batch->count && status == STATUS_OK; i++) {
		struct batch_row *row = &batch->rows[i];
		struct event event = batch_event(batch, row);

		/* It ended before its producer could know. */
		if (event.parent_seq == 0)
			event.parent_seq =
			    openers_find(&writer->openers, row->run, &event);
		status =
		    store_insert(writer->store, row->run, &event, &row->seq);
		if (status == STATUS_OK)
			openers_put(
			    &writer->openers, row->run, &event, row->seq);
	}
	return status;
}

static int
commit_rows(struct writer *writer)
{
	int status = store_begin(writer->store, writer->batch.disk);

	if (status == STATUS_OK)
		status = insert_rows(writer);
	if (status == STATUS_OK)
		status = store_commit(writer->store);
	return status;
}

/* Tells one source of its rows, in as many frames as their pairs need. */
static void
accept_rows(struct writer *writer, const struct batch *batch,
    struct writer_source *source)
{
	size_t at = source->first;

	while (at != 0 && source->channel != NULL) {
		struct cursor_writer out = frame_begin(FRAME_AUDIT_ACCEPTED,
		    writer->packet, sizeof(writer->packet));
		size_t number_at = out.used, pairs = 0;
		uint64_t number = 0;
		int status;

		event_accepted_begin(0, &out);
		for (; at != 0 && pairs < EVENT_ACCEPTED_PAIRS;
		     at = batch->rows[at - 1].next) {
			const struct batch_row *row = &batch->rows[at - 1];

			number = row->number;
			if (!row->waits)
				continue;
			event_accepted_pair(number, row->seq, &out);
			pairs++;
		}
		event_accepted_patch(number, number_at, &out);
		status = channel_send(source->channel, &out, NULL, 0);
		if (status != STATUS_OK)
			channel_end(source->channel, status);
	}
	source->first = 0;
	source->last = 0;
	source->pending = 0;
}

/* After a commit: what is told now may queue rows for the next batch. */
static void
tell_all(struct writer *writer)
{
	struct batch committed = writer->batch;
	struct writer_source *source;

	writer->batch = writer->spare;
	for (source = LIST_FIRST(&writer->sources); source != NULL;
	     source = LIST_NEXT(source, entry))
		if (source->pending > 0)
			accept_rows(writer, &committed, source);
	for (size_t i = 0; i < committed.count; i++) {
		struct writer_op *op = committed.rows[i].op;

		if (op != NULL)
			op->done(op->arg, committed.rows[i].seq);
	}
	batch_clear(&committed);
	writer->spare = committed;
}

int64_t
writer_closed_us(const struct writer *writer)
{
	return writer->closed_us == 0
		   ? 0
		   : clock_monotonic_us() - writer->closed_us;
}

void
writer_look_at_disk(struct writer *writer)
{
	bool low = reserve_is_low(writer->reserve);

	if (writer->closed_us == 0)
		low = !reserve_hold(writer->reserve) || low;
	if (low && !writer->low_told) {
		log_warning("there is little room left for the audit");
		writer_note(writer, NULL, "low", "little room on the disk");
	}
	writer->low_told = low;
}

bool
writer_rotate(struct writer *writer)
{
	struct problem problem;

	if (store_rotate(writer->store, &problem) == STATUS_OK)
		return true;
	/* The old one is as good as before, only longer. */
	log_error("cannot begin the next segment: %s", problem.text);
	return false;
}

bool
writer_commit(struct writer *writer)
{
	loop_undefer(writer->loop, &writer->soon);
	(void)event_del(writer->timer);
	if (writer->batch.count == 0) {
		open_up(writer);
		return true;
	}
	if (commit_rows(writer) != STATUS_OK) {
		close_up(writer);
		store_rollback(writer->store);
		/* Unlike a full disk, a file that was removed stays away. */
		if (!store_is_in_place(writer->store))
			loop_stop(writer->loop);
		return false;
	}
	tell_all(writer);
	open_up(writer);
	if (store_is_long(writer->store))
		(void)writer_rotate(writer);
	return true;
}

static void
on_soon(void *arg)
{
	(void)writer_commit(arg);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)writer_commit(arg);
}

struct writer *
writer_new(struct loop *loop, struct store *store)
{
	struct writer *writer = calloc(1, sizeof(*writer));

	if (writer == NULL)
		return NULL;
	writer->loop = loop;
	writer->store = store;
	writer->soon = (struct loop_deferred){ .call = on_soon, .arg = writer };
	LIST_INIT(&writer->sources);
	writer->timer = evtimer_new(loop_base(loop), on_timer, writer);
	writer->reserve = reserve_new(store_audit(store));
	if (writer->timer == NULL || writer->reserve == NULL) {
		writer_free(writer);
		return NULL;
	}
	return writer;
}

void
writer_free(struct writer *writer)
{
	if (writer == NULL)
		return;
	loop_undefer(writer->loop, &writer->soon);
	if (writer->timer != NULL)
		event_free(writer->timer);
	reserve_free(writer->reserve);
	batch_done(&writer->batch);
	batch_done(&writer->spare);
	free(writer);
}

void
writer_join(struct writer *writer, struct writer_source *source)
{
	LIST_INSERT_HEAD(&writer->sources, source, entry);
	if (writer->closed_us != 0)
		send_state(writer, source);
}

void
writer_leave(struct writer_source *source)
{
	LIST_REMOVE(source, entry);
}

/* Appends the row to its source's own list. */
static void
chain(struct writer *writer, struct writer_source *source)
{
	size_t place = writer->batch.count;

	if (source->first == 0)
		source->first = place;
	else
		writer->batch.rows[source->last - 1].next = place;
	source->last = place;
	source->pending++;
}

int
writer_put(struct writer *writer, const struct event *event,
    struct writer_source *source, const struct store_run *run,
    struct writer_op *op)
{
	enum event_sync sync = run == NULL ? EVENT_SYNC_AUTO : run->about.sync;
	struct event ours = *event;
	struct batch_row *row;
	int status;

	if (sync == EVENT_SYNC_NORMAL && ours.wait == EVENT_WAIT_DISK)
		ours.wait = EVENT_WAIT_COMMIT;
	status = batch_add(&writer->batch, &ours, &row);
	if (status != STATUS_OK)
		return status;
	if (sync == EVENT_SYNC_FULL)
		writer->batch.disk = true;
	row->run = run;
	row->op = op;
	if (source != NULL)
		chain(writer, source);
	/* A closed writer has its own clock. */
	if (writer->closed_us == 0 &&
	    (row->waits || writer->batch.count >= LIMIT_AUDIT_ROWS))
		loop_defer(writer->loop, &writer->soon);
	else
		arm(writer, LIMIT_AUDIT_COMMIT_MS);
	return STATUS_OK;
}

void
writer_note(struct writer *writer, const struct store_run *run,
    const char *what, const char *detail)
{
	unsigned char text[512];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	struct json json = json_to(&out);
	struct event event = event_empty();

	event.number = 1;
	event.kind = EVENT_AUDIT;
	event.ts_us = clock_wall_us();
	event.object = cursor_of_text(what);
	if (detail != NULL) {
		json_open(&json, NULL, '{');
		json_text(&json, "what", detail);
		json_close(&json, '}');
		if (cursor_written(&out))
			event.detail = cursor_of(text, out.used);
	}
	if (writer_put(writer, &event, NULL, run, NULL) != STATUS_OK)
		log_error("no memory to record \"%s\"", what);
}
