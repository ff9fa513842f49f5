#include "gateway/flow/outbox.h"

#include "schema/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	OUTBOX_LEAST = 4096
};

/* Makes room behind end for so many more. */
static bool
make_room(struct outbox *box, size_t length)
{
	size_t used = box->end - box->begin, room = box->room;
	unsigned char *bytes;

	if (length > LIMIT_OUTBOX || used > LIMIT_OUTBOX - length)
		return false;
	if (box->room - box->end >= length)
		return true;
	if (room == 0)
		room = OUTBOX_LEAST;
	while (room < used + length)
		room *= 2;
	bytes = malloc(room);
	if (bytes == NULL)
		return false;
	if (used > 0)
		memcpy(bytes, box->bytes + box->begin, used);
	outbox_done(box);
	*box = (struct outbox){ .bytes = bytes, .end = used, .room = room };
	return true;
}

bool
outbox_put(struct outbox *box, struct cursor bytes)
{
	if (bytes.left == 0)
		return true;
	if (!make_room(box, bytes.left))
		return false;
	memcpy(box->bytes + box->end, bytes.at, bytes.left);
	box->end += bytes.left;
	return true;
}

struct cursor
outbox_bytes(const struct outbox *box)
{
	return cursor_of(box->bytes == NULL ? NULL : box->bytes + box->begin,
	    box->end - box->begin);
}

void
outbox_eat(struct outbox *box, size_t length)
{
	assert(length <= box->end - box->begin);
	box->begin += length;
	if (box->begin == box->end)
		outbox_done(box);
}

void
outbox_done(struct outbox *box)
{
	/* A secret may have been put in here, in the place of its lure. */
	if (box->bytes != NULL)
		explicit_bzero(box->bytes, box->room);
	free(box->bytes);
	*box = (struct outbox){ .bytes = NULL };
}
