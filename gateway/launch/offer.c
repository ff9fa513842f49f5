#include "gateway/launch/offer.h"

#include "gateway/launch/netns.h"
#include "gateway/proc/fdpass.h"
#include "schema/frame.h"
#include "schema/status.h"

int
offer_send(int gateway, const int *fds, struct problem *reterr)
{
	unsigned char packet[64];
	struct handoff_offer offer = { .mode = HANDOFF_TPROXY,
		.own4 = netns_own4(),
		.own6 = netns_own6() };
	struct cursor_writer out =
	    frame_begin(FRAME_HANDOFF_OFFER, packet, sizeof(packet));

	handoff_offer_write(&offer, &out);
	if (!cursor_written(&out) || fdpass_send(gateway, packet, out.used, fds,
					 HANDOFF_FD_COUNT) != STATUS_OK)
		return problem_set(reterr, "the gateway takes no listeners");
	return STATUS_OK;
}

int
offer_answer(
    int gateway, int ret_trust[HANDOFF_TRUST_COUNT], struct problem *reterr)
{
	unsigned char packet[64];
	struct frame frame;
	struct fdpass fds;
	size_t length;
	int status =
	    fdpass_receive(gateway, packet, sizeof(packet), &length, &fds);

	if (status == STATUS_AGAIN)
		return status;
	if (status != STATUS_OK)
		return problem_set(
		    reterr, "the gateway left before the sandbox began");
	if (frame_parse(packet, length, &frame) != STATUS_OK ||
	    frame.type != FRAME_HANDOFF_TRUST ||
	    !cursor_is_empty(&frame.body) || fds.count != HANDOFF_TRUST_COUNT) {
		fdpass_done(&fds);
		return problem_set(
		    reterr, "the gateway's answer does not read");
	}
	for (size_t i = 0; i < HANDOFF_TRUST_COUNT; i++)
		ret_trust[i] = fdpass_take(&fds, i);
	return STATUS_OK;
}
