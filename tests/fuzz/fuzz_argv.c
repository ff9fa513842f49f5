/* argv: what is written fits, is no longer than it may be, and cut says so. */
#include "schema/argv.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	unsigned char whole[8192], part[64];
	struct cursor_writer all = cursor_writer_of(whole, sizeof(whole));
	struct cursor_writer cut = cursor_writer_of(part, sizeof(part));

	if (length > 2048)
		return 0;
	argv_redact(cursor_of(bytes, length), &all);
	argv_redact(cursor_of(bytes, length), &cut);
	assert(cursor_written(&all) && cursor_written(&cut));
	if (all.used + 3 <= sizeof(part)) {
		assert(cut.used == all.used);
		assert(memcmp(part, whole, cut.used) == 0);
	}
	return 0;
}
