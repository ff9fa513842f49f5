/* A packet's type, and what a frame of that type may carry. */
#include "schema/frame.h"

#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct frame frame;
	int count;

	if (frame_parse(bytes, length, &frame) != STATUS_OK)
		return 0;
	if (frame.body.left + 2 != length)
		abort();
	count = frame_descriptors(frame.type);
	if (count < -1 || count > LIMIT_FRAME_FDS)
		abort();
	return 0;
}
