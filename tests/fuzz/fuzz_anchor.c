/* A file of checkpoints, as somebody kept it elsewhere. */
#include "gateway/audit/anchor.h"

#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* A checkpoint that was read is written as the same bytes. */
static void
check_spelling(struct cursor text)
{
	unsigned char note[CHECKPOINT_NOTE];
	struct cursor_writer out = cursor_writer_of(note, sizeof(note));
	struct cursor rest = text;
	struct checkpoint checkpoint;

	if (checkpoint_read(&rest, &checkpoint) != STATUS_OK)
		return;
	checkpoint_write(&checkpoint, &out);
	if (!cursor_written(&out) || out.used != text.left - rest.left ||
	    memcmp(note, text.at, out.used) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cursor text = cursor_of(bytes, length);
	struct anchor anchor;
	struct problem problem;

	check_spelling(text);
	if (anchor_read(text, "anchor", &anchor, &problem) != STATUS_OK)
		return 0;
	for (size_t i = 1; i < anchor.count; i++)
		if (anchor.list[i - 1].size > anchor.list[i].size)
			abort();
	anchor_done(&anchor);
	return 0;
}
