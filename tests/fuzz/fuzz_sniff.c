/* sniff_bytes: an answer, once given, stands whatever follows. */
#include "gateway/proto/sniff.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>

/* first is the answer so far, or SNIFF_COUNT; gives the one from now on. */
static enum sniff_protocol
check_answer(struct cursor bytes, enum sniff_protocol first)
{
	enum sniff_protocol got;
	enum parse_result result = sniff_bytes(bytes, &got);

	assert(result != PARSE_BAD);
	if (result == PARSE_MORE) {
		assert(first == SNIFF_COUNT);
		return SNIFF_COUNT;
	}
	assert(first == SNIFF_COUNT || first == got);
	return got;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	enum sniff_protocol first = SNIFF_COUNT;
	size_t end = length < 64 ? length : 64;

	for (size_t cut = 0; cut <= end; cut++)
		first = check_answer(cursor_of(bytes, cut), first);
	return 0;
}
