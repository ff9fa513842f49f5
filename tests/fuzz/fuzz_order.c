/*
 * order: a body that is read is written as the same bytes.  The first byte
 * picks the kind.
 */
#include "schema/order.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static union {
	struct order_layer layer;
	struct order_begin begin;
	struct problem failed;
	struct order_tally tally;
	struct order_swap swap;
	struct order_lure lure;
	struct order_via via;
} message;

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static unsigned char room[LIMIT_FRAME];
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));
	struct cursor body = cursor_of(bytes, length);
	uint8_t kind;
	int status = STATUS_MALFORMED;

	if (!cursor_u8(&body, &kind))
		return 0;
	if (kind == 0) {
		status = order_layer_read(body, &message.layer);
		if (status == STATUS_OK)
			order_layer_write(&message.layer, &out);
	} else if (kind == 1) {
		status = order_begin_read(body, &message.begin);
		if (status == STATUS_OK)
			order_begin_write(&message.begin, &out);
	} else if (kind == 2) {
		status = order_failed_read(body, &message.failed);
		if (status == STATUS_OK)
			order_failed_write(&message.failed, &out);
	} else if (kind == 3) {
		status = order_tally_read(body, &message.tally);
		if (status == STATUS_OK)
			order_tally_write(&message.tally, &out);
	} else if (kind == 4) {
		status = order_swap_read(body, &message.swap);
		if (status == STATUS_OK)
			order_swap_write(&message.swap, &out);
	} else if (kind == 5) {
		status = order_lure_read(body, &message.lure);
		if (status == STATUS_OK)
			order_lure_write(&message.lure, &out);
	} else if (kind == 6) {
		status = order_via_read(body, &message.via);
		if (status == STATUS_OK)
			order_via_write(&message.via, &out);
	}
	if (status != STATUS_OK)
		return 0;
	assert(cursor_written(&out) && out.used == body.left);
	assert(memcmp(room, body.at, out.used) == 0);
	return 0;
}
