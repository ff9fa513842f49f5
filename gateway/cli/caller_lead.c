#include "gateway/cli/caller_lead.h"

#include "gateway/cli/caller.h"
#include "gateway/cli/lead.h"
#include "gateway/cli/task.h"
#include "gateway/proc/channel.h"
#include "schema/json.h"
#include "schema/order.h"
#include "schema/status.h"

#include <stdlib.h>

bool
caller_take_info(struct caller *caller, struct cursor body, struct fdpass *fds)
{
	const struct caller_run *run = caller->run;
	unsigned char *packet = malloc(LIMIT_FRAME);
	struct cursor_writer out =
	    frame_begin(FRAME_DESK_TOLD, packet, LIMIT_FRAME);
	struct json j = json_to(&out);
	size_t place = out.used;
	bool sent;

	(void)fds;
	if (packet == NULL)
		return false;
	cursor_put_u16(&out, 0);
	json_open(&j, NULL, '{');
	json_text(&j, "run", run->name);
	json_text(
	    &j, "state", lead_is_paused(run->lead) ? "paused" : "running");
	json_number(&j, "started_us", run->started_us);
	json_text(&j, "workspace", run->task->workspace.path);
	json_open(&j, "command", '[');
	for (char **word = run->task->command; *word != NULL; word++)
		json_text(&j, NULL, *word);
	json_close(&j, ']');
	json_close(&j, '}');
	cursor_patch_u16(&out, place, (uint16_t)(out.used - place - 2));
	sent = channel_send(caller->channel, &out, NULL, 0) == STATUS_OK;
	free(packet);
	caller_done(caller, NULL);
	return sent && cursor_is_empty(&body);
}

static bool
lead_to(struct caller *caller, uint16_t type, struct cursor body,
    const struct fdpass *fds)
{
	if (lead_ask(caller->run->lead, type, caller, body, fds) != STATUS_OK)
		caller_refuse(caller, "the launcher takes no order");
	return true;
}

bool
caller_take_pause(struct caller *caller, struct cursor body, struct fdpass *fds)
{
	return cursor_is_empty(&body) &&
	       lead_to(caller, FRAME_REINS_PAUSE, body, fds);
}

bool
caller_take_resume(
    struct caller *caller, struct cursor body, struct fdpass *fds)
{
	return cursor_is_empty(&body) &&
	       lead_to(caller, FRAME_REINS_RESUME, body, fds);
}

bool
caller_take_stop(struct caller *caller, struct cursor body, struct fdpass *fds)
{
	return cursor_is_empty(&body) &&
	       lead_to(caller, FRAME_REINS_STOP, body, fds);
}

bool
caller_take_exec(struct caller *caller, struct cursor body, struct fdpass *fds)
{
	return lead_to(caller, FRAME_REINS_EXEC, body, fds);
}

static void
on_led(void *asker, const struct problem *problem)
{
	caller_done(asker, problem);
}

static void
on_exited(void *asker, unsigned code, const struct problem *problem)
{
	struct caller *caller = asker;
	unsigned char packet[16];
	struct cursor_writer out =
	    frame_begin(FRAME_DESK_EXITED, packet, sizeof(packet));

	if (problem != NULL)
		caller_done(caller, problem);
	cursor_put_u32(&out, code);
	if (channel_send(caller->channel, &out, NULL, 0) != STATUS_OK)
		channel_end(caller->channel, STATUS_CLOSED);
}

static void
on_its_terminal(void *asker, int fd)
{
	struct caller *caller = asker;
	unsigned char packet[8];
	struct cursor_writer out =
	    frame_begin(FRAME_DESK_TERMINAL, packet, sizeof(packet));

	if (channel_send(caller->channel, &out, &fd, 1) != STATUS_OK)
		channel_end(caller->channel, STATUS_CLOSED);
}

const struct lead_events caller_lead_events = {
	.on_done = on_led,
	.on_exited = on_exited,
	.on_terminal = on_its_terminal,
};
