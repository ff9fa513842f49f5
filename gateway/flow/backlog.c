#include "gateway/flow/backlog.h"

#include "schema/limits.h"
#include "schema/status.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct backlog_piece {
	struct backlog_piece *next;
	size_t start, end, size;
	unsigned char bytes[];
};

/* So that bytes that come one by one do not cost fifty each. */
#define PIECE_MIN 2048

static int
add_piece(struct backlog *backlog, size_t length)
{
	size_t size = length < PIECE_MIN ? PIECE_MIN : length;
	struct backlog_piece *piece;

	if (backlog->held != NULL &&
	    (size > LIMIT_H2_HELD || *backlog->held > LIMIT_H2_HELD - size))
		return STATUS_FULL;
	piece = malloc(sizeof(*piece) + size);
	if (piece == NULL)
		return STATUS_NO_MEMORY;
	if (backlog->held != NULL)
		*backlog->held += size;
	piece->next = NULL;
	piece->start = 0;
	piece->end = 0;
	piece->size = size;
	if (backlog->last == NULL)
		backlog->first = piece;
	else
		backlog->last->next = piece;
	backlog->last = piece;
	return STATUS_OK;
}

int
backlog_put(struct backlog *backlog, struct cursor bytes)
{
	struct backlog_piece *piece = backlog->last;

	if (bytes.left == 0)
		return STATUS_OK;
	if (piece == NULL || piece->size - piece->end < bytes.left) {
		int status = add_piece(backlog, bytes.left);

		if (status != STATUS_OK)
			return status;
		piece = backlog->last;
	}
	memcpy(piece->bytes + piece->end, bytes.at, bytes.left);
	piece->end += bytes.left;
	backlog->length += bytes.left;
	return STATUS_OK;
}

struct cursor
backlog_peek(const struct backlog *backlog)
{
	const struct backlog_piece *piece = backlog->first;

	if (piece == NULL)
		return cursor_of(NULL, 0);
	return cursor_of(
	    piece->bytes + piece->start, piece->end - piece->start);
}

void
backlog_eat(struct backlog *backlog, size_t length)
{
	struct backlog_piece *piece = backlog->first;

	if (length == 0)
		return;
	assert(piece != NULL && length <= piece->end - piece->start);
	piece->start += length;
	backlog->length -= length;
	if (piece->start < piece->end)
		return;
	backlog->first = piece->next;
	if (backlog->first == NULL)
		backlog->last = NULL;
	if (backlog->held != NULL)
		*backlog->held -= piece->size;
	free(piece);
}

void
backlog_clear(struct backlog *backlog)
{
	while (backlog->first != NULL)
		backlog_eat(backlog, backlog_peek(backlog).left);
}
