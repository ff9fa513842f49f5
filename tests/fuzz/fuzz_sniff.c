/* sniff_bytes: an answer, once given, stands whatever follows. */
#include "gateway/proto/sniff.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	enum sniff_protocol first = SNIFF_COUNT, got;
	size_t end = length < 64 ? length : 64;

	for (size_t cut = 0; cut <= end; cut++) {
		enum parse_result result =
		    sniff_bytes(cursor_of(bytes, cut), &got);

		assert(result != PARSE_BAD);
		if (result == PARSE_MORE) {
			assert(first == SNIFF_COUNT);
			continue;
		}
		assert(first == SNIFF_COUNT || first == got);
		first = got;
	}
	return 0;
}
