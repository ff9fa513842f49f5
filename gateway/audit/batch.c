#include "gateway/audit/batch.h"

#include "schema/status.h"

#include <assert.h>
#include <stdlib.h>

/* The most one event can take: its texts at their limits, and the rest. */
enum {
	EVENT_ROOM =
	    LIMIT_EVENT_OBJECT + LIMIT_EVENT_DETAIL + LIMIT_HOST + 1024,
	FIRST_ROWS = LIMIT_AUDIT_ROWS,
	FIRST_BYTES = 131072
};

static int
reserve_bytes(struct batch *batch)
{
	size_t size = batch->size == 0 ? FIRST_BYTES : batch->size * 2;
	unsigned char *bytes;

	if (batch->size - batch->used >= EVENT_ROOM)
		return STATUS_OK;
	bytes = reallocarray(batch->bytes, size, 1);
	if (bytes == NULL)
		return STATUS_NO_MEMORY;
	batch->bytes = bytes;
	batch->size = size;
	return STATUS_OK;
}

static int
reserve_row(struct batch *batch)
{
	size_t room = batch->room == 0 ? FIRST_ROWS : batch->room * 2;
	struct batch_row *rows;

	if (batch->count < batch->room)
		return STATUS_OK;
	rows = reallocarray(batch->rows, room, sizeof(*rows));
	if (rows == NULL)
		return STATUS_NO_MEMORY;
	batch->rows = rows;
	batch->room = room;
	return STATUS_OK;
}

int
batch_add(
    struct batch *batch, const struct event *event, struct batch_row **ret)
{
	struct cursor_writer out;

	if (reserve_bytes(batch) != STATUS_OK ||
	    reserve_row(batch) != STATUS_OK)
		return STATUS_NO_MEMORY;
	out = cursor_writer_of(
	    batch->bytes + batch->used, batch->size - batch->used);
	event_write(event, &out);
	if (!cursor_written(&out))
		return STATUS_TOO_LONG;
	*ret = &batch->rows[batch->count++];
	**ret = (struct batch_row){ .at = batch->used,
		.length = out.used,
		.number = event->number,
		.waits = event->wait != EVENT_NO_WAIT };
	batch->used += out.used;
	if (event->wait == EVENT_WAIT_DISK)
		batch->disk = true;
	return STATUS_OK;
}

struct event
batch_event(const struct batch *batch, const struct batch_row *row)
{
	struct cursor block = cursor_of(batch->bytes + row->at, row->length);
	struct event event = event_empty();
	int status = event_read(&block, &event);

	/* It was checked when it came, and is ours since. */
	assert(status == STATUS_OK);
	(void)status;
	return event;
}

void
batch_clear(struct batch *batch)
{
	batch->used = 0;
	batch->count = 0;
	batch->disk = false;
}

void
batch_done(struct batch *batch)
{
	free(batch->bytes);
	free(batch->rows);
	*batch = (struct batch){ 0 };
}
