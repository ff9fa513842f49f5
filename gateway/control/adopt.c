#include "gateway/control/adopt.h"

#include "gateway/control/engine.h"
#include "gateway/proc/channel.h"
#include "gateway/proc/log.h"
#include "schema/frame.h"
#include "schema/handoff.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <stdlib.h>
#include <unistd.h>

struct adopt {
	struct channel *channel;
	struct engine *engine;
};

static int
send_trust(struct channel *channel, const int trust[HANDOFF_TRUST_COUNT])
{
	unsigned char packet[16];
	struct cursor_writer out =
	    frame_begin(FRAME_HANDOFF_TRUST, packet, sizeof(packet));

	return channel_send(channel, &out, trust, HANDOFF_TRUST_COUNT);
}

static void
on_frame(struct channel *channel, const struct frame *frame,
    struct fdpass *passed, void *arg)
{
	struct adopt *adopt = arg;
	struct handoff_offer offer;
	struct problem problem = { 0 };
	int fds[HANDOFF_FD_COUNT], trust[HANDOFF_TRUST_COUNT], status;

	if (frame->type != FRAME_HANDOFF_OFFER ||
	    handoff_offer_read(frame->body, &offer) != STATUS_OK) {
		channel_end(channel, STATUS_MALFORMED);
		return;
	}
	for (size_t i = 0; i < HANDOFF_FD_COUNT; i++)
		fds[i] = fdpass_take(passed, i);
	status = engine_listen(adopt->engine, fds, trust, &problem);
	if (status != STATUS_OK) {
		log_error("the sandbox was not taken over: %s",
		    status == STATUS_PROBLEM ? problem.text
					     : status_name(status));
		channel_end(channel, status);
		return;
	}
	if (send_trust(channel, trust) != STATUS_OK)
		channel_end(channel, STATUS_CLOSED);
	for (size_t i = 0; i < HANDOFF_TRUST_COUNT; i++)
		(void)close(trust[i]);
}

static void
on_end(struct channel *channel, int status, void *arg)
{
	(void)channel;
	(void)arg;
	/* The sandbox is gone, or never came: the parent knows better. */
	if (status != STATUS_CLOSED)
		log_warning(
		    "the launcher's channel ended: %s", status_name(status));
}

struct adopt *
adopt_new(struct loop *loop, int fd, struct engine *engine)
{
	static const struct channel_events events = { .on_frame = on_frame,
		.on_end = on_end };
	struct adopt *adopt = calloc(1, sizeof(*adopt));

	if (adopt == NULL) {
		(void)close(fd);
		return NULL;
	}
	adopt->engine = engine;
	adopt->channel = channel_new(loop, fd, &events, adopt);
	if (adopt->channel == NULL) {
		free(adopt);
		return NULL;
	}
	return adopt;
}

void
adopt_free(struct adopt *adopt)
{
	if (adopt == NULL)
		return;
	channel_free(adopt->channel);
	free(adopt);
}
