/* sighting: what is read is written as the same bytes. */
#include "schema/sighting.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sighting_question question;
	struct sighting sighting;
	unsigned char room[4096];
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));
	struct cursor all = cursor_of(bytes, length);

	if (sighting_question_read(all, &question) == STATUS_OK)
		sighting_question_write(&question, &out);
	else if (sighting_read(all, &sighting) == STATUS_OK)
		sighting_write(&sighting, &out);
	else
		return 0;
	assert(cursor_written(&out) && out.used == length);
	assert(memcmp(room, bytes, length) == 0);
	return 0;
}
