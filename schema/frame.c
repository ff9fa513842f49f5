#include "schema/frame.h"

#include "schema/handoff.h"
#include "schema/reins.h"
#include "schema/status.h"

static const struct {
	uint16_t type;
	int descriptors;
} table[] = {
	{ FRAME_ORDER_LAYER, 1 },
	{ FRAME_ORDER_BEGIN, 0 },
	{ FRAME_ORDER_STOP, 0 },
	{ FRAME_ORDER_LURE, 0 },
	{ FRAME_ORDER_VIA, 0 },
	{ FRAME_ORDER_READY, 0 },
	{ FRAME_ORDER_FAILED, 0 },
	{ FRAME_ORDER_TALLY, 0 },
	{ FRAME_HANDOFF_OFFER, HANDOFF_FD_COUNT },
	{ FRAME_HANDOFF_TRUST, HANDOFF_TRUST_COUNT },
	{ FRAME_REINS_GO, 0 },
	{ FRAME_REINS_PAUSE, 0 },
	{ FRAME_REINS_RESUME, 0 },
	{ FRAME_REINS_STOP, 0 },
	{ FRAME_REINS_EXEC, REINS_EXEC_FDS },
	{ FRAME_REINS_DROP, 0 },
	{ FRAME_REINS_DONE, 0 },
	{ FRAME_REINS_EXITED, 0 },
	{ FRAME_REINS_TERMINAL, 1 },
	{ FRAME_AUDIT_RUN, 0 },
	{ FRAME_AUDIT_PRODUCER, 1 },
	{ FRAME_AUDIT_POLICY, 1 },
	{ FRAME_AUDIT_EVENTS, 0 },
	{ FRAME_AUDIT_END, 0 },
	{ FRAME_AUDIT_CHORE, 0 },
	{ FRAME_AUDIT_DONE, 0 },
	{ FRAME_AUDIT_ACCEPTED, 0 },
	{ FRAME_AUDIT_STATE, 0 },
	{ FRAME_AUDIT_CLOSED, 0 },
	{ FRAME_ORDER_SWAP, 0 },
	{ FRAME_ORDER_SWAPPED, 0 },
	{ FRAME_ORDER_KEPT, 0 },
	{ FRAME_AUDIT_LOADED, 0 },
	{ FRAME_DESK_LIST, 0 },
	{ FRAME_DESK_PLACES, 0 },
	{ FRAME_DESK_ANSWER, 0 },
	{ FRAME_DESK_LAYER, 1 },
	{ FRAME_DESK_SWAP, 0 },
	{ FRAME_DESK_INFO, 0 },
	{ FRAME_DESK_PAUSE, 0 },
	{ FRAME_DESK_RESUME, 0 },
	{ FRAME_DESK_STOP, 0 },
	{ FRAME_DESK_EXEC, REINS_EXEC_FDS },
	{ FRAME_DESK_TOLD, 0 },
	{ FRAME_DESK_EXITED, 0 },
	{ FRAME_DESK_TERMINAL, 1 },
	{ FRAME_DESK_QUESTION, 0 },
	{ FRAME_DESK_PLACE, 0 },
	{ FRAME_DESK_DONE, 0 },
	{ FRAME_APPROVAL_ANSWER, 0 },
	{ FRAME_APPROVAL_ASK, 0 },
	{ FRAME_APPROVAL_OVER, 0 },
	{ FRAME_ERRAND_ENDPOINT, 0 },
	{ FRAME_ERRAND_SEAL, 0 },
	{ FRAME_ERRAND_ASK, 0 },
	{ FRAME_ERRAND_READY, 0 },
	{ FRAME_ERRAND_ANSWER, 0 },
	{ FRAME_SIGHTING_PLACE, 1 },
	{ FRAME_SIGHTING_ASK, 0 },
	{ FRAME_SIGHTING_FOUND, 0 },
	{ FRAME_BROKER_FILE, 1 },
	{ FRAME_BROKER_HAVE, 1 },
	{ FRAME_BROKER_LACK, 0 },
	{ FRAME_BROKER_NEED, 0 },
	{ FRAME_BROKER_BEGIN, 0 },
	{ FRAME_BROKER_STOP, 0 },
	{ FRAME_BROKER_REVOKE, 0 },
	{ FRAME_BROKER_REVOKED, 0 },
	{ FRAME_DESK_REVOKE, 0 },
	{ FRAME_BROKER_WANT, 0 },
	{ FRAME_BROKER_PROBLEM, 0 },
	{ FRAME_BROKER_VARIABLE, 0 },
	{ FRAME_BROKER_READY, 0 },
	{ FRAME_BROKER_FAILED, 0 },
	{ FRAME_GRANT_ASK, 0 },
	{ FRAME_GRANT_GIVEN, 0 },
	{ FRAME_GRANT_REFUSED, 0 },
	{ FRAME_GRANT_PAGE, 1 },
	{ FRAME_TOKEN_ASK, 0 },
	{ FRAME_TOKEN_GIVEN, 0 },
	{ FRAME_TOKEN_REFUSED, 0 },
	{ FRAME_TOKEN_ROOT, 0 },
};

int
frame_parse(const void *packet, size_t length, struct frame *ret)
{
	struct frame frame = { .body = cursor_of(packet, length) };

	if (length > LIMIT_FRAME)
		return STATUS_TOO_LONG;
	if (!cursor_u16(&frame.body, &frame.type))
		return STATUS_MALFORMED;
	*ret = frame;
	return STATUS_OK;
}

struct cursor_writer
frame_begin(uint16_t type, void *packet, size_t size)
{
	struct cursor_writer out = cursor_writer_of(packet, size);

	cursor_put_u16(&out, type);
	return out;
}

int
frame_descriptors(uint16_t type)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].type == type)
			return table[i].descriptors;
	return -1;
}

bool
frame_is_secret(uint16_t type)
{
	return type == FRAME_GRANT_GIVEN || type == FRAME_ERRAND_ASK ||
	       type == FRAME_ERRAND_ANSWER || type == FRAME_TOKEN_ASK ||
	       type == FRAME_TOKEN_GIVEN;
}
