#include "gateway/flow/early.h"

#include "gateway/flow/flow.h"
#include "schema/status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Most hellos and heads come in one segment. */
#define FIRST_ROOM 2048

static int
make_room(struct flow *flow, size_t most)
{
	size_t room = flow->early_room == 0 ? FIRST_ROOM : flow->early_room * 2;
	unsigned char *early;

	if (flow->early_length < flow->early_room)
		return STATUS_OK;
	if (flow->early_length >= most)
		return STATUS_FULL;
	if (room > most)
		room = most;
	early = realloc(flow->early, room);
	if (early == NULL)
		return STATUS_NO_MEMORY;
	flow->early = early;
	flow->early_room = room;
	return STATUS_OK;
}

int
early_fill(struct flow *flow, size_t most)
{
	int status = make_room(flow, most);
	ssize_t got;

	if (status != STATUS_OK)
		return status;
	got = recv(flow->fd, flow->early + flow->early_length,
	    flow->early_room - flow->early_length, 0);
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? STATUS_AGAIN
							 : STATUS_SYSTEM;
	if (got == 0)
		return STATUS_CLOSED;
	flow->early_length += (size_t)got;
	return STATUS_OK;
}

void
early_eat(struct flow *flow, size_t length)
{
	flow->early_length -= length;
	memmove(flow->early, flow->early + length, flow->early_length);
}
