/* handoff: an offer that is read is written as the same bytes. */
#include "schema/handoff.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct handoff_offer offer;
	unsigned char room[64];
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));

	if (handoff_offer_read(cursor_of(bytes, length), &offer) != STATUS_OK)
		return 0;
	assert(handoff_mode_name(offer.mode) != NULL);
	handoff_offer_write(&offer, &out);
	assert(cursor_written(&out) && out.used == length);
	assert(memcmp(room, bytes, length) == 0);
	return 0;
}
