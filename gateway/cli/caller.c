#include "gateway/cli/caller.h"

#include "gateway/proc/channel.h"
#include "schema/order.h"
#include "schema/problem.h"
#include "schema/status.h"

void
caller_done(struct caller *caller, const struct problem *problem)
{
	static const struct problem none = { .text = "" };
	unsigned char packet[1024];
	struct cursor_writer out =
	    frame_begin(FRAME_DESK_DONE, packet, sizeof(packet));

	order_failed_write(problem == NULL ? &none : problem, &out);
	if (channel_send(caller->channel, &out, NULL, 0) != STATUS_OK)
		channel_end(caller->channel, STATUS_CLOSED);
}

void
caller_refuse(struct caller *caller, const char *text)
{
	struct problem problem = { .text = "" };

	(void)problem_set(&problem, "%s", text);
	caller_done(caller, &problem);
}
